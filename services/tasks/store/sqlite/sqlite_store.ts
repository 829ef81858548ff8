/**
 * The store on an embedded database.
 *
 * @module
 */

import { setImmediate } from "node:timers";
import type { Clock } from "../../../shared/clock.ts";
import type { Logger } from "../../../shared/logger.ts";
import {
  type FolderLock,
  lockFolder,
} from "../../../shared/sqlite/folder_lock.ts";
import { storeErrorOf } from "../../../shared/sqlite/sqlite_error.ts";
import type { Task, TaskStatus } from "../../domain/task.ts";
import type { ProofKey } from "../../secrets/master_keys.ts";
import type {
  HistoryPage,
  HistoryQuery,
  TaskPage,
  TaskQuery,
} from "../queries.ts";
import type {
  RecordKind,
  RecordPage,
  RecordQuery,
  StoredRecord,
} from "../record.ts";
import type {
  AuditEntry,
  Claim,
  IdempotencyEntry,
  RunningCounts,
  ScanPage,
  ScanPosition,
  Store,
  Transaction,
  TransactionResult,
  Usage,
  WatchedStatus,
  WorkerPosition,
} from "../store.ts";
import {
  databasePath,
  type Durability,
  LOCK_FILE,
  openReading,
} from "./database_file.ts";
import { inOnePiece, type PiecewiseRead, ReadTurns } from "./read_turns.ts";
import { StoreReads } from "./store_reads.ts";
import { StoreWrites, type StoreWritesOptions } from "./store_writes.ts";
import { proveCounts } from "./task_counts.ts";
import { startOwnThread, type StartThread } from "./thread.ts";
import { LogKeeper } from "./wal_checkpointer.ts";
import { Writer } from "./writer.ts";

/** Options of {@linkcode createSqliteStore}. */
export interface SqliteStoreOptions {
  /** The folder of the database; it must be there. */
  readonly dataFolder: string;
  /** Tells the time and sets timers. */
  readonly clock: Clock;
  /** Hears of what goes wrong beside the answers. */
  readonly logger: Logger;
  /**
   * Whether a commit waits for the disk. A relaxed one is lost when the machine
   * fails within a moment, though not when the process does.
   *
   * @default {"full"}
   */
  readonly durability?: Durability;
  /**
   * Keys of the MACs of what the database holds, the one that seals first.
   *
   * @default none: nothing is sealed
   */
  readonly proofKeys?: readonly ProofKey[];
  /**
   * Most rows that wait to be written; more of them are refused.
   *
   * @default {200000}
   */
  readonly maxQueuedRows?: number;
  /**
   * Most megabytes, of about a million characters each, that wait to be written.
   *
   * @default {128}
   */
  readonly maxQueuedMegabytes?: number;
  /**
   * Hears how many milliseconds something of a tenant, or of none, waited until
   * it was on disk.
   *
   * @default nothing does
   */
  readonly onWritten?: (tenantId: string, waitedMs: number) => void;
  /**
   * Starts the store's threads.
   *
   * @default {startOwnThread}
   */
  readonly startThread?: StartThread;
}

/** Makes a store in a data folder; only one store can use a folder at a time. */
export function createSqliteStore(options: SqliteStoreOptions): Store {
  return new SqliteStore(options);
}

/** What is open between start and stop. */
interface Opened {
  readonly lock: FolderLock;
  readonly writer: Writer;
  readonly reads: StoreReads;
  readonly turns: ReadTurns;
  readonly writes: StoreWrites;
  readonly keeper: LogKeeper;
}

const MEGABYTE = 1_000_000;
const MOVE_FROM_BYTES = 8 * MEGABYTE;
const RESTART_FROM_BYTES = 64 * MEGABYTE;
const TRUNCATE_FROM_BYTES = 512 * MEGABYTE;

class SqliteStore implements Store {
  readonly #options: SqliteStoreOptions;
  #opened: Opened | undefined;

  constructor(options: SqliteStoreOptions) {
    this.#options = options;
  }

  async start(): Promise<void> {
    if (this.#opened !== undefined) return;
    const lock = lockFolder(this.#options.dataFolder, LOCK_FILE);
    try {
      this.#opened = await this.#open(lock);
    } catch (error) {
      lock.release();
      throw error;
    }
  }

  async stop(): Promise<void> {
    const opened = this.#opened;
    this.#opened = undefined;
    if (opened === undefined) return;
    const { lock, writer, reads, turns, writes, keeper } = opened;
    try {
      turns.close();
      await writes.finish();
      await keeper.stop();
      reads.close();
      // The last connection that closes moves the whole log to the file.
      await writer.close();
    } finally {
      lock.release();
    }
  }

  check(): Promise<void> {
    return this.#use(({ reads, writes }) => {
      reads.tasks.nextWakeMs();
      return writes.check();
    });
  }

  commit(
    transactions: readonly Transaction[],
  ): Promise<readonly TransactionResult[]> {
    return this.#use(({ writes }) => writes.commit(transactions));
  }

  task(tenantId: string, id: string): Promise<Task | undefined> {
    return this.#ask(({ tasks }) => tasks.task(tenantId, id));
  }

  tasks(
    tenantId: string,
    ids: readonly string[],
  ): Promise<readonly (Task | undefined)[]> {
    return this.#ask(({ tasks }) => tasks.tasks(tenantId, ids));
  }

  taskByKey(
    options: {
      readonly tenantId: string;
      readonly workerId: string;
      readonly key: string;
    },
  ): Promise<Task | undefined> {
    return this.#ask(({ tasks }) => tasks.byKey(options));
  }

  listTasks(query: TaskQuery): Promise<TaskPage> {
    return this.#read(query.tenantId, ({ lists }) => lists.page(query));
  }

  history(query: HistoryQuery): Promise<HistoryPage> {
    return this.#read(
      query.tenantId,
      ({ histories }) => histories.page(query),
    );
  }

  dependents(
    options: {
      readonly tenantId: string;
      readonly ids: readonly string[];
      readonly limit: number;
      readonly afterId?: string;
    },
  ): Promise<readonly string[]> {
    return this.#ask(({ tasks }) => tasks.dependents(options));
  }

  candidates(claims: readonly Claim[]): Promise<readonly (readonly Task[])[]> {
    return this.#ask(({ candidates }) => candidates.candidates(claims));
  }

  workersWithDueTasks(
    options: { readonly limit: number; readonly after?: WorkerPosition },
  ): Promise<readonly WorkerPosition[]> {
    const { limit, after } = options;
    return this.#ask(({ candidates }) => candidates.workers(limit, after));
  }

  waking(nowMs: number, limit: number): Promise<readonly Task[]> {
    return this.#ask(({ tasks }) => tasks.waking(nowMs, limit));
  }

  nextWakeMs(): Promise<number | undefined> {
    return this.#ask(({ tasks }) => tasks.nextWakeMs());
  }

  running(tenantId: string, workerId: string): Promise<RunningCounts> {
    return this.#ask(({ tasks }) => tasks.running(tenantId, workerId));
  }

  scan(
    options: {
      readonly status: WatchedStatus;
      readonly limit: number;
      readonly after?: ScanPosition;
    },
  ): Promise<ScanPage> {
    return this.#read(
      "",
      ({ statuses }) => inOnePiece(() => statuses.scan(options)),
    );
  }

  counts(
    options: { readonly tenantId: string; readonly workerId?: string },
  ): Promise<Readonly<Partial<Record<TaskStatus, number>>>> {
    return this.#ask(({ statuses }) => statuses.counts(options));
  }

  proveCounts(): Promise<number> {
    return this.#use(async ({ turns, writer }) => {
      const faults = await turns.run("", proveCounts(this.#path));
      if (faults.length > 0) {
        await writer.ask({ kind: "repair_counts", faults });
      }
      return faults.length;
    });
  }

  record(
    kind: RecordKind,
    tenantId: string,
    id: string,
  ): Promise<StoredRecord | undefined> {
    return this.#ask(({ records }) => records.record(kind, tenantId, id));
  }

  recordByAlias(
    kind: RecordKind,
    tenantId: string,
    alias: string,
  ): Promise<StoredRecord | undefined> {
    return this.#ask(({ records }) => records.byAlias(kind, tenantId, alias));
  }

  records(query: RecordQuery): Promise<RecordPage> {
    return this.#read(
      query.tenantId,
      ({ records }) => inOnePiece(() => records.page(query)),
    );
  }

  idempotency(
    tenantId: string,
    key: string,
    nowMs: number,
  ): Promise<IdempotencyEntry | undefined> {
    return this.#ask(({ records }) =>
      records.idempotency(tenantId, key, nowMs)
    );
  }

  usage(tenantId: string, period: string): Promise<Usage> {
    return this.#ask(({ records }) => records.usage(tenantId, period));
  }

  audit(
    options: {
      readonly tenantId: string;
      readonly limit: number;
      readonly before?: number;
    },
  ): Promise<readonly AuditEntry[]> {
    return this.#ask(({ records }) => records.audit(options));
  }

  sweep(nowMs: number, limit: number): Promise<number> {
    return this.#use(({ writes }) => writes.sweep(nowMs, limit));
  }

  get #path(): string {
    return databasePath(this.#options.dataFolder);
  }

  async #open(lock: FolderLock): Promise<Opened> {
    const { clock, logger, durability = "full" } = this.#options;
    const { startThread = startOwnThread, proofKeys = [] } = this.#options;
    const path = this.#path;
    const nowMs = () => clock.nowMs();
    const writer = new Writer({
      path,
      durability,
      logger,
      nowMs,
      proofKeys,
      startThread,
    });
    await writer.open();
    try {
      const reads = new StoreReads(openReading(path));
      const writes = new StoreWrites({ ...this.#writeBounds(), writer, reads });
      const keeper = new LogKeeper({
        path,
        clock,
        logger,
        restartLog: async ({ truncate }) => {
          await writer.ask({ kind: "restart_log", truncate });
        },
        moveFromBytes: MOVE_FROM_BYTES,
        restartFromBytes: RESTART_FROM_BYTES,
        truncateFromBytes: TRUNCATE_FROM_BYTES,
        startThread,
      });
      await keeper.start();
      const turns = new ReadTurns({ monotonicMs: () => performance.now() });
      return { lock, writer, reads, turns, writes, keeper };
    } catch (error) {
      await writer.close();
      throw error;
    }
  }

  #writeBounds(): Pick<
    StoreWritesOptions,
    "nowMs" | "atEndOfTurn" | "maxQueuedRows" | "maxQueuedChars" | "onWritten"
  > {
    const { clock, maxQueuedRows = 200_000, maxQueuedMegabytes = 128 } =
      this.#options;
    return {
      nowMs: () => clock.nowMs(),
      atEndOfTurn: (callback) => void setImmediate(callback),
      maxQueuedRows,
      maxQueuedChars: maxQueuedMegabytes * MEGABYTE,
      onWritten: this.#options.onWritten ?? (() => {}),
    };
  }

  #ask<Answer>(ask: (reads: StoreReads) => Answer): Promise<Answer> {
    return this.#use(({ reads }) => ask(reads));
  }

  /** Asks what may take long, on behalf of a tenant. */
  #read<Answer>(
    tenantId: string,
    ask: (reads: StoreReads) => PiecewiseRead<Answer>,
  ): Promise<Answer> {
    return this.#use(({ reads, turns }) => turns.run(tenantId, ask(reads)));
  }

  /** Whatever goes wrong becomes a rejection. */
  #use<Answer>(
    use: (opened: Opened) => Answer | Promise<Answer>,
  ): Promise<Answer> {
    const opened = this.#opened;
    try {
      if (opened === undefined) {
        throw new Error("Cannot use the store: it is not started");
      }
      return Promise.resolve(use(opened));
    } catch (error) {
      return Promise.reject(storeErrorOf(error));
    }
  }
}
