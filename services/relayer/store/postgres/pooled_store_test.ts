import { sharedPgBouncer } from "../../../../tests/support/pgbouncer.ts";
import { countRounds } from "../../../../tests/support/rounds.ts";
import { serviceTest } from "../../../../tests/support/services.ts";
import { storeConformance } from "../testing/store_conformance.ts";
import { openSubject, TEST_SERVER } from "./testing/postgres_subject.ts";

// Fewer connections than those of one store, so that they change hands.
const connection = sharedPgBouncer(TEST_SERVER, { poolSize: 4 });

// The usual run has some cases of each kind.
const EVERY = countRounds(1) > 1 ? 1 : 4;
let registered = 0;
storeConformance(
  "PostgreSQL behind PgBouncer",
  () => openSubject({ connection: connection(), prepare: false }),
  (test) => {
    if (registered++ % EVERY !== 0) return;
    serviceTest(["postgres", "pgbouncer"], test);
  },
);
