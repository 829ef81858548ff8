/**
 * Keeps the number of memories and bytes of each namespace and delegate up to
 * date, so that reading them counts no rows.
 *
 * @module
 */

import type { DatabaseSync } from "node:sqlite";
import type { FeedQuery, MemoryOwner, NamespaceRow } from "../store.ts";
import { NAMESPACES } from "../row_columns.ts";
import { prepareAll, type Statements } from "./row_columns.ts";

const STATEMENTS = {
  add: `INSERT INTO namespaces VALUES(?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT(owner, name) DO UPDATE SET
    row_count = row_count + excluded.row_count,
    memory_count = memory_count + excluded.memory_count,
    storage_bytes = storage_bytes + excluded.storage_bytes,
    updated_ms = max(updated_ms, excluded.updated_ms),
    change = excluded.change`,
  drop: `DELETE FROM namespaces
    WHERE owner = ? AND name = ? AND row_count <= 0`,
  addAgent: `INSERT INTO agents VALUES(?, ?, ?) ON CONFLICT(owner, agent_id)
    DO UPDATE SET row_count = row_count + excluded.row_count`,
  dropAgent: `DELETE FROM agents
    WHERE owner = ? AND agent_id = ? AND row_count <= 0`,
  page: `SELECT ${NAMESPACES.selected} FROM namespaces
    WHERE owner = ? AND change > ? ORDER BY change LIMIT ?`,
  one: `SELECT memory_count AS memories, storage_bytes AS bytes
    FROM namespaces WHERE owner = ? AND name = ?`,
  all: `SELECT sum(memory_count) AS memories, sum(storage_bytes) AS bytes
    FROM namespaces WHERE owner = ?`,
  owners: `SELECT owner, sum(memory_count) AS memories FROM namespaces
    WHERE owner > ? GROUP BY owner ORDER BY owner LIMIT ?`,
  count: "SELECT sum(memory_count) AS memories FROM namespaces",
  agents: "SELECT agent_id FROM agents WHERE owner = ? ORDER BY agent_id",
};

/** The numbers that a change adds to the sums; negative ones are subtracted. */
interface SumsChange {
  /** The owner. */
  readonly owner: string;
  /** The namespace. */
  readonly namespace: string;
  /** The number of rows. */
  readonly rows: number;
  /** The number of rows that were not superseded. */
  readonly memories: number;
  /** The bytes of their blobs. */
  readonly bytes: number;
  /** When the change is made, in milliseconds since the epoch. */
  readonly nowMs: number;
  /** The number of the change. */
  readonly change: number;
}

/** Reads the sums, and updates them with each change. */
export class NamespaceSums {
  readonly #statements: Statements<typeof STATEMENTS>;

  /** Prepares statements for an open database. */
  constructor(db: DatabaseSync) {
    this.#statements = prepareAll(db, STATEMENTS);
  }

  /** Adds to the sums of a namespace; removes a namespace without rows. */
  add(sums: SumsChange): void {
    const { owner, namespace, rows, memories, bytes, nowMs, change } = sums;
    const { add, drop } = this.#statements;
    add.run(owner, namespace, rows, memories, bytes, nowMs, change);
    if (rows < 0) drop.run(owner, namespace);
  }

  /**
   * Adds to the number of a delegate's rows; removes a delegate without rows.
   */
  addAgent(owner: string, agentId: string, rows: number): void {
    this.#statements.addAgent.run(owner, agentId, rows);
    if (rows < 0) this.#statements.dropAgent.run(owner, agentId);
  }

  /** Namespaces that changed after a position, in the order of their last change. */
  page(
    owner: string,
    { limit, after }: FeedQuery,
  ): {
    readonly namespaces: readonly NamespaceRow[];
    readonly hasMore: boolean;
  } {
    const rows = this.#statements.page.all(
      owner,
      after?.change ?? 0,
      limit + 1,
    );
    const namespaces = rows.slice(0, limit)
      .map((row) => NAMESPACES.readRow(row));
    return { namespaces, hasMore: rows.length > limit };
  }

  /** The sums of a namespace, or of all namespaces of an owner. */
  stats(
    owner: string,
    namespace?: string,
  ): { readonly memories: number; readonly bytes: number } {
    const row = namespace === undefined
      ? this.#statements.all.get(owner)
      : this.#statements.one.get(owner, namespace);
    return {
      memories: Number(row?.["memories"] ?? 0),
      bytes: Number(row?.["bytes"] ?? 0),
    };
  }

  /** A page of owners by their addresses. */
  owners(
    { limit, after = "" }: {
      readonly limit: number;
      readonly after?: string | undefined;
    },
  ): readonly MemoryOwner[] {
    return this.#statements.owners.all(after, limit).map((row) => ({
      owner: String(row["owner"]),
      memories: Number(row["memories"]),
    }));
  }

  /** How many memories all owners have, without superseded ones. */
  count(): number {
    return Number(this.#statements.count.get()?.["memories"] ?? 0);
  }

  /** The delegates that wrote an owner's rows. */
  agents(owner: string): readonly string[] {
    return this.#statements.agents.all(owner)
      .map((row) => String(row["agent_id"]));
  }
}
