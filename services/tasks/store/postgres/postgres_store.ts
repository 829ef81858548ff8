/**
 * The store of the service on PostgreSQL, for any number of instances on one
 * database.
 *
 * @module
 */

import type { Clock } from "../../../shared/clock.ts";
import { type Logger, RateLimitedLog } from "../../../shared/logger.ts";
import { Periodic } from "../../../shared/periodic.ts";
import type { DatabaseConnection } from "../../../shared/postgres/connection.ts";
import { storeFailure } from "../../../shared/postgres/failure.ts";
import { migrate } from "../../../shared/postgres/migrations.ts";
import { Notifications } from "../../../shared/postgres/notifications.ts";
import { openPool, type Pool } from "../../../shared/postgres/pool.ts";
import { ReplicationWatch } from "../../../shared/postgres/replication.ts";
import { ServerWatch } from "../../../shared/postgres/server_watch.ts";
import type { Runner } from "../../../shared/postgres/session.ts";
import { StoreTime } from "../../../shared/postgres/store_time.ts";
import { describeError } from "../../../shared/settled.ts";
import { StoreFailedError } from "../../../shared/store_failed.ts";
import { computePlacement } from "../../domain/placement.ts";
import type { Task } from "../../domain/task.ts";
import type { WrittenGroup } from "../commit_queue.ts";
import type { Inbox } from "../inbox.ts";
import type { Notice } from "../instances.ts";
import { type Store, StoreBusyError } from "../store.ts";
import { CandidateReads } from "./candidate_reads.ts";
import { Claims } from "./claims.ts";
import { PostgresInbox } from "./postgres_inbox.ts";
import { type DatabaseHealth, HealthWatch } from "./database_health.ts";
import { DueFloors, type FloorMisses } from "./due_floors.ts";
import { GroupApplier } from "./group_applier.ts";
import { HistoryReads } from "./history_reads.ts";
import { InternedNames } from "./interned_names.ts";
import { KnownTasks } from "./known_tasks.ts";
import { LimitLocks } from "./limit_locks.ts";
import { ListReads } from "./list_reads.ts";
import { MemberRow } from "./member_row.ts";
import type { PreparedTransaction } from "./prepared_write.ts";
import { RecordReads } from "./record_reads.ts";
import { LONG_MS, migrationPlan, schemaSettings } from "./schema_access.ts";
import { RowReads } from "./row_reads.ts";
import { StatusReads } from "./status_reads.ts";
import { TaskReads } from "./task_reads.ts";
import { TransactionWriter } from "./transaction_writer.ts";
import { foldDeltas, proveCounts, sweepExpired, trimAudit } from "./upkeep.ts";
import { WakingReads } from "./waking_reads.ts";

/** Options of {@linkcode PostgresStore}. */
export interface PostgresStoreOptions {
  /** The database. */
  readonly connection: DatabaseConnection;
  /** The schema of the tables; a plain name of a-z, 0-9 and _. */
  readonly schema: string;
  /** The machine's clock, for timers and durations. */
  readonly clock: Clock;
  /** Logs failures that no answer reports. */
  readonly logger: Logger;
  /**
   * When a commit is answered: `replicated` when it is on a synchronous standby
   * as well, and refused without one; `strict` when it is as durable as the
   * server is set up to make it; `relaxed` before it is on disk.
   *
   * @default {"strict"}
   */
  readonly durability?: "strict" | "relaxed" | "replicated";
  /**
   * Whether statements are prepared; false behind PgBouncer in transaction
   * mode.
   *
   * @default {true}
   */
  readonly prepare?: boolean;
  /**
   * The most connections, of at least 3, beside one for notifications.
   *
   * @default {6}
   */
  readonly connections?: number;
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
   * written; the tenant id is empty for records that belong to no tenant.
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
   * Called each quarter of a minute with how the database is; undefined when
   * that is unknown.
   *
   * @default {() => {}}
   */
  readonly onHealth?: (health: DatabaseHealth | undefined) => void;
}

/** The parts that exist between start and stop. */
interface Opened {
  readonly pools: Pools;
  readonly time: StoreTime;
  readonly watch: ServerWatch;
  readonly notifications: Notifications;
  readonly replication: ReplicationWatch;
  readonly members: MemberRow;
  readonly commits: TransactionWriter;
  readonly claims: Claims;
  readonly inbox: PostgresInbox;
  readonly folding: Periodic;
  readonly health: HealthWatch;
  readonly reads: StoreReads;
}

/** Connections by their use, so that long reads do not hold up writes. */
interface Pools {
  /** One connection each. */
  readonly writing: readonly Pool[];
  readonly claiming: Pool;
  readonly reading: Pool;
}

const MEGABYTE = 1_000_000;
/** How often added counts are folded. */
const FOLD_EVERY_MS = 10_000;
/** After how long the clock of a new server is trusted. */
const NEW_SERVER_MS = 5_000;

/** A store in a schema of a database, which other instances may use as well. */
export class PostgresStore implements Store {
  /** The database's clock. */
  readonly clock: Clock;
  /** True: the time is the database's. */
  readonly hasOwnTime = true;
  readonly #options: PostgresStoreOptions;
  readonly #listeners = new Set<(notice: Notice) => void>();
  #opened: Opened | undefined;

  /** Creates the store without opening it. */
  constructor(options: PostgresStoreOptions) {
    this.#options = options;
    const { clock } = options;
    this.clock = {
      // Before the start and after the stop nothing stored is judged.
      nowMs: () => this.#opened?.time.nowMs() ?? clock.nowMs(),
      monotonicMs: () => clock.monotonicMs?.() ?? clock.nowMs(),
      setTimer: (...of) => clock.setTimer(...of),
    };
  }

  start: Store["start"] = async () => {
    if (this.#opened !== undefined) return;
    const { clock, logger, schema } = this.#options;
    const watch = new ServerWatch({ clock, logger });
    const long = this.#pool(watch, { max: 1, queryTimeoutMs: LONG_MS });
    let channel: string;
    try {
      await migrate(long, migrationPlan(schema));
      channel = await readChannel(long);
    } finally {
      await long.close();
    }
    const opened = this.#open(watch, channel);
    try {
      await opened.time.start();
      await opened.replication.start();
    } catch (error) {
      await closeAll(opened.pools);
      throw error;
    }
    opened.notifications.start();
    opened.folding.start();
    opened.health.start();
    this.#opened = opened;
  };

  stop: Store["stop"] = async () => {
    const opened = this.#opened;
    this.#opened = undefined;
    if (opened === undefined) return;
    await opened.folding.stop();
    await opened.health.stop();
    await opened.claims.idle();
    await opened.commits.idle();
    await opened.notifications.stop();
    await opened.replication.stop();
    await opened.time.stop();
    await closeAll(opened.pools);
  };

  check: Store["check"] = () =>
    this.#use(async ({ pools, replication }) => {
      replication.demand();
      await Promise.all(
        pools.writing.map((pool) =>
          pool.query(
            "SELECT demand(current_setting('transaction_read_only') = 'off')",
          )
        ),
      );
      return replication.note;
    });

  commit: Store["commit"] = (...of) =>
    this.#use(({ commits, replication }) => {
      replication.demand();
      return commits.commit(...of);
    });

  claim: Store["claim"] = async (scope, decide) => {
    // What is thrown by others than the store is not the store's.
    const { claims, replication } = this.#demand();
    replication.demand();
    return await claims.claim(scope, decide);
  };

  /** Requests that roles of the database have put into the schema. */
  readonly inbox: Inbox = {
    take: async (...of) => await this.#demand().inbox.take(...of),
    refuse: (refusals) => this.#use(({ inbox }) => inbox.refuse(refusals)),
    refused: (query) => this.#use(({ inbox }) => inbox.refused(query)),
    erase: (tenantId) => this.#use(({ inbox }) => inbox.erase(tenantId)),
  };

  beat: Store["beat"] = (beat) =>
    this.#use(({ members }) => members.beat(beat));

  leave: Store["leave"] = (id) => this.#use(({ members }) => members.leave(id));

  tell: Store["tell"] = (notices) => {
    for (const notice of notices) this.#opened?.notifications.tell(notice);
  };

  onNotice: Store["onNotice"] = (listen) => {
    this.#listeners.add(listen);
    return () => void this.#listeners.delete(listen);
  };

  mayEndLeases: Store["mayEndLeases"] = () =>
    (this.#opened?.watch.msSinceChange() ?? 0) >= NEW_SERVER_MS;

  sweep: Store["sweep"] = (nowMs, limit) =>
    this.#use(({ pools }) => sweepExpired(pools.reading, nowMs, limit));

  /** Folds what was added to counts, as the store does by itself. */
  fold(): Promise<number> {
    return this.#use(({ pools }) => foldDeltas(pools.reading));
  }

  trimAudit: Store["trimAudit"] = (trim) =>
    this.#use(({ pools }) => trimAudit(pools.reading, trim));

  proveCounts: Store["proveCounts"] = () =>
    this.#use(async ({ watch }) => {
      const long = this.#pool(watch, { max: 1, queryTimeoutMs: LONG_MS });
      try {
        return await proveCounts(long);
      } finally {
        await long.close();
      }
    });

  snapshot: Store["snapshot"] = async (read) => {
    const { watch } = this.#demand();
    const long = this.#pool(watch, { max: 1, queryTimeoutMs: LONG_MS });
    try {
      // The rows may go to a slow disk or to a slow reader.
      return await long.transaction(
        (transaction) => read(new RowReads(transaction)),
        { isolation: "repeatable read", idleMs: LONG_MS },
      );
    } finally {
      await long.close();
    }
  };

  task: Store["task"] = (...of) => this.#read(({ tasks }) => tasks.task(...of));
  tasks: Store["tasks"] = (...of) =>
    this.#read(({ tasks }) => tasks.tasks(...of));
  taskByKey: Store["taskByKey"] = (key) =>
    this.#read(({ tasks }) => tasks.byKey(key));
  dependents: Store["dependents"] = (query) =>
    this.#read(({ tasks }) => tasks.dependents(query));
  running: Store["running"] = (...of) =>
    this.#read(({ tasks }) => tasks.running(...of));
  runningGroups: Store["runningGroups"] = (tenantId) =>
    this.#read(({ tasks }) => tasks.runningGroups(tenantId));
  waking: Store["waking"] = (...of) =>
    this.#read(({ waking }) => waking.waking(...of));
  wakingOfOthers: Store["wakingOfOthers"] = (query) =>
    this.#read(({ waking }) => waking.wakingOfOthers(query));
  nextWakeMs: Store["nextWakeMs"] = (...of) =>
    this.#read(({ waking }) => waking.nextWakeMs(...of));
  candidates: Store["candidates"] = (claim) =>
    this.#read(({ candidates }) => candidates.candidates(claim));
  workersWithDueTasks: Store["workersWithDueTasks"] = (query) =>
    this.#read(({ candidates }) => candidates.workers(query));
  listTasks: Store["listTasks"] = (query) =>
    this.#read(({ lists }) => lists.page(query));
  counts: Store["counts"] = (query) =>
    this.#read(({ statuses }) => statuses.counts(query));
  tenantQueues: Store["tenantQueues"] = () =>
    this.#read(({ statuses }) => statuses.queues());
  scan: Store["scan"] = (query) =>
    this.#read(({ statuses }) => statuses.scan(query));
  history: Store["history"] = (query) =>
    this.#read(({ histories }) => histories.page(query));
  record: Store["record"] = (...of) =>
    this.#read(({ records }) => records.record(...of));
  recordByAlias: Store["recordByAlias"] = (...of) =>
    this.#read(({ records }) => records.byAlias(...of));
  records: Store["records"] = (query) =>
    this.#read(({ records }) => records.page(query));
  idempotency: Store["idempotency"] = (...of) =>
    this.#read(({ records }) => records.idempotency(...of));
  usage: Store["usage"] = (...of) =>
    this.#read(({ records }) => records.usage(...of));
  starts: Store["starts"] = (query) =>
    this.#read(({ records }) => records.starts(query));
  audit: Store["audit"] = (query) =>
    this.#read(({ records }) => records.audit(query));

  #open(watch: ServerWatch, channel: string): Opened {
    const {
      connection,
      clock,
      logger,
      durability = "strict",
      prepare = true,
      maxQueuedRows = 200_000,
      maxQueuedMegabytes = 128,
      onWritten = () => {},
      onGroup,
      onRefused,
      onHealth = () => {},
    } = this.#options;
    const share = shareConnections(this.#options.connections ?? 6);
    const pools: Pools = {
      writing: Array.from(
        { length: share.writing },
        () => this.#pool(watch, { max: 1, plans: "force_generic_plan" }),
      ),
      claiming: this.#pool(watch, {
        max: share.claiming,
        plans: "force_generic_plan",
      }),
      reading: this.#pool(watch, { max: share.reading }),
    };
    const known = new KnownTasks();
    const time = new StoreTime({
      runner: pools.reading,
      clock,
      watch,
      logger,
    });
    const names = new InternedNames(pools.reading);
    const locks = new LimitLocks(pools.reading);
    const reads = new StoreReads(pools.reading, {
      names,
      known,
      clock: time,
    });
    const notifications = new Notifications({
      connection,
      runner: pools.reading,
      watch,
      channel,
      instanceId: crypto.randomUUID(),
      clock,
      logger,
      // Only those that can read this schema know the channel.
      onNotice: (notice) => this.#hear(notice as Notice),
      onGap: () => {
        reads.noteGap();
        this.#hear({ kind: "gap" });
      },
    });
    const onApplied = (transactions: readonly PreparedTransaction[]): void =>
      reads.noteWritten(transactions);
    const commits = new TransactionWriter({
      appliers: pools.writing.map((pool) =>
        new GroupApplier(pool, { names, locks, hasSessions: prepare })
      ),
      known,
      maxQueuedRows,
      maxQueuedChars: maxQueuedMegabytes * MEGABYTE,
      onApplied,
      onWritten,
      onGroup,
      onRefused,
    });
    const claims = new Claims({
      pool: pools.claiming,
      applier: new GroupApplier(pools.claiming, {
        ...{ names, locks, hasSessions: prepare },
      }),
      candidates: reads.candidates,
      names,
      locks,
      known,
      onApplied,
      onLeft: (tasks) => reads.noteLeft(tasks),
    });
    const inbox = new PostgresInbox({
      reading: pools.reading,
      // Handling requests takes connections to read and write, never one of
      // these.
      locking: pools.claiming,
      locks,
      monotonicMs: () => clock.monotonicMs?.() ?? clock.nowMs(),
    });
    const log = new RateLimitedLog(logger, clock);
    const folding = new Periodic({
      clock,
      intervalMs: FOLD_EVERY_MS,
      run: () => foldDeltas(pools.reading),
      onError: (error) =>
        log.warn("Cannot fold counts", { reason: describeError(error) }),
    });
    return {
      pools,
      watch,
      time,
      members: new MemberRow(pools.reading),
      replication: new ReplicationWatch({
        runner: pools.reading,
        clock,
        isRequired: durability === "replicated",
      }),
      notifications,
      commits,
      claims,
      inbox,
      folding,
      health: new HealthWatch({
        runner: pools.reading,
        clock,
        logger,
        takeFloorMisses: () => reads.takeFloorMisses(),
        onLooked: onHealth,
      }),
      reads,
    };
  }

  #pool(
    watch: ServerWatch,
    { plans = "auto", ...of }: {
      readonly max: number;
      readonly queryTimeoutMs?: number;
      readonly plans?: PlanMode;
    },
  ): Pool {
    const { connection, schema, clock, logger, prepare } = this.#options;
    return openPool({
      connection,
      clock,
      logger,
      watch,
      ...(prepare === undefined ? {} : { prepare }),
      ...of,
      settings: {
        ...schemaSettings(schema),
        plan_cache_mode: plans,
        ...(this.#options.durability === "relaxed"
          ? { synchronous_commit: "off" }
          : {}),
      },
    });
  }

  #hear(notice: Notice): void {
    this.#opened?.reads.noteHeard(notice);
    for (const listen of this.#listeners) listen(notice);
  }

  #demand(): Opened {
    if (this.#opened !== undefined) return this.#opened;
    throw new Error("Cannot use the store: it is not started");
  }

  #read<Answer>(
    read: (reads: StoreReads) => Promise<Answer>,
  ): Promise<Answer> {
    return this.#use(({ reads }) => read(reads));
  }

  /** Calls `use` with the open parts; every error is one of the store. */
  async #use<Answer>(
    use: (opened: Opened) => Promise<Answer>,
  ): Promise<Answer> {
    const opened = this.#demand();
    try {
      return await use(opened);
    } catch (error) {
      const isOwn = error instanceof StoreFailedError ||
        error instanceof StoreBusyError || error instanceof TypeError;
      throw isOwn ? error : storeFailure(error);
    }
  }
}

/** The channel of a schema's instances, which no other role knows. */
async function readChannel(pool: Pool): Promise<string> {
  const [row] = await pool.query<{ name: string }>("SELECT name FROM channel");
  if (row !== undefined) return row.name;
  throw new StoreFailedError("Cannot start: the table `channel` is empty");
}

/** All readers. */
class StoreReads {
  readonly tasks: TaskReads;
  readonly waking: WakingReads;
  readonly candidates: CandidateReads;
  readonly lists: ListReads;
  readonly statuses: StatusReads;
  readonly histories: HistoryReads;
  readonly records: RecordReads;
  readonly #names: InternedNames;
  readonly #known: KnownTasks;
  readonly #floors: DueFloors;

  constructor(
    runner: Runner,
    { names, known, clock }: {
      readonly names: InternedNames;
      readonly known: KnownTasks;
      readonly clock: StoreTime;
    },
  ) {
    const parts = { runner, known };
    this.#names = names;
    this.#known = known;
    this.#floors = new DueFloors(() => clock.monotonicMs());
    this.tasks = new TaskReads(parts, names);
    this.waking = new WakingReads(parts, clock);
    this.candidates = new CandidateReads(parts, {
      names,
      floors: this.#floors,
    });
    this.lists = new ListReads(parts, names);
    this.statuses = new StatusReads(parts, names);
    this.histories = new HistoryReads(runner);
    this.records = new RecordReads(runner);
  }

  /** Lowers the floors to what was written. */
  noteWritten(transactions: readonly PreparedTransaction[]): void {
    for (const writes of transactions) {
      for (const write of writes) {
        if (!("state" in write)) continue;
        const { rank, wakeAtMs, tenantId, workerId, job, group } = write;
        // New tasks are mostly read before they are changed.
        if (write.kind !== "create") this.#known.note(write.next);
        if (wakeAtMs !== undefined) this.waking.lower(wakeAtMs);
        if (rank === undefined) continue;
        const lane = this.#names.laneNumber(tenantId, workerId);
        this.#floors.lower(lane, { job, group, rank });
      }
    }
  }

  /** Lowers the floors to tasks that were shown and not started. */
  noteLeft(tasks: readonly Task[]): void {
    for (const task of tasks) {
      const { rank } = computePlacement(task);
      if (rank === undefined) continue;
      const { job, group } = task;
      const lane = this.#names.laneNumber(task.tenantId, task.workerId);
      this.#floors.lower(lane, { job, group, rank });
    }
  }

  /** Lowers the floors to what another instance has written. */
  noteHeard(notice: Notice): void {
    if (notice.kind === "wake") this.waking.lower(notice.atMs);
    if (notice.kind !== "due" || notice.task === undefined) return;
    // A worker that was never asked for has no floors.
    const lane = this.#names.peekLane(notice);
    if (lane !== undefined) this.#floors.lower(lane, notice.task);
  }

  /** Gives, once each, what looks have found below floors. */
  takeFloorMisses(): FloorMisses {
    return this.#floors.takeMisses();
  }

  /** Forgets all floors, as notices may have been lost. */
  noteGap(): void {
    this.#floors.clear();
    this.waking.clear();
  }
}

/** Shares connections out among their uses, each of which needs one. */
function shareConnections(
  all: number,
): Readonly<Record<keyof Pools, number>> {
  const third = Math.max(1, Math.floor(all / 3));
  return {
    writing: third,
    claiming: third,
    reading: Math.max(1, all - 2 * third),
  };
}

async function closeAll(pools: Pools): Promise<void> {
  await Promise.all(
    [...pools.writing, pools.claiming, pools.reading].map((pool) =>
      pool.close()
    ),
  );
}

/**
 * Whether the server plans a statement again for its parameters. To plan that of
 * a group takes it as long as to write fifty tasks.
 */
type PlanMode = "auto" | "force_generic_plan";
