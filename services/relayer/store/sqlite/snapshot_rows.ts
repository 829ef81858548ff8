/**
 * Snapshots of owners' indexes, sealed and in parts. One counts from when it is ended
 * until a row that is in it goes or is written again.
 *
 * @module
 */

import type { DatabaseSync } from "node:sqlite";
import type { IndexSnapshot, SnapshotPart } from "../store.ts";
import { prepareAll, type Statements } from "./row_columns.ts";

const STATEMENTS = {
  begin: `INSERT INTO index_snapshots VALUES(?1, ?2, ?3, 0)
    ON CONFLICT(owner) DO UPDATE SET name = ?2, change = ?3, parts = 0`,
  addPart: `INSERT INTO snapshot_parts(name, part, bytes) VALUES(?, ?, ?)
    ON CONFLICT(name, part) DO UPDATE SET bytes = excluded.bytes`,
  end: "UPDATE index_snapshots SET parts = ? WHERE owner = ? AND name = ?",
  drop: "DELETE FROM index_snapshots WHERE owner = ?",
  get: `SELECT name, change, parts FROM index_snapshots
    WHERE owner = ? AND parts > 0`,
  part: "SELECT bytes FROM snapshot_parts WHERE name = ? AND part = ?",
  // By names: there are some thousand parts at most, and few names among them.
  orphan: `SELECT name FROM snapshot_parts WHERE name > ?
    ORDER BY name LIMIT 1`,
  isWhole: "SELECT 1 FROM index_snapshots WHERE name = ? AND parts > 0",
  sweep: `DELETE FROM snapshot_parts WHERE n IN (
    SELECT n FROM snapshot_parts WHERE name = ? LIMIT ?)`,
};

/** Parts that go in one transaction: a part is 64 pages, a third of a millisecond. */
const MAX_SWEPT = 64;
/** Names that a sweep looks at. */
const MAX_NAMES = 100;

/** Snapshots of a database. */
export class SnapshotRows {
  readonly #statements: Statements<typeof STATEMENTS>;
  /** Names of those that are being written, by owner. */
  readonly #begun = new Map<string, string>();
  /** Where the last sweep ended. */
  #sweptTo = "";

  /** Snapshots of an open database. */
  constructor(db: DatabaseSync) {
    this.#statements = prepareAll(db, STATEMENTS);
  }

  /** A new one takes the place of the owner's; it has all changes up to a number. */
  begin(owner: string, name: string, change: number): void {
    this.#statements.begin.run(owner, name, change);
    this.#begun.set(owner, name);
  }

  /** Adds a part. */
  addPart({ name, part, bytes }: SnapshotPart): void {
    this.#statements.addPart.run(name, part, bytes);
  }

  /** It is whole with so many parts, or given up, unless it was dropped meanwhile. */
  end(owner: string, name: string, parts: number): void {
    this.#statements.end.run(parts, owner, name);
    if (this.#begun.get(owner) === name) this.#begun.delete(owner);
  }

  /** What an owner's snapshot has does not hold any longer. */
  drop(owner: string): void {
    this.#statements.drop.run(owner);
  }

  /** An owner's snapshot; undefined when none is whole. */
  get(owner: string): IndexSnapshot | undefined {
    const row = this.#statements.get.get(owner);
    if (row === undefined) return undefined;
    return {
      name: String(row["name"]),
      change: Number(row["change"]),
      parts: Number(row["parts"]),
    };
  }

  /** A part; undefined when it is not there. */
  part(name: string, part: number): Uint8Array | undefined {
    const bytes = this.#statements.part.get(name, part)?.["bytes"];
    return bytes instanceof Uint8Array ? bytes : undefined;
  }

  /** Removes parts of snapshots that are no owner's; returns how many it were. */
  sweep(limit: number): number {
    const { orphan, isWhole, sweep } = this.#statements;
    const begun = new Set(this.#begun.values());
    const most = Math.min(limit, MAX_SWEPT);
    let swept = 0;
    for (let looked = 0; looked < MAX_NAMES && swept < most; looked++) {
      const row = orphan.get(this.#sweptTo);
      if (row === undefined) {
        this.#sweptTo = "";
        break;
      }
      const name = String(row["name"]);
      if (!begun.has(name) && isWhole.get(name) === undefined) {
        swept += Number(sweep.run(name, most - swept).changes);
        // Whether more of it is left is seen at the next look.
        if (swept === most) break;
      }
      this.#sweptTo = name;
    }
    return swept;
  }
}
