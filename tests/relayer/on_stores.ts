/**
 * Registers tests of relayer processes for what may keep the data: SQLite, or a
 * real PostgreSQL. Usual runs take SQLite, and both where a test says so;
 * `TEST_STORE=postgres` takes PostgreSQL for all of them.
 *
 * @module
 */

import { sharedPostgres } from "../support/postgres_server.ts";
import { serviceTest } from "../support/services.ts";
import {
  FolderStorage,
  type MakeStorage,
  SchemaStorage,
} from "./home_storage.ts";

/** The environment variable that chooses what keeps the data. */
const STORE_VARIABLE = "TEST_STORE";

/** A test of relayers, whatever keeps their data. */
export interface StoreTest extends Omit<Deno.TestDefinition, "fn"> {
  /**
   * Whether usual runs run it on PostgreSQL as well: where a difference is
   * likely, and the test does not take long.
   *
   * @default {false}
   */
  readonly onBoth?: boolean;
  /** The test. */
  readonly fn: (
    storage: MakeStorage,
    t: Deno.TestContext,
  ) => void | Promise<void>;
}

/** Registers a test for SQLite, PostgreSQL or both. */
export function onStores(
  { onBoth = false, fn, ...definition }: StoreTest,
): void {
  const chosen = readChoice();
  if (chosen === "sqlite") {
    Deno.test({
      ...definition,
      fn: (t) => fn((dataDir) => new FolderStorage(dataDir), t),
    });
  }
  if (chosen === "postgres" || onBoth) {
    const server = sharedPostgres({ settings: { fsync: "off" } });
    serviceTest(["postgres"], {
      ...definition,
      name: `${definition.name} (PostgreSQL)`,
      fn: (t) =>
        fn((dataDir) =>
          new SchemaStorage(dataDir, {
            ...{ url: server.url, primary: server, standbys: [] },
          }), t),
    });
  }
}

function readChoice(): "sqlite" | "postgres" {
  const chosen = Deno.env.get(STORE_VARIABLE) ?? "sqlite";
  if (chosen === "sqlite" || chosen === "postgres") return chosen;
  throw new RangeError(
    `Cannot read ${STORE_VARIABLE}: "${chosen}" is neither sqlite nor postgres`,
  );
}
