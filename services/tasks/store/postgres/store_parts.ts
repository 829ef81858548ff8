/**
 * The parts of the store on PostgreSQL, and how they are put together.
 *
 * @module
 */

import { steadyMs } from "../../../shared/clock.ts";
import { RateLimitedLog } from "../../../shared/logger.ts";
import { Periodic } from "../../../shared/periodic.ts";
import type {
  DatabaseOptions,
  InstanceDatabase,
} from "../../../shared/postgres/instance_database.ts";
import { dividedPool, type Pool } from "../../../shared/postgres/pool.ts";
import { describeError } from "../../../shared/settled.ts";
import type { WrittenGroup } from "../../../shared/commit_queue.ts";
import type { Notice } from "../instances.ts";
import { Claims } from "./claims.ts";
import { HealthWatch } from "../../../shared/postgres/database_health.ts";
import {
  readTasksHealth,
  type TasksDatabaseHealth,
  type TasksHealth,
} from "./database_health.ts";
import { GroupApplier } from "./group_applier.ts";
import { InternedNames } from "./interned_names.ts";
import { KnownTasks } from "./known_tasks.ts";
import { LimitLocks } from "./limit_locks.ts";
import { PostgresInbox } from "./postgres_inbox.ts";
import type { PreparedTransaction } from "./prepared_write.ts";
import { StoreReads } from "./store_reads.ts";
import { TransactionWriter } from "./transaction_writer.ts";
import { foldDeltas } from "./upkeep.ts";

/** Options of {@linkcode PostgresStore}. */
export interface PostgresStoreOptions extends DatabaseOptions {
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
  readonly onHealth?: (health: TasksDatabaseHealth | undefined) => void;
}

/** The parts that exist between start and stop. */
export interface StoreParts {
  /** The way to the database. */
  readonly database: InstanceDatabase<Notice>;
  /** The connections. */
  readonly pools: Pools;
  /** Writes transactions. */
  readonly commits: TransactionWriter;
  /** Starts tasks. */
  readonly claims: Claims;
  /** Requests of users' transactions. */
  readonly inbox: PostgresInbox;
  /** Folds added counts. */
  readonly folding: Periodic;
  /** Looks at how the database is. */
  readonly health: HealthWatch<TasksHealth>;
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
  database: InstanceDatabase<Notice>,
): StoreParts {
  const {
    clock,
    logger,
    prepare = true,
    maxQueuedRows = 200_000,
    maxQueuedMegabytes = 128,
    onWritten = () => {},
    onGroup,
    onRefused,
    onHealth = () => {},
  } = options;
  const share = shareConnections(options.connections);
  const plans = "force_generic_plan";
  const pools: Pools = {
    writing: Array.from(
      { length: share.writing },
      () => database.openPool({ max: 1, plans }),
    ),
    claiming: database.openPool({ max: share.claiming, plans }),
    reading: database.reading,
  };
  // A commit that waits for a standby must not keep a connection of reads.
  const aside = dividedPool(pools.reading, database.openPool({ max: 1 }));
  const known = new KnownTasks();
  const names = new InternedNames(aside);
  const locks = new LimitLocks(aside);
  const reads = new StoreReads(pools.reading, {
    names,
    known,
    clock: database.time,
  });
  const onApplied = (transactions: readonly PreparedTransaction[]): void =>
    reads.noteWritten(transactions);
  const commits = new TransactionWriter({
    appliers: pools.writing.map((pool) =>
      new GroupApplier(pool, { names, locks, hasSessions: prepare })
    ),
    known,
    demandDurable: () => database.replication.demand(),
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
    reading: aside,
    // Handling requests takes connections to read and write, never one of
    // these.
    locking: pools.claiming,
    locks,
    monotonicMs: () => steadyMs(clock),
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
    database,
    pools,
    commits,
    claims,
    inbox,
    folding,
    health: new HealthWatch({
      runner: pools.reading,
      clock,
      logger,
      more: (runner) => readTasksHealth(runner, () => reads.takeFloorMisses()),
      onLooked: onHealth,
    }),
    reads,
  };
}

/** Shares connections out among their uses, each of which needs one. */
export function shareConnections(
  all = 6,
): Readonly<Record<keyof Pools, number>> {
  const third = Math.max(1, Math.floor(all / 3));
  return {
    writing: third,
    claiming: third,
    reading: Math.max(1, all - 2 * third),
  };
}
