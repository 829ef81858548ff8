/**
 * Prepares statements, and reads what they return.
 *
 * @module
 */

import type { DatabaseSync, SQLOutputValue, StatementSync } from "node:sqlite";

/** A record as the database gives it. */
export type DatabaseRecord = Readonly<Record<string, SQLOutputValue>>;

/** The bytes of a column; none where it has another value. */
export function columnBytes(value: SQLOutputValue | undefined): Uint8Array {
  return value instanceof Uint8Array ? value : new Uint8Array(0);
}

/** Prepared statements by name. */
export type Statements<Texts> = Readonly<Record<keyof Texts, StatementSync>>;

/** Prepares statements; each keeps the name of its text. */
export function prepareAll<Texts extends Readonly<Record<string, string>>>(
  db: DatabaseSync,
  texts: Texts,
): Statements<Texts> {
  const statements = Object.entries(texts)
    .map(([name, text]) => [name, db.prepare(text)] as const);
  return Object.fromEntries(statements) as Statements<Texts>;
}
