/**
 * How the tables of the tasks' database came to be what they are.
 *
 * @module
 */

import type { DatabaseSync } from "node:sqlite";
import {
  migrate,
  type MigrateOptions,
  type Migration,
} from "../../../shared/sqlite/migrations.ts";
import { INITIAL_TABLES } from "./migrations/v1_initial.ts";
import { COUNT_TABLES } from "./migrations/v2_counts.ts";
import { PROOF_TABLES } from "./migrations/v3_proofs.ts";

/** The version that has proofs. */
export const PROOFS_VERSION = 3;

/** All steps in their order. What was released never changes. */
export const MIGRATIONS: readonly Migration[] = [
  { version: 1, name: "initial", sql: INITIAL_TABLES },
  { version: 2, name: "counts", sql: COUNT_TABLES },
  { version: PROOFS_VERSION, name: "proofs", sql: PROOF_TABLES },
];

/**
 * Applies the steps that a database lacks, all of them or none.
 *
 * @throws {Error} when the database is of a later version than this program
 */
export function migrateTasks(
  db: DatabaseSync,
  options: Pick<MigrateOptions, "nowMs" | "finish">,
): void {
  migrate(db, { ...options, migrations: MIGRATIONS, fileName: "tasks.db" });
}
