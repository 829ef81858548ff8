/**
 * A client of the API for tests: it names the tenant in the Host header and
 * connects to the loopback interface.
 *
 * @module
 */

import { type ConnectionTarget, TasksConnection } from "./tasks_connection.ts";

/** Who calls, and where. */
export interface TasksClientOptions {
  /** Where to connect; asked again for each new connection. */
  readonly target: () => ConnectionTarget;
  /** The Host header. */
  readonly host: string;
  /**
   * The bearer token.
   *
   * @default none
   */
  readonly token?: string;
}

/** What a call may have beside method and path. */
export interface CallOptions {
  /** Sent as JSON. */
  readonly body?: unknown;
  /** Further header fields. */
  readonly headers?: Readonly<Record<string, string>>;
  /**
   * The bearer token.
   *
   * @default that of the client
   */
  readonly token?: string;
  /** Milliseconds after which the connection is cut. */
  readonly timeoutMs?: number;
}

/** An answer; what its JSON holds is for the test to know. */
export interface TasksAnswer<Content> {
  /** The status code. */
  readonly status: number;
  /** Header fields, names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  /** The content, read as JSON. */
  readonly json: Content;
}

/** A task as far as tests look at it. */
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

/** A lease as far as tests look at it. */
export interface LeaseJson {
  readonly id: string;
  readonly token: string;
  readonly fence: number;
  readonly expires_at: string;
  readonly task: TaskJson;
}

/** A record of a history, with proof. */
export interface HistoryJson {
  readonly seq: number;
  readonly at: string;
  readonly type: string;
  readonly status: string;
  readonly prev: string;
  readonly hash: string;
  readonly text: string;
}

const TIMEOUT_MS = 20_000;

/** Calls over connections that are kept open, as many at once as are asked for. */
export class TasksClient {
  readonly #options: TasksClientOptions;
  readonly #idle: TasksConnection[] = [];
  readonly #busy = new Set<TasksConnection>();
  #isClosed = false;

  /** A client without connections yet. */
  constructor(options: TasksClientOptions) {
    this.#options = options;
  }

  /**
   * Makes a call.
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
   * Makes a call that must be answered with a status.
   *
   * @throws {Error} When it is another one.
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

  /** Forgets the connections to a service that has ended. */
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
