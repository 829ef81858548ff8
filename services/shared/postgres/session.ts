/**
 * One connection to a PostgreSQL server, over the npm client. The client is
 * given one socket and never another: it would connect again by itself, and the
 * rest of a transaction would run outside of it.
 *
 * @module
 */

import type { Socket } from "node:net";
import postgres from "postgres";
import { type Clock, steadyMs, type Timer } from "../clock.ts";
import { describeError } from "../settled.ts";
import { StoreFailedError } from "../store_failed.ts";
import type { DatabaseConnection, ServerAddress } from "./connection.ts";
import { dial } from "./dial.ts";
import {
  isUncertainCommit,
  judgeFailure,
  sqlState,
  storeFailure,
} from "./failure.ts";
import {
  IDENTITY_COLUMNS,
  LEAST_IDENTITY_COLUMNS,
  readIdentity,
  type ServerIdentity,
} from "./server_watch.ts";
import { encodeParameters, type SqlParameter, TYPES } from "./values.ts";

/** A row, by the names of its columns. */
export type Row = Readonly<Record<string, unknown>>;

/** The rows of a statement. */
export type Rows<R extends object = Row> = readonly R[] & {
  /** How many rows were returned or changed; null where that has no sense. */
  readonly count: number | null;
  /** What was done: "SELECT", "COMMIT", "ROLLBACK". */
  readonly command: string;
};

/** Options of a statement. */
export interface QueryOptions {
  /**
   * Whether the server keeps the statement's plan for the connection. The text
   * of such a statement must be one of a bounded number.
   *
   * @default as the pool has it
   */
  readonly prepare?: boolean;
  /**
   * Whether rows are lists of values as the server sends them, in the order of
   * the columns.
   *
   * @default {false}
   */
  readonly isRaw?: boolean;
}

/** Runs statements. */
export interface Runner {
  /**
   * Runs a statement. Integers of 64 bits come as numbers, JSON as text, bytes
   * as `Uint8Array`; lists of these and of text as arrays.
   *
   * @throws {StoreFailedError} when the outcome is unknown
   * @throws {Error} when the server refuses it
   */
  query<R extends object = Row>(
    sql: string,
    parameters?: readonly SqlParameter[],
    options?: QueryOptions,
  ): Promise<Rows<R>>;
}

/** Options of {@linkcode openSession}. */
export interface SessionOptions {
  /** The database. */
  readonly connection: DatabaseConnection;
  /** Whether statements are prepared where they do not say otherwise. */
  readonly prepare: boolean;
  /** How long connecting may take in milliseconds. */
  readonly connectTimeoutMs: number;
  /** How long a statement may take until the connection is given up. */
  readonly queryTimeoutMs: number;
  /** Sets the timers. */
  readonly clock: Clock;
  /** Gives up connecting when it is aborted. */
  readonly signal?: AbortSignal;
  /** Is told notifications of channels that the session listens to. */
  readonly onNotification?: (channel: string, payload: string) => void;
}

interface Pending {
  readonly startedMs: number;
  readonly reject: (error: unknown) => void;
}

type Client = ReturnType<typeof postgres>;

const NEVER = new AbortController().signal;

/**
 * Connects to one server.
 *
 * @throws {StoreFailedError} when that fails
 */
export async function openSession(
  address: ServerAddress,
  options: SessionOptions,
): Promise<{
  readonly session: Session;
  readonly identity: ServerIdentity;
}> {
  const { connection, clock, signal = NEVER } = options;
  const { host, port } = address;
  try {
    const [password, ca] = await Promise.all([
      connection.passwordFile === undefined
        ? connection.password
        : Deno.readTextFile(connection.passwordFile).then((text) =>
          text.trimEnd()
        ),
      connection.caFile === undefined
        ? undefined
        : Deno.readTextFile(connection.caFile),
    ]);
    const socket = await dial(address, {
      tls: connection.tls,
      ca,
      timeoutMs: options.connectTimeoutMs,
      clock,
      signal,
    });
    const session = new Session(address, socket, { ...options, password });
    const giveUp = (reason: string) => (): void => session.destroy(reason);
    const stop = giveUp("it is no longer needed");
    signal.addEventListener("abort", stop);
    const timer = clock.setTimer(
      giveUp("the server did not let it in within the time"),
      options.connectTimeoutMs,
    );
    try {
      return { session, identity: await session.identify() };
    } catch (error) {
      session.destroy("the first statement failed");
      throw error;
    } finally {
      timer.cancel();
      signal.removeEventListener("abort", stop);
    }
  } catch (error) {
    const cause = error instanceof StoreFailedError
      ? error.cause ?? error
      : error;
    throw new StoreFailedError(
      `Cannot connect to the database at "${host}:${port}": ${
        describeError(cause)
      }`,
      { cause },
    );
  }
}

/** A connection that is open, or was. */
export class Session implements Runner {
  /** The server. */
  readonly address: ServerAddress;
  readonly #options: SessionOptions;
  readonly #socket: Socket;
  readonly #client: Client;
  readonly #pending = new Set<Pending>();
  readonly #uncertain = new WeakSet<Pending>();
  readonly #closed = Promise.withResolvers<void>();
  #closeReason: StoreFailedError | undefined;
  #timer: Timer | undefined;

  /** A session over a socket that is connected. */
  constructor(
    address: ServerAddress,
    socket: Socket,
    options: SessionOptions & { readonly password: string },
  ) {
    this.address = address;
    this.#options = options;
    this.#socket = socket;
    this.#client = this.#makeClient(options.password);
  }

  /** How many statements were sent and are not answered yet. */
  get pending(): number {
    return this.#pending.size;
  }

  /** Whether statements can no longer be sent. */
  get isClosed(): boolean {
    return this.#closeReason !== undefined;
  }

  /** Resolves when the connection has ended. */
  get closed(): Promise<void> {
    return this.#closed.promise;
  }

  /** Reads who answers. */
  async identify(): Promise<ServerIdentity> {
    try {
      const [row] = await this.query(`SELECT ${IDENTITY_COLUMNS}`);
      return readIdentity(row);
    } catch (error) {
      // A role that may not look, or a server that is only like PostgreSQL.
      if (sqlState(error) === undefined) throw error;
      const [row] = await this.query(`SELECT ${LEAST_IDENTITY_COLUMNS}`);
      return readIdentity(row);
    }
  }

  /** Runs a statement; several may be on their way at a time, in order. */
  query<R extends object = Row>(
    sql: string,
    parameters: readonly SqlParameter[] = [],
    options: QueryOptions = {},
  ): Promise<Rows<R>> {
    return Promise.try(() =>
      this.send<R>(sql, encodeParameters(parameters), options)
    );
  }

  /**
   * Runs a statement whose parameters are encoded; then nothing but the
   * connection keeps it from the server.
   */
  send<R extends object = Row>(
    sql: string,
    parameters: readonly (string | null)[] = [],
    { prepare = this.#options.prepare, isRaw = false }: QueryOptions = {},
  ): Promise<Rows<R>> {
    if (this.#closeReason !== undefined) {
      return Promise.reject(this.#closeReason);
    }
    const { promise, resolve, reject } = Promise.withResolvers<Rows<R>>();
    const pending = { startedMs: this.#nowMs(), reject };
    this.#pending.add(pending);
    this.#timer ??= this.#watch(this.#options.queryTimeoutMs);
    // A statement that the server refuses is not tried again: the client would
    // send it behind the COMMIT that follows already.
    const noRetry = (): boolean => {
      Object.assign(query, { prepared: false });
      return true;
    };
    const query = this.#client.unsafe(sql, [...parameters], {
      prepare: prepare && parameters.length > 0,
      ...{ onexecute: noRetry },
    });
    if (isRaw) query.raw();
    query.then((rows) => {
      this.#pending.delete(pending);
      if (!this.#uncertain.has(pending)) {
        resolve(rows as unknown as Rows<R>);
        return;
      }
      reject(
        new StoreFailedError(
          "Cannot confirm a commit: a wait for the standby was given up, so " +
            "that only one server has it for certain",
        ),
      );
    }, (error) => {
      this.#pending.delete(pending);
      const judgement = judgeFailure(error);
      if (judgement === "refused") return reject(error);
      const failure = storeFailure(error);
      reject(failure);
      if (judgement === "close") this.destroy(describeError(error));
    });
    return promise;
  }

  /** Waits for what was sent, and closes the connection. */
  async close(): Promise<void> {
    if (!this.isClosed) await this.#client.end({ timeout: 5 });
    this.destroy("it was closed");
    await this.closed;
  }

  /**
   * Ends the connection at once; the outcome of what was sent is unknown. The
   * server is not told to cancel: it would cancel its wait for the standby, and
   * commit all the same.
   */
  destroy(reason: string): void {
    if (this.#closeReason === undefined) {
      const { host, port } = this.address;
      this.#closeReason = new StoreFailedError(
        `Cannot use the connection to "${host}:${port}": ${reason}`,
      );
      this.#timer?.cancel();
      for (const { reject } of this.#pending) reject(this.#closeReason);
      this.#pending.clear();
      this.#closed.resolve();
    }
    this.#socket.destroy();
  }

  #makeClient(password: string): Client {
    const { connection, onNotification } = this.#options;
    let socket: Socket | undefined = this.#socket;
    const options = {
      // Every option that the client would else read from the environment.
      host: this.address.host,
      port: this.address.port,
      user: connection.user,
      database: connection.database,
      pass: password,
      ssl: false,
      max: 1,
      idle_timeout: 0,
      connect_timeout: 0,
      max_lifetime: 0,
      max_pipeline: 1_000_000,
      backoff: false,
      keep_alive: 30,
      prepare: true,
      debug: false,
      // When the client's own question for them fails, it tells no one.
      fetch_types: false,
      publications: "none",
      connection: { application_name: connection.applicationName },
      types: TYPES,
      socket: () => {
        if (socket === undefined) {
          throw this.#closeReason ?? new Error("Cannot connect twice");
        }
        const given = socket;
        socket = undefined;
        return given;
      },
      onclose: () => this.destroy("the server closed it"),
      onnotice: (notice: postgres.Notice) => this.#onNotice(notice),
      onnotify: onNotification,
    };
    // Some of the options are not among the package's types.
    return postgres(options as unknown as postgres.Options<never>);
  }

  #onNotice(notice: postgres.Notice): void {
    if (!isUncertainCommit(notice)) return;
    for (const pending of this.#pending) this.#uncertain.add(pending);
  }

  #watch(delayMs: number): Timer {
    return this.#options.clock.setTimer(() => {
      this.#timer = undefined;
      const [oldest] = this.#pending;
      if (oldest === undefined) return;
      const leftMs = oldest.startedMs + this.#options.queryTimeoutMs -
        this.#nowMs();
      if (leftMs > 0) this.#timer = this.#watch(leftMs);
      else this.destroy("the server did not answer in time");
    }, delayMs);
  }

  #nowMs(): number {
    return steadyMs(this.#options.clock);
  }
}
