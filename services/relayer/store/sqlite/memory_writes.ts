/**
 * Changes of the index's rows, made within a transaction.
 *
 * @module
 */

import type { DatabaseSync, StatementSync } from "node:sqlite";
import type { NewMemory } from "../rows.ts";
import type { Change } from "../store.ts";
import type { ChangeCounter } from "./memory_reads.ts";
import type { NamespaceSums } from "./namespace_sums.ts";

/** What of a row the sums are made of. */
interface MemoryHead {
  readonly n: number;
  readonly id: string;
  readonly namespace: string;
  readonly size_bytes: number;
  readonly agent_id: string | null;
  readonly superseded_by: string | null;
}

/** Options of {@linkcode MemoryWrites}. */
interface MemoryWritesOptions {
  /** Numbers the changes. */
  readonly counter: ChangeCounter;
  /** Kept with each change. */
  readonly sums: NamespaceSums;
}

const HEAD = "SELECT n, id, namespace, size_bytes, agent_id, superseded_by " +
  "FROM memories";

/** Writes rows of a database. */
export class MemoryWrites {
  readonly #counter: ChangeCounter;
  readonly #sums: NamespaceSums;
  readonly #insert: StatementSync;
  readonly #forgetTombstone: StatementSync;
  readonly #head: StatementSync;
  readonly #headsOfNamespace: StatementSync;
  readonly #supersede: StatementSync;
  readonly #reindex: StatementSync;
  readonly #delete: StatementSync;
  readonly #bury: StatementSync;

  /** A writer for an open database. */
  constructor(db: DatabaseSync, options: MemoryWritesOptions) {
    this.#counter = options.counter;
    this.#sums = options.sums;
    this.#insert = db.prepare(
      "INSERT INTO memories(owner, id, namespace, blob_id, size_bytes, " +
        "created_ms, updated_ms, change, agent_id, package_id, importance, " +
        "key_id, supersedes, sealed_index) " +
        "VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) " +
        "ON CONFLICT DO NOTHING",
    );
    this.#forgetTombstone = db.prepare(
      "DELETE FROM tombstones WHERE owner = ? AND id = ?",
    );
    this.#head = db.prepare(`${HEAD} WHERE owner = ? AND id = ?`);
    this.#headsOfNamespace = db.prepare(
      `${HEAD} WHERE owner = ? AND namespace = ? ORDER BY id LIMIT ?`,
    );
    this.#supersede = db.prepare(
      "UPDATE memories SET superseded_by = ?, updated_ms = ?, change = ? " +
        "WHERE n = ?",
    );
    this.#reindex = db.prepare(
      "UPDATE memories SET sealed_index = ? WHERE owner = ? AND id = ?",
    );
    this.#delete = db.prepare("DELETE FROM memories WHERE n = ?");
    this.#bury = db.prepare(
      "INSERT INTO tombstones VALUES(?, ?, ?, ?, ?) " +
        "ON CONFLICT(owner, id) DO UPDATE SET " +
        "namespace = excluded.namespace, deleted_ms = excluded.deleted_ms, " +
        "change = excluded.change",
    );
  }

  /** Adds a row unless one of its id is there. */
  add(memory: NewMemory, nowMs: number): void {
    const { owner, id, namespace, sizeBytes, agentId } = memory;
    const change = this.#counter.next();
    const { changes } = this.#insert.run(
      owner,
      id,
      namespace,
      memory.blobId,
      sizeBytes,
      memory.createdAtMs,
      nowMs,
      change,
      agentId,
      memory.packageId,
      memory.importance,
      memory.keyId ?? null,
      memory.supersedes ?? null,
      memory.sealedIndex,
    );
    if (Number(changes) === 0) return;
    // Clients that did not hear of its removal need not hear of it now.
    this.#forgetTombstone.run(owner, id);
    const [rows, memories, bytes] = [1, 1, sizeBytes];
    this.#sums.add({ owner, namespace, rows, memories, bytes, nowMs, change });
    if (agentId !== null) this.#sums.addAgent(owner, agentId, 1);
  }

  /** Marks a row as replaced; nothing when it is gone or marked so already. */
  supersede(
    mark: Extract<Change, { readonly kind: "supersede" }>,
    nowMs: number,
  ): void {
    const { owner, id, supersededBy } = mark;
    const head = this.#head.get(owner, id) as MemoryHead | undefined;
    if (head === undefined || head.superseded_by === supersededBy) return;
    const change = this.#counter.next();
    this.#supersede.run(supersededBy, nowMs, change, head.n);
    this.#sums.add({
      owner,
      namespace: head.namespace,
      rows: 0,
      memories: head.superseded_by === null ? -1 : 0,
      bytes: 0,
      nowMs,
      change,
    });
  }

  /** Puts a new vector in the place of a row's; nothing when it is gone. */
  reindex(
    { owner, id, sealedIndex }: Extract<Change, { readonly kind: "reindex" }>,
  ): void {
    this.#reindex.run(sealedIndex, owner, id);
  }

  /** Removes a row and leaves its tombstone. */
  remove(owner: string, id: string, nowMs: number): void {
    const head = this.#head.get(owner, id) as MemoryHead | undefined;
    if (head === undefined) return;
    this.#removeHeads([head], { owner, namespace: head.namespace, nowMs });
  }

  /**
   * Removes rows of a namespace, at most `limit` and the first ids first, and
   * leaves their tombstones.
   *
   * @returns how many it were; fewer than `limit` when none are left
   */
  removeNamespace(
    of: { readonly owner: string; readonly namespace: string },
    options: { readonly nowMs: number; readonly limit: number },
  ): number {
    const { owner, namespace } = of;
    const { nowMs, limit } = options;
    const rows = this.#headsOfNamespace.all(owner, namespace, limit);
    const heads = rows as unknown as MemoryHead[];
    this.#removeHeads(heads, { owner, namespace, nowMs });
    return heads.length;
  }

  /** Rows of one namespace; the sums change once for all of them. */
  #removeHeads(
    heads: readonly MemoryHead[],
    of: {
      readonly owner: string;
      readonly namespace: string;
      readonly nowMs: number;
    },
  ): void {
    const { owner, namespace, nowMs } = of;
    let [memories, bytes, change] = [0, 0, 0];
    const rowsOfAgents = new Map<string, number>();
    for (const { n, id, size_bytes, agent_id, superseded_by } of heads) {
      change = this.#counter.next();
      this.#delete.run(n);
      this.#bury.run(owner, id, namespace, nowMs, change);
      if (superseded_by === null) memories--;
      bytes -= size_bytes;
      if (agent_id === null) continue;
      rowsOfAgents.set(agent_id, (rowsOfAgents.get(agent_id) ?? 0) - 1);
    }
    if (heads.length === 0) return;
    const rows = -heads.length;
    this.#sums.add({ owner, namespace, rows, memories, bytes, nowMs, change });
    for (const [agentId, count] of rowsOfAgents) {
      this.#sums.addAgent(owner, agentId, count);
    }
  }
}
