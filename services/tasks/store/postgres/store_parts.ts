/**
 * The parts of the store on PostgreSQL, and how they are put together.
 *
 * @module
 */

import type { Clock } from "../../../shared/clock.ts";
import { type Logger, RateLimitedLog } from "../../../shared/logger.ts";
import { Periodic } from "../../../shared/periodic.ts";
import type { DatabaseConnection } from "../../../shared/postgres/connection.ts";
import { Notifications } from "../../../shared/postgres/notifications.ts";
import { openPool, type Pool } from "../../../shared/postgres/pool.ts";
import { ReplicationWatch } from "../../../shared/postgres/replication.ts";
import type { ServerWatch } from "../../../shared/postgres/server_watch.ts";
import { StoreTime } from "../../../shared/postgres/store_time.ts";
import { describeError } from "../../../shared/settled.ts";
import type { WrittenGroup } from "../../../shared/commit_queue.ts";
import type { Notice } from "../instances.ts";
import { Claims } from "./claims.ts";
import { type DatabaseHealth, HealthWatch } from "./database_health.ts";
import { GroupApplier } from "./group_applier.ts";
import { InternedNames } from "./interned_names.ts";
import { KnownTasks } from "./known_tasks.ts";
import { LimitLocks } from "./limit_locks.ts";
import { MemberRow } from "../../../shared/postgres/member_row.ts";
import { PostgresInbox } from "./postgres_inbox.ts";
import type { PreparedTransaction } from "./prepared_write.ts";
import { schemaSettings } from "../../../shared/postgres/schema.ts";
import { StoreReads } from "./store_reads.ts";
import { TransactionWriter } from "./transaction_writer.ts";
import { foldDeltas } from "./upkeep.ts";

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
export interface StoreParts {
  /** The connections. */
  readonly pools: Pools;
  /** The database's clock. */
  readonly time: StoreTime;
  /** Notes which server answers. */
  readonly watch: ServerWatch;
  /** Tells other instances, and hears them. */
  readonly notifications: Notifications;
  /** Watches whether a standby confirms commits. */
  readonly replication: ReplicationWatch;
  /** The row with the instances. */
  readonly members: MemberRow;
  /** Writes transactions. */
  readonly commits: TransactionWriter;
  /** Starts tasks. */
  readonly claims: Claims;
  /** Requests of users' transactions. */
  readonly inbox: PostgresInbox;
  /** Folds added counts. */
  readonly folding: Periodic;
  /** Looks at how the database is. */
  readonly health: HealthWatch;
  /** The readers. */
  readonly reads: StoreReads;
}

/** Connections by their use, so that long reads do not hold up writes. */
export interface Pools {
  /** One connection each. */
  readonly writing: readonly Pool[];
  /** Those of claims. */
  readonly claiming: Pool;
  /** Those of reads and of upkeep. */
  readonly reading: Pool;
}

const MEGABYTE = 1_000_000;
/** How often added counts are folded. */
const FOLD_EVERY_MS = 10_000;

/** Opens the parts; those with a start are started by the store. */
export function openParts(
  options: PostgresStoreOptions,
  { watch, channel, onNotice }: {
    /** Notes which server answers. */
    readonly watch: ServerWatch;
    /** The channel of the schema's instances. */
    readonly channel: string;
    /** Called with what other instances tell, and when notices may be lost. */
    readonly onNotice: (notice: Notice) => void;
  },
): StoreParts {
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
  } = options;
  const share = shareConnections(options.connections ?? 6);
  const pools: Pools = {
    writing: Array.from(
      { length: share.writing },
      () =>
        openStorePool(options, {
          watch,
          max: 1,
          plans: "force_generic_plan",
        }),
    ),
    claiming: openStorePool(options, {
      watch,

      max: share.claiming,
      plans: "force_generic_plan",
    }),
    reading: openStorePool(options, {
      watch,
      max: share.reading,
    }),
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
    onNotice: (notice) => onNotice(notice as Notice),
    onGap: () => {
      reads.noteGap();
      onNotice({ kind: "gap" });
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

/** Opens connections with the settings of the store. */
export function openStorePool(
  options: PostgresStoreOptions,
  { watch, plans = "auto", ...of }: {
    readonly watch: ServerWatch;
    readonly max: number;
    readonly queryTimeoutMs?: number;
    readonly plans?: PlanMode;
  },
): Pool {
  const { connection, schema, clock, logger, prepare } = options;
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
      ...(options.durability === "relaxed"
        ? { synchronous_commit: "off" }
        : {}),
    },
  });
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

/** Closes all connections. */
export async function closeAll(pools: Pools): Promise<void> {
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
