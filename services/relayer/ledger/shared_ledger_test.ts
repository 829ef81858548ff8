import { serviceTest } from "../../../tests/support/services.ts";
import { testLedger } from "./testing/ledger_conformance.ts";
import { withSharedLedger } from "./testing/open_shared_ledger.ts";

testLedger({
  name: "SharedLedger",
  test: (definition) => serviceTest(["postgres"], definition),
  withLedger: (use) => withSharedLedger(({ subject }) => use(subject)),
});
