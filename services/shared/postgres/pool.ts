/**
 * A few connections to PostgreSQL that a store shares. A statement by itself
 * may follow others on one connection; a transaction has a connection for
 * itself, and takes as few round trips as it has decisions to make.
 *
 * @module
 */

import { type Clock, steadyClock, type Timer } from "../clock.ts";
import { type Logger, RateLimitedLog } from "../logger.ts";
import { describeError } from "../settled.ts";
import { StoreFailedError } from "../store_failed.ts";
import type { DatabaseConnection } from "./connection.ts";
import { judgeFailure, sqlState } from "./failure.ts";
import { openPrimary } from "./primary.ts";
import type { ServerWatch } from "./server_watch.ts";
import type { QueryOptions, Rows, Runner, Session } from "./session.ts";
import {
  runTransaction,
  type Statement,
  type Transaction,
  type TransactionOptions,
} from "./transaction.ts";
import type { SqlParameter } from "./values.ts";

/** Connections to a database. */
export interface Pool extends Runner {
  /**
   * Runs a transaction on a connection of its own. It is committed when `run`
   * returns, unless `run` did that, and undone when `run` throws.
   *
   * @returns what `run` returns
   */
  transaction<T>(
    run: (transaction: Transaction) => Promise<T>,
    options?: TransactionOptions,
  ): Promise<T>;
  /** Runs statements as one transaction, in one round trip. */
  batch(statements: readonly Statement[]): Promise<readonly Rows[]>;
  /** Waits for what is under way, refuses the rest and closes. */
  close(): Promise<void>;
}

/** A statement or transaction that has ended. */
export interface DatabaseCall {
  /**
   * `refused` when the database or the caller gave it up for what the rows are;
   * `failed` when the connection or the server did not do it.
   */
  readonly outcome: "ok" | "refused" | "failed";
  /** Milliseconds that it waited for a connection. */
  readonly waitedMs: number;
  /** Milliseconds that it took then. */
  readonly tookMs: number;
}

/** Options of {@linkcode openPool}. */
export interface PoolOptions {
  /** The database. */
  readonly connection: DatabaseConnection;
  /** Most connections. @default {6} */
  readonly max?: number;
  /**
   * Whether statements are prepared; false behind PgBouncer in transaction
   * mode.
   *
   * @default {true}
   */
  readonly prepare?: boolean;
  /** Most statements and transactions that wait. @default {10000} */
  readonly maxWaiting?: number;
  /** How long connecting may take. @default {5000} */
  readonly connectTimeoutMs?: number;
  /** How long a statement may take. @default {30000} */
  readonly queryTimeoutMs?: number;
  /** Sets the timers. */
  readonly clock: Clock;
  /** Hears of connections that cannot be opened. */
  readonly logger: Logger;
  /** Is told which server answers. */
  readonly watch: ServerWatch;
  /**
   * Settings of the server, such as `search_path`, by their names; all
   * statements run with them. Without `prepare` they go with each transaction,
   * and each statement is one, since a pooler may give it any connection.
   *
   * @default {{}}
   */
  readonly settings?: Readonly<Record<string, string>>;
  /**
   * Is told of each statement and transaction that has ended.
   *
   * @default no listener
   */
  readonly onCall?: ((call: DatabaseCall) => void) | undefined;
}

/** Opens no connection yet; the first statement does. */
export function openPool(options: PoolOptions): Pool {
  return new SessionPool(options);
}

/** Has the transaction's commit wait for the disk, whatever the pool's do. */
export const ON_DISK: Statement = {
  sql: "SELECT set_config('synchronous_commit', 'on', true) " +
    "WHERE current_setting('synchronous_commit') = 'off'",
};

/**
 * Runs statements as one transaction, in one round trip; it is on disk when
 * this resolves, also where the pool's other commits do not wait for that.
 *
 * @returns their rows
 */
export async function commitToDisk(
  pool: Pool,
  statements: readonly Statement[],
): Promise<readonly Rows[]> {
  return (await pool.batch([ON_DISK, ...statements])).slice(1);
}

/**
 * A condition that holds. The commit of a statement with it waits neither for
 * the disk nor for a standby, so it never keeps a connection that others read
 * over. It is for rows whose loss costs work and nothing else. The database's
 * log is in the order of the commits: what such a row led to survives a crash,
 * or a failover, together with the row only.
 */
export const UNAWAITED =
  "(SELECT set_config('synchronous_commit', 'off', true)) = 'off'";

/**
 * One pool of two: statements by themselves have connections to read over, which
 * a commit that waits for a standby cannot keep. Transactions and batches
 * have others, so whatever writes is one of these.
 *
 * @returns a pool that leaves both open when it is closed
 */
export function dividedPool(
  reading: Pick<Pool, "query">,
  writing: Pick<Pool, "transaction" | "batch">,
): Pool {
  return {
    query: (...of) => reading.query(...of),
    transaction: (...of) => writing.transaction(...of),
    batch: (...of) => writing.batch(...of),
    close: () => Promise.resolve(),
  };
}

/** Something that waits for a connection. */
interface Job {
  /** Whether the connection is for it alone. */
  readonly isAlone: boolean;
  readonly start: (session: Session) => Promise<void>;
  readonly refuse: (error: unknown) => void;
}

/** Most statements that are on their way on one connection. */
const MAX_PIPELINE = 20;
/** The first wait after a connection that could not be opened; it doubles. */
const BACK_OFF_MS = 20;

class SessionPool implements Pool {
  readonly #options: PoolOptions;
  readonly #max: number;
  readonly #isPrepared: boolean;
  readonly #sessions = new Set<Session>();
  /** Sessions that a transaction has for itself. */
  readonly #taken = new Set<Session>();
  readonly #waiting: Job[] = [];
  readonly #opening = new Set<Promise<void>>();
  readonly #log: RateLimitedLog;
  readonly #stop = new AbortController();
  /** The wait after a connection that could not be opened. */
  #backOff: Timer | undefined;
  readonly #steady: Clock;
  #failures = 0;

  constructor(options: PoolOptions) {
    this.#options = options;
    this.#max = options.max ?? 6;
    this.#isPrepared = options.prepare ?? true;
    this.#log = new RateLimitedLog(options.logger, options.clock);
    this.#steady = steadyClock(options.clock);
  }

  query<R extends object>(
    sql: string,
    parameters?: readonly SqlParameter[],
    options?: QueryOptions,
  ): Promise<Rows<R>> {
    if (this.#first() !== undefined) {
      return this.batch([{ sql, parameters: parameters ?? [], ...options }])
        .then(([rows]) => rows as Rows<R>);
    }
    return this.#run(
      false,
      (session) => session.query<R>(sql, parameters, options),
    );
  }

  transaction<T>(
    run: (transaction: Transaction) => Promise<T>,
    options: TransactionOptions = {},
  ): Promise<T> {
    return this.#run(
      true,
      (session) =>
        runTransaction(session, run, { ...options, first: this.#first() }),
    );
  }

  batch(statements: readonly Statement[]): Promise<readonly Rows[]> {
    return this.transaction((transaction) => transaction.commit(statements));
  }

  async close(): Promise<void> {
    this.#stop.abort();
    this.#backOff?.cancel();
    const error = new StoreFailedError("Cannot query: the pool is closed");
    for (const job of this.#waiting.splice(0)) job.refuse(error);
    await Promise.all([
      ...this.#opening,
      ...[...this.#sessions].map((session) => session.close()),
    ]);
  }

  /** What each transaction begins with; undefined for nothing. */
  #first(): string | undefined {
    return this.#isPrepared ? undefined : this.#settingsSql();
  }

  #settingsSql(): string | undefined {
    const calls = Object.entries(this.#options.settings ?? {}).map(
      ([name, value]) =>
        `set_config('${name}', '${value.replaceAll("'", "''")}', ` +
        `${!this.#isPrepared})`,
    );
    return calls.length === 0 ? undefined : `SELECT ${calls.join(", ")}`;
  }

  #run<T>(
    isAlone: boolean,
    work: (session: Session) => Promise<T>,
  ): Promise<T> {
    if (this.#stop.signal.aborted) {
      return Promise.reject(
        new StoreFailedError("Cannot query: the pool is closed"),
      );
    }
    const { maxWaiting = 10_000 } = this.#options;
    if (this.#waiting.length >= maxWaiting) {
      return Promise.reject(
        new StoreFailedError(
          `Cannot query: ${maxWaiting} statements wait already`,
        ),
      );
    }
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    const measured = this.#measured(work);
    const start = (session: Session): Promise<void> =>
      measured.run(session).then(resolve, reject);
    const refuse = (error: unknown): void => {
      measured.fail(error);
      reject(error);
    };
    this.#waiting.push({ isAlone, start, refuse });
    this.#pump();
    return promise;
  }

  /** Work whose end is told to the listener for calls, if there is one. */
  #measured<T>(work: (session: Session) => Promise<T>): {
    readonly run: (session: Session) => Promise<T>;
    readonly fail: (error: unknown) => void;
  } {
    const { onCall } = this.#options;
    if (onCall === undefined) return { run: work, fail() {} };
    const askedMs = this.#steady.nowMs();
    let begunMs: number | undefined;
    const end = (outcome: DatabaseCall["outcome"]): void => {
      const nowMs = this.#steady.nowMs();
      const fromMs = begunMs ?? nowMs;
      onCall({ outcome, waitedMs: fromMs - askedMs, tookMs: nowMs - fromMs });
    };
    return {
      run: async (session) => {
        begunMs = this.#steady.nowMs();
        try {
          const answer = await work(session);
          end("ok");
          return answer;
        } catch (error) {
          end(hasFailed(error) ? "failed" : "refused");
          throw error;
        }
      },
      fail: () => end("failed"),
    };
  }

  /** Starts what waits, in order, as far as there are connections for it. */
  #pump(): void {
    for (
      let job = this.#waiting[0];
      job !== undefined;
      job = this.#waiting[0]
    ) {
      const session = this.#choose(job.isAlone);
      if (session === undefined) return;
      this.#waiting.shift();
      if (job.isAlone) this.#taken.add(session);
      void job.start(session).then(() => {
        if (job.isAlone) this.#taken.delete(session);
        this.#pump();
      });
    }
  }

  /** An idle connection, a new one later, or one that is not too busy. */
  #choose(isAlone: boolean): Session | undefined {
    let least: Session | undefined;
    for (const session of this.#sessions) {
      if (this.#taken.has(session) || session.isClosed) continue;
      if (session.pending === 0) return session;
      if (least === undefined || session.pending < least.pending) {
        least = session;
      }
    }
    const { size } = this.#sessions;
    if (size + this.#opening.size < this.#max && this.#backOff === undefined) {
      const opening = this.#open().finally(() => {
        this.#opening.delete(opening);
        this.#pump();
      });
      this.#opening.add(opening);
    }
    return isAlone || (least?.pending ?? 0) >= MAX_PIPELINE ? undefined : least;
  }

  async #open(): Promise<void> {
    const { connection, clock, watch } = this.#options;
    try {
      const session = await openPrimary({
        connection,
        clock,
        watch,
        signal: this.#stop.signal,
        prepare: this.#isPrepared,
        connectTimeoutMs: this.#options.connectTimeoutMs ?? 5_000,
        queryTimeoutMs: this.#options.queryTimeoutMs ?? 30_000,
      });
      const settings = this.#isPrepared ? this.#settingsSql() : undefined;
      try {
        if (settings !== undefined) await session.query(settings);
      } catch (error) {
        session.destroy("it could not be set up");
        throw error;
      }
      this.#failures = 0;
      if (this.#stop.signal.aborted) return await session.close();
      this.#sessions.add(session);
      void session.closed.then(() => {
        this.#sessions.delete(session);
        this.#pump();
      });
    } catch (error) {
      if (this.#stop.signal.aborted) return;
      this.#log.warn("Cannot open a connection to the database", {
        reason: describeError(error),
      });
      const delayMs = Math.min(BACK_OFF_MS * 2 ** this.#failures++, 500);
      this.#backOff ??= clock.setTimer(() => {
        this.#backOff = undefined;
        this.#pump();
      }, delayMs);
      // Callers learn it at once, unless another connection serves them.
      if (this.#sessions.size > 0) return;
      for (const job of this.#waiting.splice(0)) job.refuse(error);
    }
  }
}

/** Whether an error is one of the connection or of the server. */
function hasFailed(error: unknown): boolean {
  if (error instanceof StoreFailedError) return true;
  return sqlState(error) !== undefined && judgeFailure(error) !== "refused";
}
