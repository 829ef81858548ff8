/**
 * Writes of records.
 *
 * @module
 */

import type { DatabaseSync, StatementSync } from "node:sqlite";
import type {
  ConflictReason,
  OperationCursor,
  OperationValue,
} from "./operation.ts";

/** Writes records. */
export class RecordWriter {
  readonly #find: StatementSync;
  readonly #insert: StatementSync;
  readonly #update: StatementSync;
  readonly #remove: StatementSync;
  /**
   * Records that were found in this group. Many tasks that are made together
   * demand the same worker.
   */
  readonly #found = new Set<string>();

  /** Prepares the statements. */
  constructor(db: DatabaseSync) {
    this.#find = db.prepare(
      "SELECT version FROM records WHERE tenant = ? AND kind = ? AND id = ?",
    );
    this.#insert = db.prepare(
      "INSERT OR IGNORE INTO records" +
        "(version, alias, parent, text, tenant, kind, id) " +
        "VALUES(?, ?, ?, ?, ?, ?, ?)",
    );
    this.#update = db.prepare(
      "UPDATE OR IGNORE records SET version = ?, alias = ?, parent = ?, " +
        "text = ? WHERE tenant = ? AND kind = ? AND id = ? AND version = ?",
    );
    this.#remove = db.prepare(
      "DELETE FROM records " +
        "WHERE tenant = ? AND kind = ? AND id = ? AND version = ?",
    );
  }

  /** Forgets what was found: a group begins or something was undone. */
  beginGroup(): void {
    this.#found.clear();
  }

  /** Puts or changes a record. */
  put(cursor: OperationCursor): ConflictReason | undefined {
    const identity = cursor.take(3);
    const expectedVersion = cursor.number();
    const content = cursor.take(4);
    this.#found.clear();
    const { changes } = expectedVersion === 0
      ? this.#insert.run(...content, ...identity)
      : this.#update.run(...content, ...identity, expectedVersion);
    if (changes !== 0) return undefined;
    return this.#version(identity) === expectedVersion ? "alias" : "version";
  }

  /** Removes a record, or demands that there is none. */
  remove(cursor: OperationCursor): ConflictReason | undefined {
    this.#found.clear();
    const identity = cursor.take(3);
    const expectedVersion = cursor.number();
    if (expectedVersion === 0) {
      return this.#version(identity) === 0 ? undefined : "version";
    }
    const { changes } = this.#remove.run(...identity, expectedVersion);
    return changes === 0 ? "version" : undefined;
  }

  /** Demands that a record is there. */
  require(cursor: OperationCursor): ConflictReason | undefined {
    const identity = cursor.take(3);
    const key = identity.join("\n");
    if (this.#found.has(key)) return undefined;
    if (this.#version(identity) === 0) return "missing";
    this.#found.add(key);
    return undefined;
  }

  /** The version of a record; 0 when there is none. */
  #version(identity: readonly OperationValue[]): number {
    return Number(this.#find.get(...identity)?.["version"] ?? 0);
  }
}
