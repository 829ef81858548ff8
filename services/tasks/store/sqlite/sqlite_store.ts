/**
 * The store of the service in production, on an embedded SQLite database. Reads
 * run on the calling thread, writes on a thread of their own.
 *
 * @module
 */

import type { DatabaseSync } from "node:sqlite";
import type { Clock } from "../../../shared/clock.ts";
import type { Logger } from "../../../shared/logger.ts";
import { OwnMembers } from "../../../shared/instance_store.ts";
import {
  type FolderLock,
  lockFolder,
} from "../../../shared/sqlite/folder_lock.ts";
import { toStoreError } from "../../../shared/sqlite/sqlite_error.ts";
import { StoreFailedError } from "../../../shared/store_failed.ts";
import { StoreMovedError } from "../moved.ts";
import type { Store } from "../store.ts";
import {
  databasePath,
  type Durability,
  fileLength,
  LOCK_FILE,
  openReading,
} from "./database_file.ts";
import { CandidateReads } from "./candidate_reads.ts";
import type { WrittenGroup } from "../../../shared/commit_queue.ts";
import { EventReads } from "./event_log.ts";
import { FileShrinker } from "./file_shrinker.ts";
import { InternedIds } from "./interned_ids.ts";
import { KeptReads } from "./kept_reads.ts";
import { ListReads } from "./list_reads.ts";
import { HistoryReads, RecordReads } from "./record_reads.ts";
import { findMoved, type Moved } from "./moved_mark.ts";
import { Reader } from "./reader.ts";
import { withRows } from "./row_reads.ts";
import { StatusReads, TaskReads } from "./task_reads.ts";
import { PayloadCache, TaskDecoder } from "./task_row.ts";
import { inOnePiece, type PiecewiseRead, ReadTurns } from "./read_turns.ts";
import { proveCounts } from "./task_counts.ts";
import { startWriterThread, TransactionWriter, Writer } from "./writer.ts";

/** Options of {@linkcode SqliteStore}. */
interface SqliteStoreOptions {
  /** The folder of the database; it must exist. */
  readonly dataFolder: string;
  /** The clock. */
  readonly clock: Clock;
  /** Logs failures that no answer reports. */
  readonly logger: Logger;
  /**
   * Whether a commit waits for the disk. A relaxed commit is lost when the
   * machine fails a moment later, though not when only the process does.
   *
   * @default {"full"}
   */
  readonly durability?: Durability;
  /**
   * The most rows that wait to be written; commits beyond that are refused.
   *
   * @default {200000}
   */
  readonly maxQueuedRows?: number;
  /**
   * The most megabytes, of a million characters each, that wait to be written.
   *
   * @default {128}
   */
  readonly maxQueuedMegabytes?: number;
  /**
   * Called with the milliseconds that a batch of a tenant waited until it was
   * on disk; the tenant id is empty for records that belong to no tenant.
   *
   * @default {() => {}}
   */
  readonly onWritten?: (tenantId: string, waitedMs: number) => void;
  /**
   * Called with each group of commits after it was written, or its write
   * failed.
   *
   * @default {() => {}}
   */
  readonly onGroup?: (group: WrittenGroup) => void;
  /**
   * Called when a commit is refused because too much waits to be written.
   *
   * @default {() => {}}
   */
  readonly onRefused?: () => void;
  /**
   * Starts the thread that writes.
   *
   * @default {startWriterThread}
   */
  readonly startThread?: () => Worker;
}

/** The parts that exist between start and stop. */
interface Opened {
  readonly lock: FolderLock;
  readonly writer: Writer;
  readonly reads: StoreReads;
  readonly turns: ReadTurns;
  readonly commits: TransactionWriter;
  readonly shrinker: FileShrinker;
}

const MEGABYTE = 1_000_000;

/** A store in a data folder; only one store can use a folder at a time. */
export class SqliteStore implements Store {
  /** The machine's clock. */
  readonly clock: Clock;
  /** False: the time is the machine's. */
  readonly hasOwnTime = false;
  readonly #options: SqliteStoreOptions;
  #opened: Opened | undefined;
  readonly #members: OwnMembers;
  /** Set once the rows have moved: also what is read is out of date then. */
  #moved: StoreMovedError | undefined;

  /** Creates the store without opening it. */
  constructor(options: SqliteStoreOptions) {
    this.#options = options;
    this.clock = options.clock;
    this.#members = new OwnMembers(options.clock);
  }

  start: Store["start"] = async () => {
    if (this.#opened !== undefined) return;
    const { dataFolder } = this.#options;
    const lock = lockFolder(dataFolder, LOCK_FILE);
    try {
      demandNotMoved(databasePath(dataFolder));
      this.#opened = await this.#open(lock);
    } catch (error) {
      lock.release();
      throw error;
    }
  };

  stop: Store["stop"] = async () => {
    const opened = this.#opened;
    this.#opened = undefined;
    if (opened === undefined) return;
    const { lock, writer, reads, turns, commits, shrinker } = opened;
    try {
      turns.close();
      await shrinker.stop();
      await commits.idle();
      reads.close();
      // The last connection that is closed moves the whole log to the file.
      await writer.close();
    } finally {
      lock.release();
    }
  };

  check: Store["check"] = () =>
    this.#write(async ({ reads, writer }) => {
      reads.tasks.nextWakeMs();
      await writer.check();
      return undefined;
    });

  commit: Store["commit"] = (...of) =>
    this.#write(({ commits }) => commits.commit(...of));

  claim: Store["claim"] = async (_scope, decide) => {
    // The only instance has one round a worker at a time, and the folder.
    const transactions = await decide(this);
    return transactions.length === 0 ? [] : await this.commit(transactions);
  };

  // One instance has the folder, as its lock says: it is the only member, and
  // has no other to tell anything.

  beat: Store["beat"] = (beat) =>
    this.#ask((reads) => {
      // A service that writes nothing has to learn of it as well.
      this.#demandThere(reads);
      return this.#members.beat(beat);
    });

  leave: Store["leave"] = (id) => {
    this.#members.leave(id);
    return Promise.resolve();
  };

  tell: Store["tell"] = () => {};
  onNotice: Store["onNotice"] = () => () => {};
  mayEndLeases: Store["mayEndLeases"] = () => true;

  sweep: Store["sweep"] = (nowMs, limit) =>
    this.#write(async ({ writer }) => {
      const [removed = 0] = await writer.ask({ kind: "sweep", nowMs, limit });
      return removed;
    });

  trimAudit: Store["trimAudit"] = (trim) =>
    this.#write(async ({ reads, writer }) => {
      // Nothing is written when nothing is old, which is most often so.
      const tenant = reads.records.tenantToTrim(trim);
      if (tenant === undefined) return 0;
      const { beforeMs, limit } = trim;
      const [removed = 0] = await writer.ask({
        kind: "trim_audit",
        ...{ tenant, beforeMs, limit },
      });
      return removed;
    });

  proveCounts: Store["proveCounts"] = () =>
    this.#write(async ({ turns, writer }) => {
      const path = databasePath(this.#options.dataFolder);
      const faults = await turns.run("", proveCounts(path));
      if (faults.length > 0) {
        await writer.ask({ kind: "repair_counts", faults });
      }
      return faults.length;
    });

  // Short reads are answered at once.

  task: Store["task"] = (...of) => this.#ask(({ tasks }) => tasks.task(...of));
  tasks: Store["tasks"] = (...of) =>
    this.#ask(({ tasks }) => tasks.tasks(...of));
  taskByKey: Store["taskByKey"] = (key) =>
    this.#ask(({ tasks }) => tasks.byKey(key));
  dependents: Store["dependents"] = (query) =>
    this.#ask(({ tasks }) => tasks.dependents(query));
  waking: Store["waking"] = (...of) =>
    this.#ask(({ tasks }) => tasks.waking(...of));
  wakingOfOthers: Store["wakingOfOthers"] = (query) =>
    this.#ask(({ tasks }) => tasks.wakingOfOthers(query));
  nextWakeMs: Store["nextWakeMs"] = (...of) =>
    this.#ask(({ tasks }) => tasks.nextWakeMs(...of));
  running: Store["running"] = (...of) =>
    this.#ask(({ tasks }) => tasks.running(...of));
  runningGroups: Store["runningGroups"] = (tenantId) =>
    this.#ask(({ tasks }) => tasks.runningGroups(tenantId));
  counts: Store["counts"] = (query) =>
    this.#ask(({ statuses }) => statuses.counts(query));
  candidates: Store["candidates"] = (claim) =>
    this.#ask(({ candidates }) => candidates.candidates(claim));
  workersWithDueTasks: Store["workersWithDueTasks"] = (query) =>
    this.#ask(({ candidates }) => candidates.workers(query));
  record: Store["record"] = (...of) =>
    this.#ask(({ records }) => records.record(...of));
  recordByAlias: Store["recordByAlias"] = (...of) =>
    this.#ask(({ records }) => records.byAlias(...of));
  idempotency: Store["idempotency"] = (...of) =>
    this.#ask(({ records }) => records.idempotency(...of));
  usage: Store["usage"] = (...of) =>
    this.#ask(({ records }) => records.usage(...of));
  starts: Store["starts"] = (query) =>
    this.#ask(({ records }) => ({
      nowMs: this.clock.nowMs(),
      starts: records.starts(query),
    }));
  audit: Store["audit"] = (query) =>
    this.#ask(({ records }) => records.audit(query));
  events: Store["events"] = (query) =>
    this.#ask(({ events }) => events.page(query));
  listeners: Store["listeners"] = (...of) =>
    this.#ask(({ events }) => events.listeners(...of));
  activity: Store["activity"] = (query) =>
    this.#ask(({ kept }) => kept.activity(query));
  failingTasks: Store["failingTasks"] = (query) =>
    this.#ask(({ kept }) => kept.failingTasks(query));

  // A state that is held needs a connection of its own.

  snapshot: Store["snapshot"] = (read) =>
    this.#use(() => withRows(databasePath(this.#options.dataFolder), read));

  // Reads that may take long take turns, tenant by tenant.

  listTasks: Store["listTasks"] = (query) =>
    this.#read(query.tenantId, ({ lists }) => lists.page(query));
  tenantQueues: Store["tenantQueues"] = () =>
    this.#read("", ({ statuses }) => statuses.queues());
  history: Store["history"] = (query) =>
    this.#read(query.tenantId, ({ histories }) => histories.page(query));
  topCounts: Store["topCounts"] = (query) =>
    this.#read(query.tenantId, ({ kept }) => kept.topCounts(query));
  lateTasks: Store["lateTasks"] = (query) =>
    this.#read(query.tenantId, ({ kept }) => kept.lateTasks(query));
  scan: Store["scan"] = (query) =>
    this.#read("", ({ statuses }) => inOnePiece(() => statuses.scan(query)));
  records: Store["records"] = (query) =>
    this.#read(
      query.tenantId,
      ({ records }) => inOnePiece(() => records.page(query)),
    );

  async #open(lock: FolderLock): Promise<Opened> {
    const {
      dataFolder,
      clock,
      logger,
      durability = "full",
      startThread = startWriterThread,
      maxQueuedRows = 200_000,
      maxQueuedMegabytes = 128,
      onWritten = () => {},
      onGroup,
      onRefused,
    } = this.#options;
    const path = databasePath(dataFolder);
    const nowMs = () => clock.nowMs();
    const writer = new Writer({
      path,
      durability,
      logger,
      nowMs,
      startThread,
    });
    await writer.open();
    try {
      const reads = new StoreReads(openReading(path));
      const commits = new TransactionWriter({
        writer,
        interned: reads.interned,
        payloads: reads.payloads,
        nowMs,
        maxQueuedRows,
        maxQueuedChars: maxQueuedMegabytes * MEGABYTE,
        onWritten,
        onGroup,
        onRefused,
      });
      const turns = new ReadTurns({ monotonicMs: () => performance.now() });
      const shrinker = new FileShrinker({ writer, clock, logger });
      shrinker.start();
      return { lock, writer, reads, turns, commits, shrinker };
    } catch (error) {
      await writer.close();
      throw error;
    }
  }

  #ask<Answer>(ask: (reads: StoreReads) => Answer): Promise<Answer> {
    return this.#use(({ reads }) => ask(reads));
  }

  /** Runs a read in turns, on behalf of a tenant. */
  #read<Answer>(
    tenantId: string,
    ask: (reads: StoreReads) => PiecewiseRead<Answer>,
  ): Promise<Answer> {
    return this.#use(({ reads, turns }) => turns.run(tenantId, ask(reads)));
  }

  /** Demands that the rows have not moved to another store. */
  #demandThere(reads: StoreReads): void {
    const moved = reads.findMoved();
    if (moved === undefined) return;
    this.#moved ??= new StoreMovedError(moved.to);
    throw this.#moved;
  }

  /** Calls `write`; an error may come from data that has moved. */
  #write<Answer>(
    write: (opened: Opened) => Promise<Answer>,
  ): Promise<Answer> {
    return this.#use((opened) =>
      write(opened).catch((error) => {
        if (error instanceof StoreFailedError) this.#demandThere(opened.reads);
        throw error;
      })
    );
  }

  /** Calls `use` with the open parts; every error becomes a rejection. */
  #use<Answer>(
    use: (opened: Opened) => Answer | Promise<Answer>,
  ): Promise<Answer> {
    const opened = this.#opened;
    try {
      if (opened === undefined) {
        throw new Error("Cannot use the store: it is not started");
      }
      if (this.#moved !== undefined) throw this.#moved;
      return Promise.resolve(use(opened));
    } catch (error) {
      return Promise.reject(toStoreError(error));
    }
  }
}

/**
 * Demands that the rows of a database have not moved to another store.
 *
 * @throws {Error} when they have
 */
function demandNotMoved(path: string): void {
  if (fileLength(path) === undefined) return;
  const db = openReading(path);
  try {
    const moved = findMoved((sql) => db.prepare(sql).get());
    if (moved === undefined) return;
    throw new Error(
      `Cannot use "${path}": its data has moved to ${moved.to}; start the ` +
        "service with STORE=postgres and that database",
    );
  } finally {
    db.close();
  }
}

/** The most characters of long payloads that are cached. */
const MAX_CACHED_CHARS = 16_000_000;

/** All readers, which share a connection. */
export class StoreReads {
  /** The numbers of tenants and of workers' queues. */
  readonly interned: InternedIds;
  /** The cache of long payloads that are in the database. */
  readonly payloads: PayloadCache = new PayloadCache(MAX_CACHED_CHARS);
  /** Reads tasks by ids, keys and instants. */
  readonly tasks: TaskReads;
  /** Reads lists of tasks. */
  readonly lists: ListReads;
  /** Finds tasks for claims. */
  readonly candidates: CandidateReads;
  /** Counts and scans tasks by status. */
  readonly statuses: StatusReads;
  /** Reads histories. */
  readonly histories: HistoryReads;
  /** Reads records, idempotency answers, usage counts and audit logs. */
  readonly records: RecordReads;
  /** Reads events. */
  readonly events: EventReads;
  /** Reads what is counted as tasks change. */
  readonly kept: KeptReads;
  readonly #reader: Reader;

  /** Takes a connection, which {@linkcode close} closes. */
  constructor(
    db: DatabaseSync,
    monotonicMs: () => number = () => performance.now(),
  ) {
    const reader = new Reader(db);
    const interned = new InternedIds(reader);
    const decoder = new TaskDecoder(reader, this.payloads);
    const tasks = new TaskReads({ reader, interned, decoder });
    const parts = { reader, interned, tasks, monotonicMs };
    this.#reader = reader;
    this.interned = interned;
    this.tasks = tasks;
    this.lists = new ListReads(parts);
    this.candidates = new CandidateReads(parts);
    this.statuses = new StatusReads(parts);
    this.histories = new HistoryReads(parts);
    this.records = new RecordReads(parts);
    this.events = new EventReads(parts);
    this.kept = new KeptReads(parts);
  }

  /** Where the rows have moved, if they have. */
  findMoved(): Moved | undefined {
    return findMoved((sql) => this.#reader.row(sql));
  }

  /** Closes the connection. */
  close(): void {
    this.#reader.close();
  }
}
