/**
 * HTTP calls of the tasks service: the address, credentials, timeouts, retries
 * and errors of all calls are handled here.
 *
 * @module
 */

import { randomUuid } from "../memory/cryptography.ts";
import { CallerSignals } from "../memory/caller_signals.ts";
import {
  type ClientClock,
  machineClock,
  pause,
  runWithin,
} from "../memory/client_clock.ts";
import { findReason } from "../memory/failure_reason.ts";
import { Life, throwIfEnded } from "../memory/life.ts";
import type { Problem } from "./api_types.ts";
import { type Page, PagedList } from "./pages.ts";
import { problemError, TasksError } from "./tasks_error.ts";

/** Options of a connection to the tasks service. */
export interface TasksConnection {
  /**
   * The URL of the tenant, such as `https://acme.tasks.example.com`; the API is
   * at `/api` below it. `deno task dev` has the tenant `acme` at
   * `http://127.0.0.1:8070/t/acme`.
   */
  readonly url: string;
  /** An API key (`dk_…`), a user's token, or a worker's credential (`wk_…`). */
  readonly key: string;
  /**
   * Timeout in milliseconds of each try of a call.
   *
   * @default {10000}
   */
  readonly timeoutMs?: number | undefined;
  /**
   * How often a call is retried after an error that may pass: no connection, no
   * answer, the refusal of a proxy, or a service that is overloaded or
   * restarting. Calls that create
   * something have an idempotency key, so that retries do not create it twice.
   *
   * @default {3}
   */
  readonly maxRetries?: number | undefined;
  /**
   * Additional headers of every request, such as those that a proxy needs.
   *
   * @default {{}}
   */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /**
   * Makes the requests. Replace it for tests.
   *
   * @default {fetch}
   */
  readonly fetch?: typeof fetch | undefined;
  /**
   * Tells the time and sets timers. Replace it for tests.
   *
   * @default the machine's clock
   */
  readonly clock?: ClientClock | undefined;
}

/** Options of every call. */
export interface CallOptions {
  /**
   * Aborts the call, which then rejects with the signal's reason.
   *
   * @default none
   */
  readonly signal?: AbortSignal | undefined;
}

/** Options of a call that creates or starts something. */
export interface MakeOptions extends CallOptions {
  /**
   * The idempotency key of the call, so that repeated calls create it once.
   * Derive the key from what it stands for, such as an order's number, where a
   * restarted program would call again. The service keeps the key for 24 hours.
   *
   * @default a random key, which covers the client's own retries
   */
  readonly idempotencyKey?: string | undefined;
}

/** Options of a call that changes something. */
export interface ChangeOptions extends CallOptions {
  /**
   * Makes the change only if this is the current `version`; otherwise the call
   * fails with `precondition_failed`.
   *
   * @default any version
   */
  readonly ifVersion?: number | undefined;
}

/** Parameters of a query; the values of a list are joined with commas. */
type Query = Readonly<
  Record<
    string,
    string | number | boolean | readonly (string | number)[] | undefined
  >
>;

/** One request to the service, and how it is made. */
export interface ServiceCall extends CallOptions {
  /** The name of the action in errors, such as `create the task`. */
  readonly action: string;
  /** The HTTP method. */
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** The path below `/v1/`, in segments that are not encoded yet. */
  readonly path: readonly string[];
  /** What stands behind the question mark. */
  readonly query?: Query | undefined;
  /** The body; undefined for a request without one. */
  readonly body?: unknown;
  /** Additional headers. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /**
   * Whether the request may be sent again.
   *
   * @default true, except for POST
   */
  readonly isRepeatable?: boolean | undefined;
  /** Milliseconds to add to the usual timeout. */
  readonly extraMs?: number | undefined;
}

const DEFAULT_TIMEOUT_MS = 10_000;
const DEFAULT_RETRIES = 3;
const FIRST_PAUSE_MS = 200;
const LONGEST_PAUSE_MS = 5_000;
/**
 * The longest pause that is made because of `Retry-After`; a call whose answer
 * asks for more is not retried.
 */
const LONGEST_RETRY_AFTER_MS = 30_000;
/**
 * With a 408 or 429 a service says that it has not begun with a request: its
 * body did not arrive in time, or there were too many requests.
 */
const PASSING_STATUSES: readonly number[] = [408, 429, 500, 502, 503, 504];

/** Makes calls to one service. */
export class ServiceCalls {
  readonly #base: string;
  readonly #headers: Readonly<Record<string, string>>;
  readonly #timeoutMs: number;
  readonly #maxRetries: number;
  readonly #fetch: typeof fetch;
  readonly #clock: ClientClock;
  readonly #callers = new CallerSignals();

  /**
   * Creates calls to the service at `url`.
   *
   * @throws {TypeError} When an option is not valid.
   */
  constructor(connection: TasksConnection) {
    const {
      url,
      key,
      timeoutMs = DEFAULT_TIMEOUT_MS,
      maxRetries = DEFAULT_RETRIES,
    } = connection ?? {};
    this.#base = parseBaseUrl(url);
    if (key === undefined) {
      throw new TypeError("Cannot use the tasks service: key is missing");
    }
    if (typeof key !== "string" || !/^[\x21-\x7e]+$/.test(key)) {
      throw new TypeError(
        "Cannot use the tasks service: key is empty or has characters that no " +
          "credential has",
      );
    }
    if (!(timeoutMs > 0)) {
      throw new TypeError(
        `Cannot use the tasks service: timeoutMs is ${timeoutMs}, not above 0`,
      );
    }
    if (!Number.isSafeInteger(maxRetries) || maxRetries < 0) {
      throw new TypeError(
        `Cannot use the tasks service: maxRetries is ${maxRetries}, not a whole ` +
          "number from 0",
      );
    }
    // Names of header fields have no case, so that `Authorization` among the
    // additional ones is replaced, not joined with this one.
    const headers = new Headers({ ...connection.headers });
    headers.set("authorization", `Bearer ${key}`);
    this.#headers = Object.fromEntries(headers);
    this.#timeoutMs = timeoutMs;
    this.#maxRetries = maxRetries;
    const { fetch: given } = connection;
    // `fetch` is called as a function, because browsers refuse to run it as a
    // method of another object.
    this.#fetch = (input, init) => (given ?? fetch)(input, init);
    this.#clock = connection.clock ?? machineClock;
  }

  /** The clock that pauses and timeouts use. */
  get clock(): ClientClock {
    return this.#clock;
  }

  /**
   * Waits for `delayMs` milliseconds.
   *
   * @throws {unknown} The signal's reason, when it ends the wait.
   */
  async pause(delayMs: number, signal: AbortSignal | undefined): Promise<void> {
    await pause(delayMs, {
      clock: this.#clock,
      signal: signal === undefined ? new Life() : this.#callers.of(signal),
    });
  }

  /**
   * Makes a call, and retries it after an error that may pass, if the request
   * may be sent again.
   *
   * @returns The body; undefined for an answer without one.
   * @throws {TasksError} When the service refuses or gives no answer.
   * @throws {TypeError} When an id is empty, or the body cannot be written as
   * JSON. Nothing was sent.
   */
  async call<Body>(call: ServiceCall): Promise<Body> {
    const isRepeatable = call.isRepeatable ?? call.method !== "POST";
    let mayBeDone = false;
    for (let retries = 0;; retries++) {
      try {
        return await this.#try<Body>(call);
      } catch (error) {
        if (mayBeDone && isGone(error, call)) return undefined as Body;
        const isLast = !isRepeatable || retries === this.#maxRetries;
        if (isLast || !isPassing(error)) throw error;
        mayBeDone ||= (error.status ?? 500) >= 500;
        await this.#pause(error, { retries, signal: call.signal });
      }
    }
  }

  /** Reads what is at a path. */
  async read<Body>(
    action: string,
    call: Pick<ServiceCall, "path" | "query" | "signal">,
  ): Promise<Body> {
    const { path, query, signal } = call;
    return await this.call({ action, method: "GET", path, query, signal });
  }

  /** Returns a list whose pages are at a path. */
  list<Item, Of extends Page<Item>>(
    action: string,
    { path, query, signal }: Pick<ServiceCall, "path" | "query" | "signal">,
  ): PagedList<Item, Of> {
    return new PagedList((cursor) =>
      this.read(action, { path, query: { ...query, cursor }, signal })
    );
  }

  /**
   * Opens an answer that is read as it comes. The timeout is for its head.
   *
   * @returns The body, which `ending` ends.
   * @throws {TasksError} When the service refuses or gives no answer.
   */
  async open(
    { ending, action, path, query, headers, signal }:
      & Omit<
        ServiceCall,
        "method" | "body"
      >
      & {
        /** Ends the request and its answer. */
        readonly ending: AbortController;
      },
  ): Promise<ReadableStream<Uint8Array>> {
    const call = { action, path, query, method: "GET" } as const;
    const url = this.#base + pathText(call) + queryText(query);
    const open = async (): Promise<ReadableStream<Uint8Array>> => {
      const response = await this.#fetch(url, {
        headers: { ...this.#headers, accept: "text/event-stream", ...headers },
        signal: ending.signal,
        redirect: "manual",
      });
      if (response.ok && response.body !== null) return response.body;
      const text = response.ok ? "-" : await response.text();
      return this.#answer(response, { text, action });
    };
    return await this.#within(open, { action, signal });
  }

  /**
   * Makes a call that creates something, with an idempotency key, so that
   * retries do not create it twice.
   */
  async make<Body>(
    action: string,
    call: Pick<ServiceCall, "path" | "body" | "headers" | "extraMs">,
    { signal, idempotencyKey = randomUuid() }: MakeOptions,
  ): Promise<Body> {
    return await this.call({
      ...call,
      action,
      method: "POST",
      headers: { ...call.headers, "idempotency-key": idempotencyKey },
      isRepeatable: true,
      signal,
    });
  }

  /**
   * Pauses before a retry: as long as the service asks for, or longer with each
   * retry.
   */
  async #pause(
    error: TasksError,
    { retries, signal }: {
      readonly retries: number;
      readonly signal: AbortSignal | undefined;
    },
  ): Promise<void> {
    const { retryAfterMs } = error;
    if (retryAfterMs !== undefined && retryAfterMs > LONGEST_RETRY_AFTER_MS) {
      throw error;
    }
    const longestMs = Math.min(FIRST_PAUSE_MS * 2 ** retries, LONGEST_PAUSE_MS);
    // The random part keeps callers that failed together from retrying at the
    // same time.
    const delayMs = retryAfterMs ?? longestMs * (0.5 + Math.random() / 2);
    await this.pause(delayMs, signal);
  }

  async #try<Body>(call: ServiceCall): Promise<Body> {
    const { action, method, body } = call;
    const url = this.#base + pathText(call) + queryText(call.query);
    const isPatch = method === "PATCH";
    const json = body === undefined ? undefined : toJson(body, action);
    const send = async (limit: AbortSignal): Promise<Body> => {
      const response = await this.#fetch(url, {
        method,
        headers: {
          ...this.#headers,
          accept: "application/json",
          ...(body === undefined ? {} : {
            "content-type": `application/${isPatch ? "merge-patch+" : ""}json`,
          }),
          ...call.headers,
        },
        body: json ?? null,
        signal: limit,
        redirect: "manual",
      });
      const text = await response.text();
      return await this.#answer<Body>(response, { text, action });
    };
    return await this.#within(send, call);
  }

  /** Runs a request within the timeout, and names what it fails of. */
  async #within<Answer>(
    send: (limit: AbortSignal) => Promise<Answer>,
    { action, signal, extraMs = 0 }: Pick<
      ServiceCall,
      "action" | "signal" | "extraMs"
    >,
  ): Promise<Answer> {
    const signals = this.#callers.toList(signal);
    const timeoutMs = this.#timeoutMs + extraMs;
    try {
      return await runWithin(send, {
        signals,
        deadline: {
          clock: this.#clock,
          timeoutMs,
          error: () =>
            new TasksError(
              `Cannot ${action}: no answer from ${this.#base} within ${timeoutMs} ms`,
              { code: "no_answer" },
            ),
        },
      });
    } catch (cause) {
      if (cause instanceof TasksError) throw cause;
      signals.forEach(throwIfEnded);
      throw new TasksError(
        `Cannot ${action}: cannot reach ${this.#base}: ${findReason(cause)}`,
        { code: "unreachable", cause },
      );
    }
  }

  #answer<Body>(
    response: Response,
    { text, action }: { readonly text: string; readonly action: string },
  ): Body {
    const { status } = response;
    const body = parsed(text);
    if (status >= 200 && status < 300 && (text === "" || body !== undefined)) {
      return body as Body;
    }
    const retryAfterMs = parseRetryAfter(response.headers.get("retry-after"));
    if (isProblem(body)) throw problemError(body, { action, retryAfterMs });
    throw new TasksError(
      `Cannot ${action}: ${this.#base} answered ${status} with something else ` +
        "than the tasks service does; is it the address of a tenant?",
      { code: "unexpected_answer", status, retryAfterMs },
    );
  }
}

/**
 * Returns the base URL of the API: `https://acme.example.com/api/v1/` for
 * `https://acme.example.com`.
 */
function parseBaseUrl(url: string): string {
  const parsedUrl = parseUrl(url);
  if (parsedUrl === undefined || !/^https?:$/.test(parsedUrl.protocol)) {
    throw new TypeError(
      `Cannot use the tasks service: url is ${
        JSON.stringify(url)
      }, not an address such as https://acme.tasks.example.com`,
    );
  }
  const path = parsedUrl.pathname.replace(/(?:\/api)?\/*$/, "");
  return `${parsedUrl.origin}${path}/api/v1/`;
}

/**
 * Returns the path of a call, encoded.
 *
 * An empty segment, `.` or `..` would make it the path of something else:
 * `tasks/` is the list of tasks, and `tasks/..` all that is above it.
 */
function pathText({ path, action }: ServiceCall): string {
  return path.map((segment: unknown) => {
    if (typeof segment !== "string" || /^\.{0,2}$/.test(segment)) {
      throw new TypeError(
        `Cannot ${action}: an id or a name is ${
          JSON.stringify(segment) ?? "undefined"
        }; give one that the service answered`,
      );
    }
    return encodeURIComponent(segment);
  }).join("/");
}

/** Does not use `URL.canParse`, which React Native does not have. */
function parseUrl(text: string): URL | undefined {
  try {
    return new URL(text);
  } catch {
    return undefined;
  }
}

function toJson(body: unknown, action: string): string {
  try {
    return JSON.stringify(body);
  } catch (cause) {
    throw new TypeError(
      `Cannot ${action}: the body is not JSON: ${findReason(cause)}`,
      { cause },
    );
  }
}

function queryText(query: Query = {}): string {
  const parts = Object.entries(query).flatMap(([name, value]) => {
    if (value === undefined) return [];
    const values = Array.isArray(value) ? value : [value];
    // Commas within values are encoded; the commas between values are not.
    const text = values.map((one) => encodeURIComponent(String(one))).join(",");
    return [`${encodeURIComponent(name)}=${text}`];
  });
  return parts.length === 0 ? "" : `?${parts.join("&")}`;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // JSON never has the value undefined, so it marks an answer that is not
    // JSON.
    return undefined;
  }
}

function isProblem(body: unknown): body is Problem {
  if (typeof body !== "object" || body === null) return false;
  const { code, title, status }: Partial<Record<keyof Problem, unknown>> = body;
  return typeof code === "string" && typeof title === "string" &&
    typeof status === "number";
}

/**
 * Reads `Retry-After` in seconds, as the service writes it. For a date it
 * returns undefined, and the usual pause is made.
 */
function parseRetryAfter(text: string | null): number | undefined {
  return text !== null && /^\d{1,9}$/.test(text)
    ? Number(text) * 1_000
    : undefined;
}

/**
 * Tells whether what is to be removed is gone. After a try whose answer was
 * lost, the same try has most likely removed it.
 */
function isGone(error: unknown, { method }: ServiceCall): boolean {
  return method === "DELETE" && error instanceof TasksError &&
    error.code === "not_found";
}

/**
 * Tells whether an error may pass, so that a retry may succeed: no connection,
 * no answer, a service that is overloaded, or a proxy that answers in its place.
 */
export function isPassing(error: unknown): error is TasksError {
  if (!(error instanceof TasksError)) return false;
  const { code, status } = error;
  // A proxy refuses as well while a service is replaced.
  const isForeign = code === "unexpected_answer" && (status ?? 0) >= 400;
  return code === "unreachable" || code === "no_answer" || isForeign ||
    code === "idempotency_in_progress" ||
    (status !== undefined && PASSING_STATUSES.includes(status));
}
