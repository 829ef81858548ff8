/**
 * Rows in memory, for tests of recall.
 *
 * @module
 */

import type { MemoryRow, NewMemory } from "../../store/rows.ts";
import type { Change, CommitOutcome } from "../../store/changes.ts";
import type { MemoryOwner, RelayerStore } from "../../store/store.ts";
import type { RestoreParts } from "../lost_memories.ts";

/** Keeps rows of memories and nothing else. */
export class FakeStore {
  /** All rows, by owner and id. */
  readonly rows = new Map<string, MemoryRow>();
  /** Blobs that can never be restored. */
  readonly bad = new Set<string>();
  /** What was committed. */
  readonly commits: (readonly Change[])[] = [];
  /** Called before each commit; may throw or make changes. */
  beforeCommit: () => unknown = () => {};
  /** Called after each commit; may make changes. */
  afterCommit: () => unknown = () => {};
  #change = 0;

  /** Applies changes of memories. */
  commit(changes: readonly Change[]): Promise<CommitOutcome> {
    this.beforeCommit();
    this.commits.push(changes);
    for (const change of changes) this.#apply(change);
    this.afterCommit();
    return Promise.resolve({ kind: "ok" });
  }

  /** Rows by id. */
  memories(
    owner: string,
    ids: readonly string[],
  ): Promise<readonly (MemoryRow | undefined)[]> {
    return Promise.resolve(ids.map((id) => this.rows.get(`${owner}/${id}`)));
  }

  /** Rows by id, in pages. */
  scanMemories(
    options: Parameters<RestoreParts["store"]["scanMemories"]>[0],
  ): Promise<readonly MemoryRow[]> {
    const { limit, afterId = "", owner } = options;
    const rows = [...this.rows.values()]
      .filter((row) => row.id > afterId && row.owner === (owner ?? row.owner))
      .sort((left, right) => left.id < right.id ? -1 : 1);
    return Promise.resolve(rows.slice(0, limit));
  }

  /** Owners that have rows, in pages by their addresses. */
  memoryOwners(
    { limit, after = "" }: Parameters<RelayerStore["memoryOwners"]>[0],
  ): Promise<readonly MemoryOwner[]> {
    const counts = new Map<string, number>();
    for (const { owner } of this.rows.values()) {
      if (owner > after) counts.set(owner, (counts.get(owner) ?? 0) + 1);
    }
    const owners = [...counts].map(([owner, memories]) => ({ owner, memories }))
      .sort((left, right) => left.owner < right.owner ? -1 : 1);
    return Promise.resolve(owners.slice(0, limit));
  }

  /** How many rows are not superseded. */
  memoryCount(): Promise<number> {
    const current = [...this.rows.values()]
      .filter(({ supersededBy }) => supersededBy === undefined);
    return Promise.resolve(current.length);
  }

  /** Which blobs can never be restored. */
  badBlobs(
    owner: string,
    blobIds: readonly string[],
  ): Promise<ReadonlySet<string>> {
    return Promise.resolve(
      new Set(blobIds.filter((blobId) => this.bad.has(`${owner}/${blobId}`))),
    );
  }

  #apply(change: Change): void {
    if (change.kind === "new_memory") this.#add(change.memory);
    if (change.kind === "remove_memory") {
      this.rows.delete(`${change.owner}/${change.id}`);
    }
    if (change.kind === "reindex") {
      const key = `${change.owner}/${change.id}`;
      const row = this.rows.get(key);
      if (row === undefined) return;
      this.rows.set(key, { ...row, sealedIndex: change.sealedIndex });
    }
    if (change.kind === "bad_blob") {
      this.bad.add(`${change.owner}/${change.blobId}`);
    }
    if (change.kind === "supersede") {
      const key = `${change.owner}/${change.id}`;
      const row = this.rows.get(key);
      if (row === undefined) return;
      this.rows.set(key, { ...row, supersededBy: change.supersededBy });
    }
  }

  #add(memory: NewMemory): void {
    const key = `${memory.owner}/${memory.id}`;
    if (this.rows.has(key)) return;
    const change = ++this.#change;
    this.rows.set(key, { ...memory, updatedAtMs: change, change });
  }
}
