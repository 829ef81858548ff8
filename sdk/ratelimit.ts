/**
 * A client for the rate limit service over HTTP. Runs wherever `fetch` is.
 *
 * @module
 */

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
   * Hits to count; 0 looks without counting.
   *
   * @default {1}
   */
  readonly hits?: number;
}

/** A question: is this within its limits? */
export interface RateLimitRequest {
  /** The domain whose rules are asked. */
  readonly domain: string;
  /** What is to be limited; each descriptor is counted on its own. */
  readonly descriptors: readonly Descriptor[];
}

/** What became of one descriptor. */
export interface LimitStatus {
  /** True when this descriptor is within its limit. */
  readonly allowed: boolean;
  /** Requests that remain in the window; undefined when no limit applied. */
  readonly remaining: number | undefined;
  /** Requests allowed in one window; undefined when no limit applied. */
  readonly limit: number | undefined;
  /**
   * Seconds to the end of the window, or until a sliding window or token bucket
   * admits again; undefined when no limit applied.
   */
  readonly resetSeconds: number | undefined;
}

/** The answer to a {@linkcode RateLimitRequest}. */
export interface RateLimitDecision {
  /** True when the request may go on. */
  readonly allowed: boolean;
  /** One for each descriptor, in the order of the request. */
  readonly statuses: readonly LimitStatus[];
}

/** Options of {@linkcode RateLimitClient}. */
export interface RateLimitClientOptions {
  /** Where the service listens for HTTP, such as `http://127.0.0.1:8080`. */
  readonly url: string;
  /**
   * Milliseconds a call may take.
   *
   * @default {1000}
   */
  readonly timeoutMs?: number;
  /**
   * Makes the requests; to be replaced in tests.
   *
   * @default {fetch}
   */
  readonly fetch?: typeof fetch;
}

/** The service gave no decision. */
export class RateLimitError extends Error {
  /** Name of the class. */
  override readonly name = "RateLimitError";
  /** Status of the answer; undefined when there was none. */
  readonly status: number | undefined;

  /** An error with the status of the answer, where there was one. */
  constructor(
    message: string,
    options: ErrorOptions & { readonly status?: number } = {},
  ) {
    super(message, options);
    this.status = options.status;
  }
}

const DEFAULT_TIMEOUT_MS = 1_000;

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
   * A client of the service at `url`.
   *
   * @throws {TypeError} When `url` is no URL.
   */
  constructor(options: RateLimitClientOptions) {
    this.#url = new URL("/json", options.url).href;
    this.#timeoutMs = options.timeoutMs ?? DEFAULT_TIMEOUT_MS;
    const { fetch: givenFetch } = options;
    // Browsers refuse to run theirs as a method of another object.
    this.#fetch = (input, init) => (givenFetch ?? fetch)(input, init);
  }

  /**
   * Counts the request and tells whether it is within its limits.
   *
   * @throws {RateLimitError} When the service gives no decision in time. What
   * to do then is the caller's choice; most let the request pass.
   */
  async check(request: RateLimitRequest): Promise<RateLimitDecision> {
    const response = await this.#post(JSON.stringify({
      domain: request.domain,
      descriptors: request.descriptors.map(({ entries, hits }) => ({
        entries,
        ...(hits === undefined ? {} : { hitsAddend: hits }),
      })),
    }));
    const body: unknown = await bodyOf(response);
    if (response.status !== 200 && response.status !== 429) {
      throw new RateLimitError(
        `Cannot decide: the service answered ${response.status}` +
          detailOf(body),
        { status: response.status },
      );
    }
    return decisionOf(body, response.status);
  }

  async #post(body: string): Promise<Response> {
    try {
      return await this.#fetch(this.#url, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body,
        signal: AbortSignal.timeout(this.#timeoutMs),
      });
    } catch (cause) {
      throw new RateLimitError(
        `Cannot decide: no answer from ${this.#url} within ` +
          `${this.#timeoutMs} ms`,
        { cause },
      );
    }
  }
}

async function bodyOf(response: Response): Promise<unknown> {
  try {
    return await response.json();
  } catch (cause) {
    throw new RateLimitError(
      `Cannot decide: the service answered ${response.status} without JSON`,
      { status: response.status, cause },
    );
  }
}

function detailOf(body: unknown): string {
  const detail = isObject(body) ? body["detail"] : undefined;
  return typeof detail === "string" ? `, "${detail}"` : "";
}

function decisionOf(body: unknown, status: number): RateLimitDecision {
  const statuses = isObject(body) ? body["statuses"] ?? [] : undefined;
  if (!isObject(body) || !Array.isArray(statuses)) {
    throw new RateLimitError(
      "Cannot decide: the service's answer is no decision",
      { status },
    );
  }
  return {
    allowed: body["overallCode"] !== "OVER_LIMIT",
    statuses: statuses.map(statusOf),
  };
}

function statusOf(value: unknown): LimitStatus {
  const status = isObject(value) ? value : {};
  const current = status["currentLimit"];
  const allowed = status["code"] !== "OVER_LIMIT";
  if (!isObject(current)) {
    return {
      allowed,
      remaining: undefined,
      limit: undefined,
      resetSeconds: undefined,
    };
  }
  // Proto3 JSON leaves out what is 0.
  return {
    allowed,
    remaining: numberOf(status["limitRemaining"]) ?? 0,
    limit: numberOf(current["requestsPerUnit"]) ?? 0,
    resetSeconds: secondsOf(status["durationUntilReset"]),
  };
}

function numberOf(value: unknown): number | undefined {
  return typeof value === "number" ? value : undefined;
}

function secondsOf(value: unknown): number | undefined {
  const match = typeof value === "string" ? /^(\d+)s$/.exec(value) : null;
  return match === null ? undefined : Number(match[1]);
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}
