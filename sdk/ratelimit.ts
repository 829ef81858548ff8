/**
 * A client of the rate limit service over HTTP. Runs in every runtime that has
 * `fetch`.
 *
 * @module
 */

import { isObject } from "./memory/answer_reader.ts";
import { reasonOf } from "./memory/failure_reason.ts";

/** One key with its value. */
export interface Entry {
  /** The key, such as `client_id`. */
  readonly key: string;
  /** The value; may be empty. */
  readonly value: string;
}

/** A list of entries that selects one rule. */
export interface Descriptor {
  /** The entries, outermost first. */
  readonly entries: readonly Entry[];
  /**
   * Hits to count; 0 reads the limit without counting.
   *
   * @default {1}
   */
  readonly hits?: number;
}

/** A request for a decision: is this within its limits? */
export interface RateLimitRequest {
  /** The domain whose rules apply. */
  readonly domain: string;
  /** The descriptors to check; each is counted on its own. */
  readonly descriptors: readonly Descriptor[];
}

/** The decision for one descriptor. */
export interface LimitStatus {
  /** True when this descriptor is within its limit. */
  readonly allowed: boolean;
  /** Requests that remain in the window; undefined when no limit applied. */
  readonly remaining: number | undefined;
  /**
   * Requests that are allowed in one window; undefined when no limit applied.
   */
  readonly limit: number | undefined;
  /**
   * Seconds to the end of the window, or until a sliding window or token bucket
   * admits a request again; undefined when no limit applied.
   */
  readonly resetSeconds: number | undefined;
}

/** The answer to a {@linkcode RateLimitRequest}. */
export interface RateLimitDecision {
  /** True when all descriptors are within their limits. */
  readonly allowed: boolean;
  /** One status for each descriptor, in the order of the request. */
  readonly statuses: readonly LimitStatus[];
}

/** Options of {@linkcode RateLimitClient}. */
export interface RateLimitClientOptions {
  /**
   * The URL of the service's HTTP interface, such as `http://127.0.0.1:8080`.
   * Behind a proxy it may have a path, to which `/json` is added.
   */
  readonly url: string;
  /**
   * Timeout of a call in milliseconds, above 0.
   *
   * @default {1000}
   */
  readonly timeoutMs?: number;
  /**
   * Makes the requests. Replace it for tests.
   *
   * @default {fetch}
   */
  readonly fetch?: typeof fetch;
}

/** The service gave no decision. */
export class RateLimitError extends Error {
  /** Name of the class. */
  override readonly name = "RateLimitError";
  /** HTTP status of the answer; undefined when no answer arrived. */
  readonly status: number | undefined;

  /** Creates an error with the status of the answer, if one arrived. */
  constructor(
    message: string,
    options: ErrorOptions & { readonly status?: number | undefined } = {},
  ) {
    super(message, options);
    this.status = options.status;
  }
}

const DEFAULT_TIMEOUT_MS = 1_000;
/** The longest delay of the runtimes' timers; a longer one fires at once. */
const MAX_TIMEOUT_MS = 2_147_483_647;

/**
 * Asks the rate limit service for decisions.
 *
 * @example Ask before doing work
 * ```ts
 * import { RateLimitClient } from "@tercet/sdk/ratelimit";
 *
 * const limits = new RateLimitClient({
 *   url: "http://127.0.0.1:8080",
 *   // A service that allows everything, so that this example runs by itself.
 *   fetch: () => Promise.resolve(Response.json({ overallCode: "OK" })),
 * });
 * const { allowed } = await limits.check({
 *   domain: "edge",
 *   descriptors: [{ entries: [{ key: "login", value: "ada" }] }],
 * });
 * console.log(allowed); // true
 * ```
 */
export class RateLimitClient {
  readonly #url: string;
  readonly #timeoutMs: number;
  readonly #fetch: typeof fetch;

  /**
   * Creates a client of the service at `url`.
   *
   * @throws {TypeError} When `url` is not a URL over HTTP or HTTPS, or
   * `timeoutMs` is not above 0.
   */
  constructor(options: RateLimitClientOptions) {
    const { url, timeoutMs = DEFAULT_TIMEOUT_MS, fetch: given } = options;
    if (!/^https?:\/\/./.test(url)) {
      throw new TypeError(
        `Cannot use url "${url}": no http address`,
      );
    }
    if (!(timeoutMs > 0)) {
      throw new TypeError(`Cannot use timeoutMs ${timeoutMs}: not above 0`);
    }
    const address = new URL(url);
    address.pathname = address.pathname.replace(/(?:\/json)?\/*$/, "/json");
    this.#url = address.href;
    this.#timeoutMs = Math.min(timeoutMs, MAX_TIMEOUT_MS);
    // `fetch` is called as a function, because browsers refuse to run it as a
    // method of another object.
    this.#fetch = (input, init) => (given ?? fetch)(input, init);
  }

  /**
   * Counts the request and tells whether it is within its limits.
   *
   * @throws {TypeError} When the request has no domain or no descriptors.
   * @throws {RateLimitError} When the service gives no decision in time. The
   * caller decides what to do then; most let the request pass.
   */
  async check(request: RateLimitRequest): Promise<RateLimitDecision> {
    const { domain, descriptors } = request;
    const isWhole = domain !== "" && descriptors.length > 0 &&
      descriptors.every(({ entries }) => entries.length > 0);
    if (!isWhole) {
      throw new TypeError(
        "Cannot decide: domain, descriptors or entries empty",
      );
    }
    const { status, body } = await this.#post(JSON.stringify({
      domain,
      descriptors: descriptors.map(({ entries, hits: hitsAddend }) => ({
        entries,
        hitsAddend,
      })),
    }));
    if (status !== 200 && status !== 429) {
      const { detail }: { readonly detail?: unknown } = Object(body);
      const said = typeof detail === "string" ? `, "${detail}"` : "";
      throw new RateLimitError(
        `Cannot decide: the service answered ${status}${said}`,
        { status },
      );
    }
    return decisionOf(body, status);
  }

  async #post(
    request: string,
  ): Promise<{ readonly status: number; readonly body: unknown }> {
    let status: number | undefined;
    try {
      const response = await this.#fetch(this.#url, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: request,
        signal: AbortSignal.timeout(this.#timeoutMs),
      });
      ({ status } = response);
      return { status, body: await response.json() };
    } catch (cause) {
      const { name } = Object(cause);
      const why = name === "TimeoutError"
        ? `none in ${this.#timeoutMs} ms`
        : reasonOf(cause);
      const state = name === "SyntaxError"
        ? `the service answered ${status} without JSON`
        : `no answer from ${this.#url}: ${why}`;
      throw new RateLimitError(`Cannot decide: ${state}`, { status, cause });
    }
  }
}

function decisionOf(body: unknown, status: number): RateLimitDecision {
  const { overallCode, statuses }: Readonly<Record<string, unknown>> =
    isObject(body) ? body : { statuses: false };
  const isOver = overallCode === "OVER_LIMIT";
  const list = statuses ?? [];
  // A proxy may refuse requests with 429, too.
  if (!Array.isArray(list) || (status === 429 && !isOver)) {
    throw new RateLimitError(
      "Cannot decide: the answer is no decision",
      { status },
    );
  }
  return { allowed: !isOver, statuses: list.map(statusOf) };
}

function statusOf(value: unknown): LimitStatus {
  const status: Readonly<Record<string, unknown>> = Object(value);
  const current = status["currentLimit"];
  const limit = isObject(current) ? current : undefined;
  return {
    allowed: status["code"] !== "OVER_LIMIT",
    remaining: limit && countOf(status["limitRemaining"]),
    limit: limit && countOf(limit["requestsPerUnit"]),
    resetSeconds: limit && secondsOf(status["durationUntilReset"]),
  };
}

/** Proto3 JSON leaves out fields whose value is 0. */
function countOf(value: unknown): number {
  return typeof value === "number" ? value : 0;
}

function secondsOf(value: unknown): number | undefined {
  const seconds = /^(\d+)s$/.exec(String(value))?.[1];
  return seconds ? Number(seconds) : undefined;
}
