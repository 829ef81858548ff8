/**
 * The port to the store of the tasks service.
 *
 * A store keeps values, compares versions and finds things; it decides nothing.
 * Writes that belong together form a transaction, which is applied as a whole or not
 * at all; there are no callbacks and no open transactions, so a group commit and a
 * script in a cluster both fit. All writes of a transaction belong to one tenant,
 * except those of the registry of tenants.
 *
 * @module
 */

import type { HistoryRecord } from "../domain/history.ts";
import type { RunningCounts } from "../domain/records.ts";
import type { Task, TaskStatus } from "../domain/task.ts";
import type {
  AuditQuery,
  Claim,
  CountsQuery,
  DependentsQuery,
  DueWorkersQuery,
  HistoryPage,
  HistoryQuery,
  ScanPage,
  ScanQuery,
  TaskKey,
  TaskPage,
  TaskQuery,
  WorkerName,
} from "./queries.ts";

/**
 * Keeps everything. Methods that read see every commit that was answered.
 *
 * All methods are the object's own properties and need no `this`, so that
 * `{ ...store, commit }` is the same store with another commit.
 */
export interface Store extends TaskStore, RecordStore, Ledger {
  /**
   * Opens it; migrates what an earlier version wrote.
   *
   * @throws {Error} when it cannot be opened or is of a later version
   */
  start(): Promise<void>;
  /** Finishes the commits under way and closes it. */
  stop(): Promise<void>;

  /**
   * Resolves when it can be read and, as far as is known, written.
   *
   * @throws {StoreFailedError} when it cannot
   */
  check(): Promise<void>;

  /**
   * Applies transactions, each as a whole or not at all, and answers after all of them
   * are durable. Those of one tenant, also of commits one after the other, are
   * applied in the order given; those of several in any order, so that none waits
   * for all that another has sent. A transaction counts as of the tenant of its first
   * write.
   *
   * @throws {TypeError} when an instant of a task is not in whole milliseconds;
   * nothing was written
   * @throws {StoreBusyError} when too much waits to be written; nothing was
   * @throws {StoreFailedError} when the store fails; whether it was written is
   * unknown
   */
  commit(
    transactions: readonly Transaction[],
  ): Promise<readonly TransactionResult[]>;

  /**
   * Removes what has outlived its time (idempotency entries, histories of removed
   * tasks), at most `limit` of it.
   *
   * @returns how much it removed
   */
  sweep(nowMs: number, limit: number): Promise<number>;
}

/** Finds tasks. */
interface TaskStore {
  /** A task, if the tenant has one of that id. */
  task(tenantId: string, id: string): Promise<Task | undefined>;
  /** Several tasks, in the order of the ids. */
  tasks(
    tenantId: string,
    ids: readonly string[],
  ): Promise<readonly (Task | undefined)[]>;
  /** The live task of a worker with that key. */
  taskByKey(key: TaskKey): Promise<Task | undefined>;
  /** A page of tasks. */
  listTasks(query: TaskQuery): Promise<TaskPage>;
  /**
   * Ids of live tasks that depend on any of some tasks, at most `limit` after
   * `afterId`.
   */
  dependents(query: DependentsQuery): Promise<readonly string[]>;

  /**
   * Tasks that a worker may take, in the order of rank, groups taking turns.
   * Proposals only: the commit decides.
   */
  candidates(claim: Claim): Promise<readonly Task[]>;
  /** Workers that have tasks that may be taken, at most `limit`, after `after`. */
  workersWithDueTasks(
    query: DueWorkersQuery,
  ): Promise<readonly WorkerName[]>;
  /** Tasks whose time to wake has come, earliest first, at most `limit`. */
  waking(nowMs: number, limit: number): Promise<readonly Task[]>;
  /** The earliest instant at which a task has to be woken. */
  nextWakeMs(): Promise<number | undefined>;
  /** How many running tasks a worker has, in all and in each group that has some. */
  running(tenantId: string, workerId: string): Promise<RunningCounts>;
  /**
   * Tasks of a status across all tenants, for recovery and the reconciler: at most
   * `limit` after `after`. A page may be short, or empty, and have a next one.
   */
  scan(query: ScanQuery): Promise<ScanPage>;
  /** How many tasks a tenant has in each status, of one worker or of all. */
  counts(query: CountsQuery): Promise<StatusCounts>;
  /**
   * What each tenant that has tasks has in its queues. It may take long, but in
   * pieces, each of the state of then.
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

/** Finds records. */
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

/** Reads what is only ever added to: histories, answers, use and audit logs. */
interface Ledger {
  /** A page of a task's history. */
  history(query: HistoryQuery): Promise<HistoryPage>;
  /** What was answered to a request with that key, unless it has expired. */
  idempotency(
    tenantId: string,
    key: string,
    nowMs: number,
  ): Promise<IdempotencyEntry | undefined>;
  /** Counted use of a tenant in a period. */
  usage(tenantId: string, period: string): Promise<Usage>;
  /** A page of the audit log, newest first. */
  audit(query: AuditQuery): Promise<readonly AuditEntry[]>;
}

/**
 * The kinds of records, which are everything but tasks; there are few of them, and
 * they change seldom. A tenant (kept under the tenant id "", its alias is the
 * domain), a reserved domain, a worker, a user, an API key, a worker's credential, a
 * named secret, the secrets of a worker that were replaced recently, a tenant's
 * wrapped data key, a bulk operation, an invitation or a setting of the service
 * itself.
 */
export type RecordKind =
  | "tenant"
  | "reserved_domain"
  | "worker"
  | "user"
  | "key"
  | "credential"
  | "secret"
  | "retired_secrets"
  | "data_key"
  | "operation"
  | "service";

/** A record. */
export interface StoredRecord {
  /** What it is. */
  readonly kind: RecordKind;
  /** The tenant it belongs to; empty for the registry of tenants. */
  readonly tenantId: string;
  /** Unique among the tenant's records of the kind. */
  readonly id: string;
  /** 1 at first, one more with each change. */
  readonly version: number;
  /** A second name, unique among the tenant's records of the kind. */
  readonly alias?: string | undefined;
  /** The record it belongs to, such as the worker of a secret. */
  readonly parentId?: string | undefined;
  /** What it holds, as JSON text. */
  readonly text: string;
}

/** Which records are wanted. */
export interface RecordQuery {
  /** What they are. */
  readonly kind: RecordKind;
  /** The tenant. */
  readonly tenantId: string;
  /** Only those that belong to this record. */
  readonly parentId?: string | undefined;
  /** Most records of the page. */
  readonly limit: number;
  /** Only records after this id. */
  readonly afterId?: string | undefined;
}

/** A page of records. */
export interface RecordPage {
  /** The records, by id. */
  readonly records: readonly StoredRecord[];
  /** Whether there are more. */
  readonly hasMore: boolean;
}

/** Writes that are applied together or not at all. */
export interface Transaction {
  /** The writes, in their order. */
  readonly writes: readonly Write[];
}

/** One write of a transaction. */
export type Write =
  /** Inserts, changes or removes a task and adds to its history. */
  | {
    readonly kind: "task";
    readonly tenantId: string;
    readonly id: string;
    /** The version that is expected; 0 when there must be none. */
    readonly expectedVersion: number;
    /** The task as it is to be; undefined removes it with its history. */
    readonly next: Task | undefined;
    /** Records to add. */
    readonly history: readonly HistoryRecord[];
    /**
     * The number of the last record to drop; `next.historyFolded` is that one.
     * The store gives its hash as what the first one that is left follows.
     */
    readonly foldThrough?: number | undefined;
  }
  /** Inserts, changes or removes a record. */
  | {
    readonly kind: "record";
    readonly recordKind: RecordKind;
    readonly tenantId: string;
    readonly id: string;
    /** The version that is expected; 0 when there must be none. */
    readonly expectedVersion: number;
    /** The record as it is to be; undefined removes it. */
    readonly next: StoredRecord | undefined;
  }
  /** Requires that a record exists, as a worker that a new task names. */
  | {
    readonly kind: "require";
    readonly recordKind: RecordKind;
    readonly tenantId: string;
    readonly id: string;
  }
  /** Keeps an answer; conflicts when the key is taken and has not expired. */
  | {
    readonly kind: "idempotency";
    readonly tenantId: string;
    readonly key: string;
    readonly entry: IdempotencyEntry;
    /**
     * Whether it replaces an entry with the same key, so that nothing conflicts.
     * @default {false}
     */
    readonly replaces?: boolean;
  }
  /** Adds to the audit log. */
  | {
    readonly kind: "audit";
    readonly tenantId: string;
    readonly entry: Omit<AuditEntry, "number">;
  }
  /** Counts use. */
  | {
    readonly kind: "usage";
    readonly tenantId: string;
    readonly period: string;
    readonly executions: number;
  };

/** The outcome of a transaction. */
export type TransactionResult =
  | { readonly kind: "ok" }
  | {
    readonly kind: "conflict";
    /** The index of the write that conflicts. */
    readonly write: number;
    /**
     * `version`: the task or record has another version by now, exists already or
     * no longer exists; `key`: another live task of the worker has the key; `alias`:
     * another record has the alias; `missing`: a required record was not found;
     * `idempotency`: the key is taken.
     */
    readonly reason: "version" | "key" | "alias" | "missing" | "idempotency";
  };

/** How many tasks are in each status that has some. */
export type StatusCounts = Readonly<Partial<Record<TaskStatus, number>>>;

/** What a tenant has in its queues. */
export interface TenantQueue {
  /** The tenant. */
  readonly tenantId: string;
  /** How many tasks it has in each status. */
  readonly counts: StatusCounts;
  /** The earliest date of its tasks that may be taken; absent without any. */
  readonly dueSinceMs: number | undefined;
}

/** An answer that was given to a request with a key. */
export interface IdempotencyEntry {
  /** SHA-256 of the request's body. */
  readonly bodyHash: string;
  /** The status of the answer. */
  readonly status: number;
  /** Headers worth repeating. */
  readonly headers: Readonly<Record<string, string>>;
  /** The answer's body. */
  readonly body: string;
  /** When it may be forgotten. */
  readonly expiresAtMs: number;
}

/** Counted use of a tenant in a period. */
export interface Usage {
  /** Attempts that were started. */
  readonly executions: number;
}

/** A line of the audit log. */
export interface AuditEntry {
  /** Rising within the tenant. */
  readonly number: number;
  /** When. */
  readonly atMs: number;
  /** What was done, such as `worker.created`. */
  readonly action: string;
  /** Who did it, to what, and details, as JSON text. */
  readonly text: string;
}

/** Too much waits to be written; try again later. */
export class StoreBusyError extends Error {
  /** The name of the class. */
  override readonly name = "StoreBusyError";
  /** After how many milliseconds to try again. */
  readonly retryAfterMs: number;

  /** An error that asks for another try after `retryAfterMs` milliseconds. */
  constructor(retryAfterMs: number) {
    super("Cannot write: too much waits to be written already");
    this.retryAfterMs = retryAfterMs;
  }
}
