/**
 * A store in memory, for tests of the routes; it has the calls that routes
 * make.
 *
 * @module
 */

import type { Clock } from "../../../shared/clock.ts";
import type {
  JobRow,
  MemoryRow,
  NewJob,
  NewMemory,
  Tombstone,
} from "../../store/rows.ts";
import type { Change, CommitOutcome } from "../../store/changes.ts";
import type {
  FeedPosition,
  FeedQuery,
  MemoryPage,
  NamespaceRow,
  RelayerStore,
} from "../../store/store.ts";

/** Keeps jobs, rows and tombstones as long as the test runs. */
export class MemoryStore implements RelayerStore {
  /** Jobs by id. */
  readonly jobRows = new Map<string, JobRow>();
  /** Rows by id. */
  readonly memoryRows = new Map<string, MemoryRow>();
  /** Tombstones of removed rows. */
  readonly tombstones: Tombstone[] = [];
  /** All commits that were applied. */
  readonly commits: (readonly Change[])[] = [];
  /** Whether pages say that the client has to start over. */
  mustResync = false;
  /** Thrown by the next commit, once. */
  nextError: Error | undefined;
  #change = 0;
  /** Tells the time; its timers never fire. */
  readonly clock: Clock;
  readonly hasOwnTime = false;
  readonly #nowMs: () => number;

  /** An empty store. */
  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
    this.clock = { nowMs, setTimer: () => ({ cancel() {} }) };
  }

  start(): Promise<void> {
    return Promise.resolve();
  }

  stop(): Promise<void> {
    return Promise.resolve();
  }

  check(): Promise<undefined> {
    return Promise.resolve(undefined);
  }

  commit(changes: readonly Change[]): Promise<CommitOutcome> {
    const error = this.nextError;
    this.nextError = undefined;
    if (error !== undefined) return Promise.reject(error);
    const misfit = changes.findIndex((change) =>
      change.kind === "job" &&
      this.jobRows.get(change.id)?.version !== change.expectedVersion
    );
    if (misfit !== -1) {
      return Promise.resolve({ kind: "conflict", change: misfit });
    }
    for (const change of changes) this.#apply(change);
    this.commits.push(changes);
    return Promise.resolve({ kind: "ok" });
  }

  /** Adds a job in any state. */
  putJob(job: NewJob & Partial<JobRow>): JobRow {
    const row = {
      version: 1,
      attempts: 0,
      updatedAtMs: job.createdAtMs,
      ...job,
    };
    this.jobRows.set(row.id, row);
    return row;
  }

  jobs(
    owner: string,
    ids: readonly string[],
  ): Promise<readonly (JobRow | undefined)[]> {
    return Promise.resolve(ids.map((id) => {
      const job = this.jobRows.get(id);
      return job?.owner === owner ? job : undefined;
    }));
  }

  settledJobs(): ReturnType<RelayerStore["settledJobs"]> {
    return unused();
  }

  memories(
    owner: string,
    ids: readonly string[],
  ): Promise<readonly (MemoryRow | undefined)[]> {
    return Promise.resolve(ids.map((id) => {
      const memory = this.memoryRows.get(id);
      return memory?.owner === owner ? memory : undefined;
    }));
  }

  stats(
    owner: string,
    namespace?: string,
  ): Promise<{ readonly memories: number; readonly bytes: number }> {
    const rows = this.#listRows(owner).filter((row) =>
      namespace === undefined || row.namespace === namespace
    );
    return Promise.resolve({
      memories: rows.length,
      bytes: rows.reduce((sum, row) => sum + row.sizeBytes, 0),
    });
  }

  agents(owner: string): Promise<readonly string[]> {
    const ids = this.#listRows(owner).flatMap(({ agentId }) => agentId ?? []);
    return Promise.resolve([...new Set(ids)]);
  }

  memoryFeed(
    owner: string,
    { limit, after }: FeedQuery,
  ): Promise<MemoryPage> {
    const from = after?.change ?? 0;
    const rows = this.#listRows(owner).filter(({ change }) => change > from);
    const memories = rows.slice(0, limit);
    const deleted = this.tombstones.filter(({ change }) => change > from);
    const last = [...memories, ...deleted].map(({ change }) => change);
    return Promise.resolve({
      memories,
      deleted,
      hasMore: rows.length > limit,
      next: last.length === 0 ? undefined : { change: Math.max(...last) },
      mustResync: this.mustResync,
    });
  }

  /** Nothing that is tested with it has an index which follows the store. */
  indexFeed(
    ...of: Parameters<RelayerStore["indexFeed"]>
  ): Promise<MemoryPage> {
    return this.memoryFeed(...of);
  }

  namespaceFeed(
    owner: string,
    { limit, after }: { readonly limit: number; readonly after?: FeedPosition },
  ): Promise<
    { readonly namespaces: readonly NamespaceRow[]; readonly hasMore: boolean }
  > {
    const sums = new Map<string, NamespaceRow>();
    for (const row of this.#listRows(owner)) {
      const known = sums.get(row.namespace);
      sums.set(row.namespace, {
        name: row.namespace,
        memoryCount: (known?.memoryCount ?? 0) + 1,
        storageBytes: (known?.storageBytes ?? 0) + row.sizeBytes,
        updatedAtMs: row.updatedAtMs,
        change: row.change,
      });
    }
    const all = [...sums.values()].sort((a, b) => a.change - b.change)
      .filter(({ change }) => change > (after?.change ?? 0));
    return Promise.resolve({
      namespaces: all.slice(0, limit),
      hasMore: all.length > limit,
    });
  }

  leaseJobs(): Promise<readonly JobRow[]> {
    return unused();
  }

  renewLeases(): Promise<void> {
    return unused();
  }

  head(): Promise<number> {
    return unused();
  }

  beat(): ReturnType<RelayerStore["beat"]> {
    return unused();
  }

  leave(): Promise<void> {
    return unused();
  }

  tell(): void {}

  onNotice(): () => void {
    return () => {};
  }

  mayEndLeases(): boolean {
    return true;
  }

  nextJobMs(): Promise<number | undefined> {
    return unused();
  }

  deletedJobs(): ReturnType<RelayerStore["deletedJobs"]> {
    return unused();
  }

  openJobs(): ReturnType<RelayerStore["openJobs"]> {
    return unused();
  }

  keyClaim(): ReturnType<RelayerStore["keyClaim"]> {
    return unused();
  }

  scanMemories(): ReturnType<RelayerStore["scanMemories"]> {
    return unused();
  }

  memoryOwners(): ReturnType<RelayerStore["memoryOwners"]> {
    return unused();
  }

  memoryCount(): ReturnType<RelayerStore["memoryCount"]> {
    return unused();
  }

  badBlobs(): ReturnType<RelayerStore["badBlobs"]> {
    return unused();
  }

  nonces(): ReturnType<RelayerStore["nonces"]> {
    return unused();
  }

  rateWindows(): ReturnType<RelayerStore["rateWindows"]> {
    return unused();
  }

  rateWindowsOf(): ReturnType<RelayerStore["rateWindowsOf"]> {
    return unused();
  }

  snapshot(): ReturnType<RelayerStore["snapshot"]> {
    return unused();
  }

  snapshotPart(): ReturnType<RelayerStore["snapshotPart"]> {
    return unused();
  }

  sweep(): ReturnType<RelayerStore["sweep"]> {
    return unused();
  }

  #listRows(owner: string): readonly MemoryRow[] {
    return [...this.memoryRows.values()].filter((row) => row.owner === owner)
      .sort((a, b) => a.change - b.change);
  }

  #apply(change: Change): void {
    switch (change.kind) {
      case "new_memory":
        return this.#add(change.memory);
      case "remove_memory":
        return this.#remove(change.owner, (row) => row.id === change.id);
      case "remove_namespace":
        return this.#remove(
          change.owner,
          (row) => row.namespace === change.namespace,
        );
      case "supersede": {
        const row = this.memoryRows.get(change.id);
        if (row?.owner !== change.owner) return;
        this.memoryRows.set(row.id, {
          ...row,
          supersededBy: change.supersededBy,
          change: ++this.#change,
        });
        return;
      }
      case "reindex": {
        const row = this.memoryRows.get(change.id);
        if (row?.owner !== change.owner) return;
        const { sealedIndex } = change;
        this.memoryRows.set(row.id, { ...row, sealedIndex });
        return;
      }
      case "job":
        return this.#patch(change);
      default:
        throw new TypeError(`Cannot apply "${change.kind}": routes make none`);
    }
  }

  #add(memory: NewMemory): void {
    if (this.memoryRows.has(memory.id)) return;
    const updatedAtMs = this.#nowMs();
    const change = ++this.#change;
    this.memoryRows.set(memory.id, { ...memory, updatedAtMs, change });
  }

  #remove(owner: string, isMeant: (row: MemoryRow) => boolean): void {
    for (const row of this.#listRows(owner).filter(isMeant)) {
      this.memoryRows.delete(row.id);
      this.tombstones.push({
        id: row.id,
        namespace: row.namespace,
        deletedAtMs: this.#nowMs(),
        change: ++this.#change,
      });
    }
  }

  #patch({ id, patch }: Extract<Change, { readonly kind: "job" }>): void {
    const job = this.jobRows.get(id);
    if (job === undefined) return;
    const { payload, error, ...rest } = patch;
    const { payload: oldPayload, error: oldError, ...kept } = job;
    const newPayload = payload === undefined ? oldPayload : payload;
    const newError = error === undefined ? oldError : error;
    this.jobRows.set(id, {
      ...kept,
      ...rest,
      ...(newPayload === undefined || newPayload === null
        ? {}
        : { payload: newPayload }),
      ...(newError === undefined || newError === null
        ? {}
        : { error: newError }),
      version: job.version + 1,
    });
  }
}

function unused(): never {
  throw new TypeError("Cannot answer: no route asks for this");
}
