/**
 * The interface of the store of the tasks service, with its records,
 * transactions and results.
 *
 * A store keeps values, compares versions and finds things; it makes no
 * decisions. Writes that belong together form a transaction, which is applied
 * as a whole or not at all. There are no callbacks and no open transactions, so
 * the interface can be implemented by a group commit as well as by a script in
 * a cluster. All writes of a transaction belong to one tenant, except those of
 * the list of tenants.
 *
 * @module
 */

import type { Pausing } from "../../shared/slices.ts";
import type { Inbox } from "./inbox.ts";
import type {
  ActivityCounts,
  ActivitySeries,
  KeptCounts,
} from "./kept_counts.ts";
import type { InstanceStore } from "../../shared/instance_store.ts";
import type { Notice } from "./instances.ts";
import type { RowSource } from "./rows.ts";
import type {
  AuditEntry,
  EventPage,
  IdempotencyEntry,
  StoredRecord,
} from "./stored.ts";
import type { HistoryRecord } from "../domain/history.ts";
import type { RunningCounts } from "../domain/records.ts";
import type { Task, TaskStatus } from "../domain/task.ts";
import type {
  AuditQuery,
  AuditTrim,
  Claim,
  CountsQuery,
  DependentsQuery,
  DueWorkersQuery,
  EventsQuery,
  HistoryPage,
  HistoryQuery,
  OthersWaking,
  OthersWakingQuery,
  RecordKind,
  ScanPage,
  ScanQuery,
  StartsQuery,
  TaskKey,
  TaskPage,
  TaskQuery,
  WakingPosition,
  WorkerName,
} from "./queries.ts";

export type { RecordKind } from "./queries.ts";

export { StoreBusyError } from "../../shared/store_failed.ts";
export type { AuditEntry, EventPage, IdempotencyEntry, StoredRecord };
export type { StoredEvent } from "./stored.ts";

/**
 * Stores all data of the service. Methods that read see every commit that was
 * answered.
 *
 * All methods are own properties and need no `this`, so that `{ ...store, tell }`
 * is the same store with another `tell`. Claims commit and read by themselves,
 * so other commits and reads take `withCommit()` and `withReads()`.
 */
export interface Store
  extends
    TaskStore,
    RecordStore,
    Ledger,
    KeptCounts,
    InstanceStore<Notice>,
    RowSource {
  /**
   * Requests for tasks that the tenants' programs put into the store themselves.
   *
   * @default only the service writes to the store
   */
  readonly inbox?: Inbox;

  /**
   * Opens the store and migrates data of earlier versions.
   *
   * @throws {Error} when it cannot be opened or is of a later version
   */
  start(): Promise<void>;
  /** Finishes the current commits and closes the store. */
  stop(): Promise<void>;

  /**
   * Applies transactions, each as a whole or not at all, and answers once all
   * of them are durable. Transactions of the same tenant are applied in the
   * order given, also across commits; those of different tenants in any order,
   * so that no tenant waits for all that another has sent. A transaction
   * belongs to the tenant of its first write.
   *
   * @param pausing lets others go first while transactions of many writes are
   * prepared, which take their place in the order only when they are ready
   * @throws {TypeError} when an instant of a task is not in whole milliseconds;
   * nothing was written
   * @throws {StoreBusyError} when too much waits to be written; nothing was
   * written
   * @throws {StoreFailedError} when the store fails; whether the transactions
   * were written is unknown
   */
  commit(
    transactions: readonly Transaction[],
    pausing?: Pausing,
  ): Promise<readonly TransactionResult[]>;

  /**
   * Claims tasks of a worker: `decide` looks for tasks and returns the
   * transactions that start them, which are committed. While it runs, no other
   * instance is shown the same tasks and, where the worker has limits, none
   * claims within the same limit, so that what `decide` has counted still holds
   * at the commit. It should take some milliseconds only, and is called once.
   *
   * @returns the results of the transactions
   * @throws what `decide` throws; then nothing was written
   * @throws {Error} as {@linkcode Store.commit}
   */
  claim(
    scope: ClaimScope,
    decide: (view: ClaimView) => Promise<readonly Transaction[]>,
  ): Promise<readonly TransactionResult[]>;

  /**
   * Removes at most `limit` rows that have expired (idempotency entries, starts
   * that were counted for rates, activity, histories of removed tasks, listeners,
   * and events that are too old or too many).
   *
   * @returns how many rows were removed
   */
  sweep(nowMs: number, limit: number): Promise<number>;

  /**
   * Removes the oldest entries of a tenant's audit log, as far as they are from
   * before an instant. The last entry stays, since the next one goes on from
   * it.
   *
   * @returns how many entries were removed
   */
  trimAudit(trim: AuditTrim): Promise<number>;
}

/** What a claim has to keep other instances from. */
export interface ClaimScope extends WorkerName {
  /**
   * Which limits the claim counts within: none, those of the worker, or those
   * of groups that workers of the tenant share.
   */
  readonly limits: "none" | "worker" | "tenant";
}

/** What a claim sees. */
export type ClaimView = Pick<
  TaskStore,
  "candidates" | "running" | "runningGroups" | "starts"
>;

/** The methods that find tasks. */
interface TaskStore {
  /** The task with an id; undefined when the tenant has no such task. */
  task(tenantId: string, id: string): Promise<Task | undefined>;
  /** Several tasks, in the order of the ids; undefined for each missing one. */
  tasks(
    tenantId: string,
    ids: readonly string[],
  ): Promise<readonly (Task | undefined)[]>;
  /** The live task of a worker with a key. */
  taskByKey(key: TaskKey): Promise<Task | undefined>;
  /** A page of tasks. */
  listTasks(query: TaskQuery): Promise<TaskPage>;
  /**
   * The ids of tasks that are linked to any of the given tasks or calendars, as
   * `listLinks()` says: live ones that depend on a task or name a calendar, and
   * ones that have failed by a task; at most `limit` after `afterId`.
   */
  dependents(query: DependentsQuery): Promise<readonly string[]>;

  /**
   * Tasks that a worker may take, in the order of their rank, with groups
   * taking turns. These are only proposals: the commit decides.
   */
  candidates(claim: Claim): Promise<readonly Task[]>;
  /**
   * The workers with tasks that may be taken, at most `limit`, after `after`.
   */
  workersWithDueTasks(
    query: DueWorkersQuery,
  ): Promise<readonly WorkerName[]>;
  /**
   * Tasks whose time to wake has come, earliest first and then by id, at most
   * `limit` after `after`. Fewer may be returned although there are more.
   */
  waking(
    nowMs: number,
    limit: number,
    after?: WakingPosition,
  ): Promise<readonly Task[]>;
  /**
   * Tasks as of `waking()`, of all tenants but some. It looks at a limited
   * number of tasks, so it may find none although there are some.
   */
  wakingOfOthers(query: OthersWakingQuery): Promise<OthersWaking>;
  /**
   * The earliest instant at which a task has to be woken, of those later than
   * `afterMs` if that is given.
   */
  nextWakeMs(afterMs?: number): Promise<number | undefined>;
  /** How many tasks of a worker are running, in all and by group. */
  running(tenantId: string, workerId: string): Promise<RunningCounts>;
  /**
   * How many tasks of a tenant are running, by worker and group; tasks without a
   * group are left out.
   */
  runningGroups(tenantId: string): Promise<readonly RunningGroup[]>;
  /**
   * The starts that were counted for rates, in the order in which they were
   * written. A claim whose limits cover the rate sees all of them, so after some
   * were read, only those behind them have to be.
   */
  starts(query: StartsQuery): Promise<StartsPage>;
  /**
   * All tasks of a status across all tenants, for recovery and the reconciler:
   * at most `limit` after `after`. A page may be short, or empty, and have a
   * next one.
   */
  scan(query: ScanQuery): Promise<ScanPage>;
  /** How many tasks a tenant or one of its workers has in each status. */
  counts(query: CountsQuery): Promise<StatusCounts>;
  /**
   * The queues of each tenant that has tasks. Reading them may take long, but
   * is done in pieces, each of which sees the state of its moment.
   */
  tenantQueues(): Promise<readonly TenantQueue[]>;
  /**
   * Counts all tasks and corrects the counts that {@linkcode TaskStore.counts}
   * returns.
   *
   * @returns how many counts of a worker's tasks in a status were wrong
   */
  proveCounts(): Promise<number>;
}

/** The methods that find records. */
interface RecordStore {
  /** A record by its id. */
  record(
    kind: RecordKind,
    tenantId: string,
    id: string,
  ): Promise<StoredRecord | undefined>;
  /** A record by its alias. */
  recordByAlias(
    kind: RecordKind,
    tenantId: string,
    alias: string,
  ): Promise<StoredRecord | undefined>;
  /** A page of records, by id. */
  records(query: RecordQuery): Promise<RecordPage>;
}

/**
 * The methods that read what is only ever added to: histories, idempotency
 * answers, usage counts and audit logs.
 */
interface Ledger {
  /** A page of a task's history. */
  history(query: HistoryQuery): Promise<HistoryPage>;
  /** The stored answer to a request with a key, unless it has expired. */
  idempotency(
    tenantId: string,
    key: string,
    nowMs: number,
  ): Promise<IdempotencyEntry | undefined>;
  /** The usage counts of a tenant in a period. */
  usage(tenantId: string, period: string): Promise<Usage>;
  /** A page of the audit log, newest first. */
  audit(query: AuditQuery): Promise<readonly AuditEntry[]>;
  /**
   * The events of a tenant that someone listens to; see the write `listen`. They
   * are kept by the commits that bring them about: none is shown that was rolled
   * back, and none is missing. Those of a task are in the order of its changes.
   */
  events(query: EventsQuery): Promise<EventPage>;
  /** The ids of tenants that someone listens to, in order, after `afterId`. */
  listeners(limit: number, afterId?: string): Promise<readonly string[]>;
}

/** A query for records. */
export interface RecordQuery {
  /** The kind of the records. */
  readonly kind: RecordKind;
  /** The tenant. */
  readonly tenantId: string;
  /** Only records that belong to this record. */
  readonly parentId?: string | undefined;
  /** The most records of the page. */
  readonly limit: number;
  /** Only records after this id. */
  readonly afterId?: string | undefined;
}

/** A page of records. */
export interface RecordPage {
  /** The records, in the order of their ids. */
  readonly records: readonly StoredRecord[];
  /** Whether more records follow. */
  readonly hasMore: boolean;
}

/** Writes that are applied together or not at all. */
export interface Transaction {
  /** The writes, in the order in which they are applied. */
  readonly writes: readonly Write[];
}

/** A single write of a transaction. */
export type Write =
  /** Inserts, changes or removes a task and adds to its history. */
  | {
    readonly kind: "task";
    readonly tenantId: string;
    readonly id: string;
    /** The version that the task must have; 0 when it must not exist. */
    readonly expectedVersion: number;
    /**
     * The task after the write; undefined removes it with its history. Its
     * version may be any: a copy of a task begins with that of the task, and
     * keeps it while the rest of a long history follows.
     */
    readonly next: Task | undefined;
    /** The records to add. */
    readonly history: readonly HistoryRecord[];
    /**
     * The number of the last record to drop; `next.historyFolded` names that
     * record. The store returns its hash as the `prev` of the first record that
     * is left.
     */
    readonly foldThrough?: number | undefined;
  }
  /** Inserts, changes or removes a record. */
  | {
    readonly kind: "record";
    readonly recordKind: RecordKind;
    readonly tenantId: string;
    readonly id: string;
    /** The version that the record must have; 0 when it must not exist. */
    readonly expectedVersion: number;
    /** The record after the write; undefined removes it. */
    readonly next: StoredRecord | undefined;
  }
  /** Requires that a record exists, such as the worker of a new task. */
  | {
    readonly kind: "require";
    readonly recordKind: RecordKind;
    readonly tenantId: string;
    readonly id: string;
  }
  /**
   * Requires that a tenant's plan has room: conflicts when the live tasks that
   * the tenant had before the transaction, and what this write and those of its
   * kind before it in the transaction add, are more than the limit. The count
   * is exact over all instances. Only tasks of plans with a limit come with
   * such a write, so that no other tenant pays for an exact count.
   */
  | {
    readonly kind: "quota";
    readonly tenantId: string;
    /** How many tasks become live. */
    readonly adds: number;
    /** The most tasks that are not final. */
    readonly limit: number;
  }
  /** Stores an answer; conflicts when the key is taken and has not expired. */
  | {
    readonly kind: "idempotency";
    readonly tenantId: string;
    readonly key: string;
    readonly entry: IdempotencyEntry;
    /**
     * Whether the entry replaces one with the same key, which otherwise
     * conflicts.
     *
     * @default {false}
     */
    readonly replaces?: boolean;
  }
  /** Adds an entry to the audit log. */
  | {
    readonly kind: "audit";
    readonly tenantId: string;
    readonly entry: Omit<AuditEntry, "number">;
    /**
     * The entry's number, if it comes from another store; nothing is written
     * when the log has an entry with that number.
     *
     * @default {one more than that of the last entry}
     */
    readonly number?: number | undefined;
  }
  /** Adds to the usage counts. */
  | {
    readonly kind: "usage";
    readonly tenantId: string;
    readonly period: string;
    readonly executions: number;
  }
  /**
   * Counts a start for a rate; only in a claim whose limits cover the rate, so
   * that the starts of a rate are written one claim after the other.
   */
  | {
    readonly kind: "start";
    readonly tenantId: string;
    /** The worker; empty for the workers that share the limits of groups. */
    readonly workerId: string;
    /** The group whose rate it is; empty for the rate of all the worker's tasks. */
    readonly group: string;
    /** When the task is started, in milliseconds since the epoch. */
    readonly atMs: number;
    /** From when on it counts no longer, so that it may be removed. */
    readonly expiresAtMs: number;
    /**
     * How many starts there were.
     *
     * @default {1}
     */
    readonly count?: number;
  }
  /** Adds to the activity of a span of time. */
  | {
    readonly kind: "activity";
    readonly tenantId: string;
    /** Whose activity it is. */
    readonly series: ActivitySeries;
    /** The length of the span, in milliseconds. */
    readonly stepMs: number;
    /** When the span begins. */
    readonly atMs: number;
    /** From when on it may be removed; of several writes, the latest. */
    readonly expiresAtMs: number;
    /** What is added; the latest beginning is replaced by a later one. */
    readonly counts: ActivityCounts;
  }
  /**
   * Has the events of a tenant kept for those who listen, at least until an
   * instant. Without such a write, events of the tenant are not kept. With the
   * instant 0 they no longer are.
   */
  | {
    readonly kind: "listen";
    readonly tenantId: string;
    /** Until when, in milliseconds since the epoch. */
    readonly untilMs: number;
  }
  /** Adds an event of the engine's own, if someone listens to the tenant. */
  | {
    readonly kind: "event";
    readonly tenantId: string;
    /** The type, such as `worker.stale`. */
    readonly type: string;
    /** When it happened, in milliseconds since the epoch. */
    readonly atMs: number;
    /** Its data, as JSON text. */
    readonly text: string;
  }
  /**
   * Removes a request from the inbox; conflicts when it is not there, as another
   * instance has taken it over. Only for a store that has an inbox.
   */
  | {
    readonly kind: "request";
    readonly tenantId: string;
    /** The request's number. */
    readonly number: number;
  };

/** The outcome of a transaction. */
export type TransactionResult =
  | { readonly kind: "ok" }
  | {
    readonly kind: "conflict";
    /** The index of the write that conflicts. */
    readonly write: number;
    /**
     * `version`: the task or record has another version by now, exists already
     * or no longer exists; `key`: another live task of the worker has the key;
     * `alias`: another record has the alias; `missing`: a required record, or a
     * request, was not found; `quota`: the plan has no room; `idempotency`: the
     * key is taken.
     */
    readonly reason:
      | "version"
      | "key"
      | "alias"
      | "missing"
      | "quota"
      | "idempotency";
  };

/** How many tasks are in each status; statuses without tasks are left out. */
export type StatusCounts = Readonly<Partial<Record<TaskStatus, number>>>;

/** How many tasks of a group are running at a worker. */
export interface RunningGroup {
  /** The worker. */
  readonly workerId: string;
  /** The group. */
  readonly group: string;
  /** How many of its tasks are running. */
  readonly count: number;
}

/** Starts that were counted for a rate. */
export interface CountedStarts {
  /** The number of the entry, which rises with each that is written later. */
  readonly number: number;
  /** The group whose rate it is; empty for the rate of all the worker's tasks. */
  readonly group: string;
  /** When the tasks were started, in milliseconds since the epoch. */
  readonly atMs: number;
  /** How many tasks were started. */
  readonly count: number;
}

/** Starts that were counted for the rates of a worker. */
export interface StartsPage {
  /** The store's time at the moment of reading. */
  readonly nowMs: number;
  /** The starts, in the order of their numbers; some may have expired. */
  readonly starts: readonly CountedStarts[];
}

/** The number of a tenant's tasks, and since when some of them are due. */
export interface TenantQueue {
  /** The tenant. */
  readonly tenantId: string;
  /** How many tasks it has in each status. */
  readonly counts: StatusCounts;
  /**
   * The earliest date of the tasks that may be taken; undefined without such
   * tasks.
   */
  readonly dueSinceMs: number | undefined;
}

/** The usage counts of a tenant in a period. */
export interface Usage {
  /** How many attempts were started. */
  readonly executions: number;
}
