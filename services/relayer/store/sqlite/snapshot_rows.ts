/**
 * Stores snapshots of owners' indexes, as sealed parts. A snapshot is valid
 * from the moment it is complete until a row of its owner is removed or
 * reindexed.
 *
 * @module
 */

import type { DatabaseSync } from "node:sqlite";
import type { SnapshotPart } from "../changes.ts";
import type { IndexSnapshot } from "../store.ts";
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
  // Steps from name to name: there are some thousand parts, but few names.
  orphan: `SELECT name FROM snapshot_parts WHERE name > ?
    ORDER BY name LIMIT 1`,
  isWhole: "SELECT 1 FROM index_snapshots WHERE name = ? AND parts > 0",
  sweep: `DELETE FROM snapshot_parts WHERE n IN (
    SELECT n FROM snapshot_parts WHERE name = ? LIMIT ?)`,
};

/**
 * Most parts that one transaction removes: a part has 64 pages, which takes a
 * third of a millisecond.
 */
const MAX_SWEPT = 64;
/** Names that a sweep looks at. */
const MAX_NAMES = 100;

/** Reads and writes snapshots. */
export class SnapshotRows {
  readonly #statements: Statements<typeof STATEMENTS>;
  /** Names of snapshots that are being written, by owner. */
  readonly #begun = new Map<string, string>();
  /** The name that the last sweep ended with; the next one goes on after it. */
  #sweptTo = "";

  /** Prepares statements for an open database. */
  constructor(db: DatabaseSync) {
    this.#statements = prepareAll(db, STATEMENTS);
  }

  /**
   * Begins a snapshot with all changes up to a number; replaces the owner's.
   */
  begin(owner: string, name: string, change: number): void {
    this.#statements.begin.run(owner, name, change);
    this.#begun.set(owner, name);
  }

  /** Adds a part. */
  addPart({ name, part, bytes }: SnapshotPart): void {
    this.#statements.addPart.run(name, part, bytes);
  }

  /**
   * Completes a snapshot, or gives it up with 0 parts, unless it was dropped.
   */
  end(owner: string, name: string, parts: number): void {
    this.#statements.end.run(parts, owner, name);
    if (this.#begun.get(owner) === name) this.#begun.delete(owner);
  }

  /** Drops an owner's snapshot, which is out of date. */
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

  /** Removes parts of replaced or dropped snapshots; returns how many. */
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
        // The snapshot may have more parts, so the next sweep looks at it
        // again.
        if (swept === most) break;
      }
      this.#sweptTo = name;
    }
    return swept;
  }
}
