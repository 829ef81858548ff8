import { sharedPgBouncer } from "../../../../tests/support/pgbouncer.ts";
import { countRounds } from "../../../../tests/support/rounds.ts";
import { serviceTest } from "../../../../tests/support/services.ts";
import { storeConformance } from "../testing/store_conformance.ts";
import { openSubject, TEST_SERVER } from "./testing/postgres_subject.ts";

// Fewer connections than those of one store, so that they change hands.
const connection = sharedPgBouncer(TEST_SERVER, { poolSize: 4 });

const openPooled = () =>
  openSubject({ connection: connection(), prepare: false });

// All cases take half a minute, so the usual run has some of each kind.
const EVERY = countRounds(1) > 1 ? 1 : 5;
let registered = 0;
storeConformance("PostgreSQL behind PgBouncer", openPooled, (test) => {
  if (registered++ % EVERY !== 0) return;
  serviceTest(["postgres", "pgbouncer"], test);
});
