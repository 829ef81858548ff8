/**
 * The steps of the relayer's database.
 *
 * @module
 */

import type { Migration } from "../../../shared/sqlite/migrations.ts";
import { INITIAL_TABLES } from "./migrations/v1_initial.ts";

/** All steps in their order. What was released never changes. */
export const RELAYER_MIGRATIONS: readonly Migration[] = [
  { version: 1, name: "initial", sql: INITIAL_TABLES },
];
