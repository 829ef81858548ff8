/**
 * A store in memory for tests of code that uses a store: plain maps, and every
 * query looks at everything.
 *
 * @module
 */

import type { Clock } from "../../../shared/clock.ts";
import type { HistoryRecord } from "../../domain/history.ts";
import {
  computePlacement,
  computeStoredPlacement,
  listLinks,
} from "../../domain/placement.ts";
import type { Task, TaskStatus } from "../../domain/task.ts";
import type {
  AuditQuery,
  AuditTrim,
  Claim,
  CountsQuery,
  DependentsQuery,
  DueWorkersQuery,
  HistoryPage,
  HistoryQuery,
  OthersWaking,
  OthersWakingQuery,
  ScanPage,
  ScanQuery,
  StartsQuery,
  TaskKey,
  TaskPage,
  TaskQuery,
  WakingPosition,
  WorkerName,
} from "../queries.ts";
import {
  applyBeat,
  type Beat,
  type BeatAnswer,
  type MemberState,
  NO_MEMBERS,
  removeMember,
} from "../../../shared/members.ts";
import type { Inbox } from "../inbox.ts";
import type { Notice } from "../instances.ts";
import type {
  AuditEntry,
  ClaimScope,
  ClaimView,
  IdempotencyEntry,
  RecordKind,
  RecordPage,
  RecordQuery,
  RunningGroup,
  StartsPage,
  StatusCounts,
  Store,
  StoredRecord,
  TenantQueue,
  Transaction,
  TransactionResult,
  Usage,
  Write,
} from "../store.ts";
import type { RunningCounts } from "../../domain/records.ts";
import { type InboxTables, MemoryInbox } from "./memory_inbox.ts";
import { memoryEvents, sweepMemoryEvents } from "./memory_events.ts";
import { memoryKept } from "./memory_kept.ts";
import { memoryCandidates, memoryPage } from "./memory_queries.ts";
import { memoryRows } from "./memory_rows.ts";
import {
  applyTransaction,
  type MemoryTables,
  newMemoryTables,
  recordKey,
  twoPartKey,
} from "./memory_writes.ts";

/** Options of {@linkcode createMemoryStore}. */
export interface MemoryStoreOptions {
  /** The clock of the machine that uses the store. */
  readonly clock: Clock;
  /**
   * Another store, whose data is shared, as by two instances, and whose own
   * time, if it has one, is that of this store.
   *
   * @default the store has data of its own
   */
  readonly besides?: Store;
  /**
   * The store's own time, in milliseconds since the epoch, as a server of a
   * database tells it: it may differ from the clocks of the machines.
   *
   * @default the store's time is that of the machine
   */
  readonly ownTimeMs?: () => number;
  /**
   * Whether others than the service may put requests for tasks into it.
   *
   * @default {false}
   */
  readonly hasInbox?: boolean;
}

/**
 * Creates an empty store in memory. Reads return the written objects
 * themselves, not copies.
 */
export function createMemoryStore(options: MemoryStoreOptions): Store {
  const { clock, besides, ownTimeMs, hasInbox } = options;
  if (besides !== undefined) return new MemoryStore(clock, sharedOf(besides));
  return new MemoryStore(clock, {
    ownTimeMs,
    tables: newMemoryTables({ hasInbox }),
    members: NO_MEMBERS,
    hearers: new Map(),
    claims: new Map(),
  });
}

/** The inbox of a store in memory that has one, for those who fill it. */
export function inboxTablesOf(store: Store): InboxTables | undefined {
  return sharedOf(store).tables.inbox;
}

/** What a store in memory shares, also one that was wrapped. */
function sharedOf(store: Store & Partial<MemoryStore>): SharedMemory {
  if (store.shared !== undefined) return store.shared;
  throw new TypeError("Cannot share data: the other store is not in memory");
}

/** What stores on the same data share. */
interface SharedMemory {
  readonly ownTimeMs: (() => number) | undefined;
  readonly tables: MemoryTables;
  members: MemberState;
  /** The functions that hear notices, with the store that each belongs to. */
  readonly hearers: Map<(notice: Notice) => void, MemoryStore>;
  /** What resolves when the last claim of each worker or tenant has ended. */
  readonly claims: Map<string, Promise<unknown>>;
}

/** A row that may be removed some day. */
interface Expiring {
  readonly expiresAtMs: number;
}

class MemoryStore implements Store {
  readonly shared: SharedMemory;
  readonly clock: Clock;
  readonly hasOwnTime: boolean;
  readonly inbox?: Inbox;
  readonly activity: Store["activity"];
  readonly topCounts: Store["topCounts"];
  readonly lateTasks: Store["lateTasks"];
  readonly failingTasks: Store["failingTasks"];
  readonly #tables: MemoryTables;

  constructor(clock: Clock, shared: SharedMemory) {
    const { ownTimeMs, tables } = shared;
    this.shared = shared;
    this.#tables = tables;
    const kept = memoryKept(tables);
    this.activity = kept.activity;
    this.topCounts = kept.topCounts;
    this.lateTasks = kept.lateTasks;
    this.failingTasks = kept.failingTasks;
    this.hasOwnTime = ownTimeMs !== undefined;
    this.clock = ownTimeMs === undefined ? clock : {
      nowMs: ownTimeMs,
      monotonicMs: () => clock.monotonicMs?.() ?? clock.nowMs(),
      setTimer: (...of) => clock.setTimer(...of),
    };
    if (tables.inbox !== undefined) {
      this.inbox = new MemoryInbox(tables.inbox, () => this.clock.nowMs());
    }
  }

  mayEndLeases = (): boolean => true;

  beat = (beat: Beat): Promise<BeatAnswer> => {
    const time = { nowMs: this.clock.nowMs(), server: "memory" };
    const { state, answer } = applyBeat(this.shared.members, beat, time);
    this.shared.members = state;
    return Promise.resolve(answer);
  };

  leave = (id: string): Promise<void> => {
    this.shared.members = removeMember(this.shared.members, id);
    return Promise.resolve();
  };

  tell = (notices: readonly Notice[]): void => {
    for (const [listen, store] of [...this.shared.hearers]) {
      if (store !== this) { for (const notice of notices) listen(notice); }
    }
  };

  onNotice = (listen: (notice: Notice) => void): () => void => {
    // A function of its own, since two may listen with the same one.
    const hear = (notice: Notice): void => listen(notice);
    this.shared.hearers.set(hear, this);
    return () => void this.shared.hearers.delete(hear);
  };

  claim = (
    { tenantId, workerId, limits }: ClaimScope,
    decide: (view: ClaimView) => Promise<readonly Transaction[]>,
  ): Promise<readonly TransactionResult[]> => {
    const { claims } = this.shared;
    const locks = [twoPartKey(tenantId, workerId)];
    // Those who share limits keep each other out.
    if (limits === "tenant") locks.push(tenantId);
    const before = Promise.all(locks.map((lock) => claims.get(lock)));
    const claiming = before.then(async () =>
      await this.commit(await decide(this))
    );
    const ended = claiming.then(() => {}, () => {});
    for (const lock of locks) claims.set(lock, ended);
    return claiming;
  };

  start = (): Promise<void> => {
    return Promise.resolve();
  };

  stop = (): Promise<void> => {
    return Promise.resolve();
  };

  check = (): Promise<string | undefined> => {
    return Promise.resolve(undefined);
  };

  commit = (
    transactions: readonly Transaction[],
  ): Promise<readonly TransactionResult[]> => {
    const nowMs = this.clock.nowMs();
    try {
      for (const { writes } of transactions) writes.forEach(demandStorable);
    } catch (error) {
      return Promise.reject(error);
    }
    return Promise.resolve(
      transactions.map((transaction) =>
        applyTransaction(this.#tables, transaction, nowMs)
      ),
    );
  };

  task = (tenantId: string, id: string): Promise<Task | undefined> => {
    return Promise.resolve(this.#find(tenantId, id));
  };

  tasks = (
    tenantId: string,
    ids: readonly string[],
  ): Promise<readonly (Task | undefined)[]> => {
    return Promise.resolve(ids.map((id) => this.#find(tenantId, id)));
  };

  taskByKey = (
    { tenantId, workerId, key }: TaskKey,
  ): Promise<Task | undefined> => {
    return Promise.resolve(
      this.#ofTenant(tenantId).find((task) =>
        task.workerId === workerId && computePlacement(task).liveKey === key
      ),
    );
  };

  listTasks = (query: TaskQuery): Promise<TaskPage> => {
    return Promise.resolve(memoryPage(this.#ofTenant(query.tenantId), query));
  };

  history = (query: HistoryQuery): Promise<HistoryPage> => {
    const task = this.#find(query.tenantId, query.taskId);
    const all = task === undefined
      ? []
      : this.#tables.histories.get(task.id) ?? [];
    const ordered = query.order === "asc" ? all : all.toReversed();
    const wanted = ordered.filter((record) => isWantedRecord(record, query));
    const records = wanted.slice(0, query.limit);
    const last = records.at(-1);
    return Promise.resolve(
      wanted.length > records.length && last !== undefined
        ? { records, nextAfterSeq: last.seq }
        : { records },
    );
  };

  dependents = (
    { tenantId, ids, limit, afterId = "" }: DependentsQuery,
  ): Promise<readonly string[]> => {
    return Promise.resolve(
      this.#ofTenant(tenantId)
        .filter((task) =>
          task.id > afterId && listLinks(task).some((id) => ids.includes(id))
        )
        .map((task) => task.id)
        .sort()
        .slice(0, limit),
    );
  };

  candidates = (claim: Claim): Promise<readonly Task[]> =>
    Promise.resolve(memoryCandidates(this.#all(), claim));

  workersWithDueTasks = (
    { limit, after }: DueWorkersQuery,
  ): Promise<readonly WorkerName[]> => {
    const workers = new Map<string, WorkerName>();
    const afterKey = after === undefined
      ? ""
      : twoPartKey(after.workerId, after.tenantId);
    for (const task of this.#all()) {
      const { tenantId, workerId } = task;
      if (computePlacement(task).rank === undefined) continue;
      const key = twoPartKey(workerId, tenantId);
      if (compare(key, afterKey) > 0) workers.set(key, { tenantId, workerId });
    }
    return Promise.resolve(
      [...workers].sort(([left], [right]) => compare(left, right))
        .map(([, worker]) => worker).slice(0, limit),
    );
  };

  waking = (
    nowMs: number,
    limit: number,
    after?: WakingPosition,
  ): Promise<readonly Task[]> =>
    Promise.resolve(
      this.#waking(nowMs, after).map(({ task }) => task).slice(0, limit),
    );

  wakingOfOthers = (
    { nowMs, except, after, maxLooked }: OthersWakingQuery,
  ): Promise<OthersWaking> => {
    const looked = this.#waking(nowMs, after).slice(0, maxLooked);
    const last = looked.at(-1);
    return Promise.resolve({
      tasks: looked.map(({ task }) => task)
        .filter(({ tenantId }) => !except.has(tenantId)),
      next: last && { wakeAtMs: last.wakeAtMs, id: last.id },
    });
  };

  nextWakeMs = (afterMs = -Infinity): Promise<number | undefined> => {
    const earliestMs = this.#all()
      .map((task) => computePlacement(task).wakeAtMs ?? Infinity)
      .filter((wakeAtMs) => wakeAtMs > afterMs)
      .reduce((ms, wakeAtMs) => Math.min(ms, wakeAtMs), Infinity);
    return Promise.resolve(earliestMs === Infinity ? undefined : earliestMs);
  };

  running = (tenantId: string, workerId: string): Promise<RunningCounts> => {
    const running = this.#ofTenant(tenantId).filter((task) =>
      task.workerId === workerId && task.status === "running"
    );
    const groups = new Map<string, number>();
    for (const { group } of running) {
      if (group !== "") groups.set(group, (groups.get(group) ?? 0) + 1);
    }
    return Promise.resolve({ all: running.length, groups });
  };

  runningGroups = (tenantId: string): Promise<readonly RunningGroup[]> => {
    const running = this.#ofTenant(tenantId).filter(({ status, group }) =>
      status === "running" && group !== ""
    );
    const byGroup = Map.groupBy(
      running,
      ({ workerId, group }) => JSON.stringify([workerId, group]),
    );
    return Promise.resolve([...byGroup.values()].map((tasks) => ({
      workerId: tasks[0]!.workerId,
      group: tasks[0]!.group,
      count: tasks.length,
    })));
  };

  starts = (query: StartsQuery): Promise<StartsPage> => {
    const { tenantId, workerId, afterNumber, limit } = query;
    const starts = this.#tables.starts.values()
      .filter((start) =>
        start.tenantId === tenantId && start.workerId === workerId &&
        start.group === (query.group ?? start.group) &&
        start.number > afterNumber
      )
      .map(({ number, group, atMs, count = 1 }) => ({
        number,
        group,
        atMs,
        count,
      }))
      .toArray();
    const first = query.end === "last" ? Math.max(0, starts.length - limit) : 0;
    return Promise.resolve({
      nowMs: this.clock.nowMs(),
      starts: starts.slice(first, first + limit),
    });
  };

  scan = ({ status, limit, after }: ScanQuery): Promise<ScanPage> => {
    const wanted = this.#all()
      .filter((task) => task.status === status && task.id > (after ?? ""))
      .sort((left, right) => compare(left.id, right.id));
    const tasks = wanted.slice(0, limit);
    const last = tasks.at(-1);
    return Promise.resolve(
      wanted.length > tasks.length && last !== undefined
        ? { tasks, next: last.id }
        : { tasks },
    );
  };

  counts = ({ tenantId, workerId }: CountsQuery): Promise<StatusCounts> => {
    const counts: Partial<Record<TaskStatus, number>> = {};
    for (const task of this.#ofTenant(tenantId)) {
      if (workerId !== undefined && task.workerId !== workerId) continue;
      counts[task.status] = (counts[task.status] ?? 0) + 1;
    }
    return Promise.resolve(counts);
  };

  tenantQueues = async (): Promise<readonly TenantQueue[]> => {
    const tenants = new Set(
      Array.from(this.#tables.tasks.values(), ({ tenantId }) => tenantId),
    );
    return await Promise.all(Array.from(tenants, async (tenantId) => {
      const dates = this.#ofTenant(tenantId)
        .filter((task) => computePlacement(task).rank !== undefined)
        .map(({ dateMs }) => dateMs);
      return {
        tenantId,
        counts: await this.counts({ tenantId }),
        dueSinceMs: dates.length === 0 ? undefined : Math.min(...dates),
      };
    }));
  };

  proveCounts = (): Promise<number> => {
    return Promise.resolve(0);
  };

  record = (
    kind: RecordKind,
    tenantId: string,
    id: string,
  ): Promise<StoredRecord | undefined> => {
    return Promise.resolve(
      this.#tables.records.get(recordKey(kind, tenantId, id)),
    );
  };

  recordByAlias = (
    kind: RecordKind,
    tenantId: string,
    alias: string,
  ): Promise<StoredRecord | undefined> => {
    return Promise.resolve(
      this.#records(kind, tenantId).find((record) => record.alias === alias),
    );
  };

  records = (query: RecordQuery): Promise<RecordPage> => {
    const { kind, tenantId, parentId, afterId = "", limit } = query;
    const wanted = this.#records(kind, tenantId)
      .filter((record) =>
        (parentId === undefined || record.parentId === parentId) &&
        record.id > afterId
      )
      .sort((left, right) => compare(left.id, right.id));
    const records = wanted.slice(0, limit);
    return Promise.resolve({
      records,
      hasMore: wanted.length > records.length,
    });
  };

  idempotency = (
    tenantId: string,
    key: string,
    nowMs: number,
  ): Promise<IdempotencyEntry | undefined> => {
    const entry = this.#tables.answers.get(twoPartKey(tenantId, key));
    return Promise.resolve(
      entry !== undefined && entry.expiresAtMs > nowMs ? entry : undefined,
    );
  };

  usage = (tenantId: string, period: string): Promise<Usage> => {
    const executions = this.#tables.usage.get(twoPartKey(tenantId, period));
    return Promise.resolve({ executions: executions ?? 0 });
  };

  audit = (
    { tenantId, limit, before = Infinity }: AuditQuery,
  ): Promise<readonly AuditEntry[]> => {
    return Promise.resolve(
      (this.#tables.audit.get(tenantId) ?? [])
        .filter((entry) => entry.number < before)
        .toReversed()
        .slice(0, limit),
    );
  };

  events: Store["events"] = (query) =>
    Promise.resolve(memoryEvents(this.#tables, query));

  listeners: Store["listeners"] = (limit, afterId = "") =>
    Promise.resolve(
      [...this.#tables.listeners.keys()].filter((id) => id > afterId).sort()
        .slice(0, limit),
    );

  snapshot: Store["snapshot"] = (read) => read(memoryRows(this.#tables));

  sweep = (nowMs: number, limit: number): Promise<number> => {
    const { answers, starts, activity } = this.#tables;
    let removed = 0;
    for (
      const table of [answers, starts, activity] as readonly Map<
        unknown,
        Expiring
      >[]
    ) {
      for (const [key, { expiresAtMs }] of table) {
        if (removed === limit || expiresAtMs > nowMs) continue;
        table.delete(key);
        removed++;
      }
    }
    removed += sweepMemoryEvents(this.#tables, nowMs, limit - removed);
    return Promise.resolve(removed);
  };

  trimAudit = (
    { tenantId, beforeMs, limit }: AuditTrim,
  ): Promise<number> => {
    const entries = this.#tables.audit.get(tenantId) ?? [];
    const young = entries.findIndex(({ atMs }) => atMs >= beforeMs);
    const old = young < 0 ? entries.length - 1 : young;
    const removed = Math.min(limit, Math.max(0, old));
    this.#tables.audit.set(tenantId, entries.slice(removed));
    return Promise.resolve(removed);
  };

  #find(tenantId: string, id: string): Task | undefined {
    const task = this.#tables.tasks.get(id);
    return task?.tenantId === tenantId ? task : undefined;
  }

  #all(): Task[] {
    return [...this.#tables.tasks.values()];
  }

  /** The tasks that have to be woken by an instant, after a position. */
  #waking(
    nowMs: number,
    after: WakingPosition = { wakeAtMs: -Infinity, id: "" },
  ) {
    const order = (left: WakingPosition, right: WakingPosition): number =>
      left.wakeAtMs < right.wakeAtMs
        ? -1
        : left.wakeAtMs > right.wakeAtMs
        ? 1
        : compare(left.id, right.id);
    return this.#all()
      .map((task) => ({
        task,
        id: task.id,
        wakeAtMs: computePlacement(task).wakeAtMs ?? Infinity,
      }))
      .filter((one) => one.wakeAtMs <= nowMs && order(one, after) > 0)
      .sort(order);
  }

  #ofTenant(tenantId: string): Task[] {
    return this.#all().filter((task) => task.tenantId === tenantId);
  }

  #records(kind: RecordKind, tenantId: string): StoredRecord[] {
    return [...this.#tables.records.values()].filter((record) =>
      record.kind === kind && record.tenantId === tenantId
    );
  }
}

function isWantedRecord(record: HistoryRecord, query: HistoryQuery): boolean {
  const { types, run, afterSeq, order } = query;
  if (afterSeq !== undefined) {
    const isBehind = order === "asc"
      ? record.seq > afterSeq
      : record.seq < afterSeq;
    if (!isBehind) return false;
  }
  const draft = JSON.parse(record.text);
  return (types === undefined || types.includes(draft.type)) &&
    (run === undefined || draft.run === run);
}

function compare(left: string, right: string): number {
  return left < right ? -1 : left > right ? 1 : 0;
}

function demandStorable(write: Write): void {
  if (write.kind === "task" && write.next !== undefined) {
    computeStoredPlacement(write.next);
  }
}
