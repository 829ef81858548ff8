/**
 * Looks after the database of the store: whether an old transaction keeps dead
 * rows, how large the tables are, and which standbys follow.
 *
 * Every instance looks for itself: it takes some milliseconds each quarter of a
 * minute, and a scrape of any instance tells all.
 *
 * @module
 */

import type { Clock } from "../clock.ts";
import { type Logger, RateLimitedLog } from "../logger.ts";
import { Periodic } from "../periodic.ts";
import { describeError } from "../settled.ts";
import type { Runner } from "./session.ts";

/** A table of the store. */
export interface TableHealth {
  /** Its name. */
  readonly table: string;
  /** Rows, as the server estimates. */
  readonly liveRows: number;
  /** Rows that were changed or removed and still take space, estimated. */
  readonly deadRows: number;
  /** Bytes of the rows. */
  readonly rowBytes: number;
  /** Bytes of the indexes. */
  readonly indexBytes: number;
}

/** How the database is. */
export interface DatabaseHealth {
  /**
   * The age of the oldest transaction of any client in seconds; 0 without one.
   * A role without `pg_read_all_stats` only sees its own.
   */
  readonly oldestTransactionSeconds: number;
  /**
   * How many transactions began since the oldest state that a client, a standby
   * or a slot may still look at.
   */
  readonly horizonTransactions: number;
  /** The tables. */
  readonly tables: readonly TableHealth[];
  /** Standbys that follow, by whether commits wait for them. */
  readonly standbys: {
    readonly synchronous: number;
    readonly asynchronous: number;
  };
  /** Bytes of the log that the standby that is behind the most lacks. */
  readonly standbyLagBytes: number;
}

/** How often the database is looked at. */
const EVERY_MS = 15_000;

/** Other transactions than those of vacuum, which hinder nothing. */
const TRANSACTIONS = "SELECT pid, application_name, state, " +
  "extract(epoch FROM clock_timestamp() - xact_start)::float8 AS seconds " +
  "FROM pg_stat_activity WHERE backend_type = 'client backend' AND " +
  "(backend_xmin IS NOT NULL OR backend_xid IS NOT NULL) AND " +
  "pid <> pg_backend_pid() ORDER BY xact_start LIMIT 1";

const HORIZON = "SELECT coalesce(max(age(xmin)), 0) AS age FROM (" +
  "SELECT backend_xmin AS xmin FROM pg_stat_activity UNION ALL " +
  "SELECT backend_xmin FROM pg_stat_replication UNION ALL " +
  "SELECT xmin FROM pg_replication_slots UNION ALL " +
  "SELECT transaction FROM pg_prepared_xacts) AS held";

const TABLES = "SELECT relname AS name, n_live_tup AS live, " +
  "n_dead_tup AS dead, pg_table_size(relid) AS rows, " +
  "pg_indexes_size(relid) AS indexes FROM pg_stat_user_tables " +
  "WHERE schemaname = current_schema() ORDER BY relname";

const STANDBYS = "SELECT " +
  "count(*) FILTER (WHERE sync_state IN ('sync', 'quorum')) AS synchronous, " +
  "count(*) FILTER (WHERE sync_state IN ('async', 'potential')) " +
  "AS asynchronous, coalesce(max(pg_wal_lsn_diff(pg_current_wal_lsn(), " +
  "flush_lsn)), 0)::float8 AS lag FROM pg_stat_replication " +
  "WHERE state = 'streaming'";

/** Options of {@linkcode HealthWatch}. */
interface HealthWatchOptions<More extends object> {
  /** Asks the database. */
  readonly runner: Runner;
  /** Sets the timers. */
  readonly clock: Clock;
  /** Is told of old transactions. */
  readonly logger: Logger;
  /** Reads what a service wants to know of its own tables as well. */
  readonly more: (runner: Runner) => Promise<More>;
  /**
   * From which age on a transaction is warned of, in seconds.
   *
   * @default {60}
   */
  readonly oldSeconds?: number;
  /** Is told each time; undefined when the database could not be asked. */
  readonly onLooked: (health: (DatabaseHealth & More) | undefined) => void;
}

/** Looks at the database again and again. */
export class HealthWatch<More extends object> {
  readonly #options: HealthWatchOptions<More>;
  readonly #log: RateLimitedLog;
  readonly #looking: Periodic;

  /** Does nothing until it is started. */
  constructor(options: HealthWatchOptions<More>) {
    const { clock, logger, onLooked } = options;
    this.#options = options;
    this.#log = new RateLimitedLog(logger, clock);
    this.#looking = new Periodic({
      clock,
      intervalMs: EVERY_MS,
      run: () => this.look(),
      onError: (error) => {
        onLooked(undefined);
        this.#log.warn("Cannot look after the database", {
          reason: describeError(error),
        });
      },
    });
  }

  /** Looks soon, and goes on. */
  start(): void {
    this.#looking.start();
    this.#looking.wake();
  }

  /** Looks no more. */
  async stop(): Promise<void> {
    await this.#looking.stop();
  }

  /** Looks once. */
  async look(): Promise<void> {
    const { runner, more, onLooked, oldSeconds = 60 } = this.#options;
    const [oldest] = await runner.query<
      { pid: number; application_name: string; state: string; seconds: number }
    >(TRANSACTIONS);
    const [horizon] = await runner.query<{ age: number }>(HORIZON);
    const tables = await runner.query<
      { name: string } & Record<"live" | "dead" | "rows" | "indexes", number>
    >(TABLES);
    const [standbys] = await runner.query<
      { synchronous: number; asynchronous: number; lag: number }
    >(STANDBYS);
    const own = await more(runner);
    const seconds = Math.max(0, oldest?.seconds ?? 0);
    if (seconds >= oldSeconds) {
      this.#log.warn("A transaction is open for long: dead rows stay", {
        seconds: Math.round(seconds),
        pid: oldest?.pid,
        application: oldest?.application_name,
        state: oldest?.state,
      });
    }
    onLooked({
      oldestTransactionSeconds: seconds,
      horizonTransactions: horizon?.age ?? 0,
      tables: tables.map(({ name, live, dead, rows, indexes }) => ({
        table: name,
        liveRows: live,
        deadRows: dead,
        rowBytes: rows,
        indexBytes: indexes,
      })),
      standbys: {
        synchronous: standbys?.synchronous ?? 0,
        asynchronous: standbys?.asynchronous ?? 0,
      },
      standbyLagBytes: standbys?.lag ?? 0,
      ...own,
    });
  }
}
