/**
 * A client of the tasks API for tests: it names the tenant in the Host header
 * and connects to the loopback interface, so that no name has to resolve.
 *
 * @module
 */

import { type ConnectionTarget, TasksConnection } from "./tasks_connection.ts";

/** Where a client connects, and its credentials. */
export interface TasksClientOptions {
  /** Returns the address to connect to; called for each new connection. */
  readonly target: () => ConnectionTarget;
  /** The Host header, which names the tenant. */
  readonly host: string;
  /**
   * The bearer token.
   *
   * @default none
   */
  readonly token?: string;
}

/** Options of a call. */
export interface CallOptions {
  /** The body, which is sent as JSON. */
  readonly body?: unknown;
  /** Further header fields. */
  readonly headers?: Readonly<Record<string, string>>;
  /**
   * The bearer token.
   *
   * @default that of the client
   */
  readonly token?: string;
  /** Time limit in milliseconds, after which the connection is closed. */
  readonly timeoutMs?: number;
}

/** A response; the test determines the type of its JSON. */
export interface TasksAnswer<Content> {
  /** The status code. */
  readonly status: number;
  /** The header fields, with names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  /** The body, parsed as JSON. */
  readonly json: Content;
}

/** The fields of a task that tests look at. */
export interface TaskJson {
  readonly id: string;
  readonly status: string;
  readonly date: string;
  readonly executions: number;
  readonly repetitions: number;
  readonly retries: number;
  readonly lost: number;
  readonly run: number;
  readonly version: number;
  readonly result: unknown;
  readonly error: { readonly code: string; readonly message: string } | null;
  readonly attempt: { readonly id: string } | null;
  readonly started_at: string | null;
  readonly finished_at: string | null;
}

/** The fields of a lease that tests look at. */
export interface LeaseJson {
  readonly id: string;
  readonly token: string;
  readonly fence: number;
  readonly expires_at: string;
  readonly task: TaskJson;
}

/** A record of a task's history. */
export interface HistoryJson {
  readonly seq: number;
  readonly at: string;
  readonly type: string;
  readonly attempt?: string;
  readonly status: string;
  readonly result?: string;
  readonly prev: string;
  readonly hash: string;
}

const TIMEOUT_MS = 20_000;

/**
 * A client that keeps connections open and uses as many at once as there are
 * calls under way.
 */
export class TasksClient {
  readonly #options: TasksClientOptions;
  readonly #idle: TasksConnection[] = [];
  readonly #busy = new Set<TasksConnection>();
  #isClosed = false;

  /** Creates a client that has no connections yet. */
  constructor(options: TasksClientOptions) {
    this.#options = options;
  }

  /**
   * Sends a request and reads the response.
   *
   * @throws {Error} When the connection can't be made, ends or takes too long.
   */
  async call<Content>(
    method: string,
    path: string,
    options: CallOptions = {},
  ): Promise<TasksAnswer<Content>> {
    const { host } = this.#options;
    const { body, token = this.#options.token } = options;
    const connection = await this.#connection();
    const timer = setTimeout(
      () => connection.close(),
      options.timeoutMs ?? TIMEOUT_MS,
    );
    try {
      const { status, headers, text } = await connection.exchange({
        method,
        path,
        headers: {
          host,
          ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
          ...(body === undefined ? {} : { "content-type": "application/json" }),
          ...options.headers,
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      this.#giveBack(connection, headers.connection === "close");
      const json = (text === "" ? undefined : JSON.parse(text)) as Content;
      return { status, headers, json };
    } catch (error) {
      connection.close();
      throw error;
    } finally {
      this.#busy.delete(connection);
      clearTimeout(timer);
    }
  }

  /**
   * Closes the connections that no call uses, which the service ends after a
   * while by itself. Later calls make others.
   */
  closeIdle(): void {
    for (const connection of this.#idle.splice(0)) connection.close();
  }

  /**
   * Sends a request that must be answered with `status`; returns the body.
   *
   * @throws {Error} When the response has another status.
   */
  async expect<Content>(
    status: number,
    [method, path, body]: readonly [string, string, unknown?],
  ): Promise<Content> {
    const answer = await this.call<Content>(
      method,
      path,
      body === undefined ? {} : { body },
    );
    if (answer.status === status) return answer.json;
    throw new Error(
      `Cannot ${method} ${path}: answered ${answer.status} in place of ` +
        `${status}: ${JSON.stringify(answer.json)}`,
    );
  }

  /** Closes all connections; calls under way fail. */
  close(): void {
    this.#isClosed = true;
    for (const connection of [...this.#idle, ...this.#busy]) connection.close();
    this.#idle.length = 0;
  }

  /** Closes all connections. */
  [Symbol.dispose](): void {
    this.close();
  }

  /**
   * Closes idle connections, since the service at their other end has ended.
   */
  forget(): void {
    for (const connection of this.#idle) connection.close();
    this.#idle.length = 0;
  }

  async #connection(): Promise<TasksConnection> {
    const connection = this.#idle.pop() ??
      await TasksConnection.open(this.#options.target());
    this.#busy.add(connection);
    return connection;
  }

  #giveBack(connection: TasksConnection, isLast: boolean): void {
    if (isLast || this.#isClosed) connection.close();
    else this.#idle.push(connection);
  }
}
