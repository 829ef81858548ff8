/**
 * A few connections to PostgreSQL that a store shares. A statement by itself
 * may follow others on one connection; a transaction has a connection for
 * itself, and takes as few round trips as it has decisions to make.
 *
 * @module
 */

import type { Clock, Timer } from "../clock.ts";
import type { Logger } from "../logger.ts";
import { describeError } from "../settled.ts";
import { StoreFailedError } from "../store_failed.ts";
import type { DatabaseConnection } from "./connection.ts";
import { openPrimary } from "./primary.ts";
import type { ServerWatch } from "./server_watch.ts";
import type {
  QueryOptions,
  Rows,
  Runner,
  Session,
  SqlParameter,
} from "./session.ts";

/** A statement and its parameters. */
export interface Statement extends QueryOptions {
  /** The text, with `$1` for the first parameter. */
  readonly sql: string;
  /** @default none */
  readonly parameters?: readonly SqlParameter[];
}

/** A transaction that is open. */
export interface Transaction extends Runner {
  /**
   * Runs the last statements and commits, all in one round trip. The first that
   * fails undoes the whole transaction.
   *
   * @throws {StoreFailedError} when it is unknown whether it was committed
   * @throws {Error} when it was not, as a statement was refused
   */
  commit(statements?: readonly Statement[]): Promise<readonly Rows[]>;
}

/** Options of a transaction. */
export interface TransactionOptions {
  /** @default {"read committed"} */
  readonly isolation?: "read committed" | "repeatable read" | "serializable";
}

/** Connections to a database. */
export interface Pool extends Runner {
  /**
   * Runs a transaction on a connection of its own. What `run` has not committed
   * is committed when it returns, and undone when it throws.
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
  /** @default {Deno.readTextFile} */
  readonly readFile?: (path: string) => Promise<string>;
  /** Runs on each new connection before anything else. @default nothing */
  readonly onConnected?: (runner: Runner) => Promise<void>;
}

/** Opens no connection yet; the first statement does. */
export function openPool(options: PoolOptions): Pool {
  return new SessionPool(options);
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
  readonly #sessions = new Set<Session>();
  /** Sessions that a transaction has for itself. */
  readonly #taken = new Set<Session>();
  readonly #waiting: Job[] = [];
  readonly #opening = new Set<Promise<void>>();
  readonly #stop = new AbortController();
  /** The wait after a connection that could not be opened. */
  #backOff: Timer | undefined;
  #failures = 0;

  constructor(options: PoolOptions) {
    this.#options = options;
    this.#max = options.max ?? 6;
  }

  query<R extends object>(
    sql: string,
    parameters?: readonly SqlParameter[],
    options?: QueryOptions,
  ): Promise<Rows<R>> {
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
      (session) => runTransaction(session, run, options),
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
    const start = (session: Session): Promise<void> =>
      work(session).then(resolve, reject);
    this.#waiting.push({ isAlone, start, refuse: reject });
    this.#pump();
    return promise;
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
    const { connection, clock, watch, logger, onConnected } = this.#options;
    try {
      const session = await openPrimary({
        connection,
        clock,
        watch,
        signal: this.#stop.signal,
        prepare: this.#options.prepare ?? true,
        connectTimeoutMs: this.#options.connectTimeoutMs ?? 5_000,
        queryTimeoutMs: this.#options.queryTimeoutMs ?? 30_000,
        readFile: this.#options.readFile ?? ((path) => Deno.readTextFile(path)),
      });
      try {
        await onConnected?.(session);
      } catch (error) {
        session.destroy("it could not be prepared");
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
      logger.warn("Cannot open a connection to the database", {
        reason: describeError(error),
      });
      const delayMs = Math.min(BACK_OFF_MS * 2 ** this.#failures++, 500);
      this.#backOff ??= clock.setTimer(() => {
        this.#backOff = undefined;
        this.#pump();
      }, delayMs);
      // Whoever waits learns it at once, unless another connection serves it.
      if (this.#sessions.size > 0) return;
      for (const job of this.#waiting.splice(0)) job.refuse(error);
    }
  }
}

async function runTransaction<T>(
  session: Session,
  run: (transaction: Transaction) => Promise<T>,
  { isolation = "read committed" }: TransactionOptions,
): Promise<T> {
  // Not waited for: the first statement follows it at once, and fails with it.
  const begun = session.query(
    isolation === "read committed"
      ? "BEGIN"
      : `BEGIN ISOLATION LEVEL ${isolation}`,
  );
  begun.catch(() => {});
  let isOver = false;
  const refuse = (): void => {
    if (isOver) throw new TypeError("Cannot query: the transaction is over");
  };
  const commit = async (
    statements: readonly Statement[] = [],
  ): Promise<readonly Rows[]> => {
    refuse();
    isOver = true;
    const sent = statements.map(({ sql, parameters, ...options }) =>
      session.query(sql, parameters, options)
    );
    const outcomes = await Promise.allSettled([
      begun,
      ...sent,
      session.query("COMMIT"),
    ]);
    const rows = outcomes.map((outcome) => {
      if (outcome.status === "rejected") throw outcome.reason;
      return outcome.value;
    });
    // The server's answer to COMMIT after a statement that failed.
    if (rows.at(-1)?.command !== "COMMIT") {
      throw new Error("Cannot commit: a statement of the transaction failed");
    }
    return rows.slice(1, -1);
  };
  try {
    const result = await run({
      query: (sql, parameters, options) => {
        refuse();
        return session.query(sql, parameters, options);
      },
      commit,
    });
    if (!isOver) await commit();
    return result;
  } catch (error) {
    if (!isOver) {
      isOver = true;
      await session.query("ROLLBACK").catch(() =>
        session.destroy("a transaction could not be undone")
      );
    }
    throw error;
  }
}
