/**
 * A client of the rate limit service over HTTP. Runs in every runtime that has
 * `fetch`.
 *
 * @module
 */

import { CallerSignals } from "./memory/caller_signals.ts";
import { machineClock, runWithin } from "./memory/client_clock.ts";
import { findReason } from "./memory/failure_reason.ts";
import { type CallOptions, throwIfEnded } from "./memory/life.ts";
import {
  missingRule,
  type RateLimitDecision,
  type RateLimitRequest,
  readDecision,
} from "./ratelimit/decision.ts";

export type { CallOptions } from "./memory/life.ts";
export type {
  Descriptor,
  Entry,
  LimitStatus,
  RateLimitDecision,
  RateLimitRequest,
} from "./ratelimit/decision.ts";

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
   * Whether a descriptor that no rule limits or exempts is refused: `check()`
   * rejects then, with the code `no_rule`. The service allows it, so a domain
   * or a key that is mistyped would let everything pass. Rules say
   * `unlimited: true` of what is exempt.
   *
   * @default {false}
   */
  readonly strict?: boolean;
  /**
   * Makes the requests. Replace it for tests.
   *
   * @default {fetch}
   */
  readonly fetch?: typeof fetch;
}

/**
 * Why there is no decision: `unreachable` when no answer came, `no_decision`
 * when the answer is another one, `no_rule` when a strict client refuses it.
 */
export type RateLimitErrorCode = "unreachable" | "no_decision" | "no_rule";

/** The service gave no decision, or a strict client takes none without a rule. */
export class RateLimitError extends Error {
  /** Name of the class. */
  override readonly name = "RateLimitError";
  /** Why there is no decision. */
  readonly code: RateLimitErrorCode;
  /** HTTP status of the answer; undefined when no answer arrived. */
  readonly status: number | undefined;

  /** Creates an error with the status of the answer, if one arrived. */
  constructor(
    message: string,
    options: ErrorOptions & {
      readonly status?: number | undefined;
      readonly code?: RateLimitErrorCode;
    } = {},
  ) {
    super(message, options);
    this.code = options.code ?? "no_decision";
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
  readonly #strict: boolean;
  readonly #fetch: typeof fetch;
  readonly #callers = new CallerSignals();

  /**
   * Creates a client of the service at `url`.
   *
   * @throws {TypeError} When `url` is not a URL over HTTP or HTTPS, or
   * `timeoutMs` is not above 0.
   */
  constructor(options: RateLimitClientOptions) {
    const { url, timeoutMs = DEFAULT_TIMEOUT_MS, fetch: given } = options ?? {};
    if (!/^https?:\/\/./.test(url)) {
      throw new TypeError(
        `Cannot use url "${url}": no http address`,
      );
    }
    if (!(timeoutMs > 0)) {
      throw new TypeError(`Cannot use timeoutMs ${timeoutMs}: not above 0`);
    }
    // Written without the setters of a URL, which React Native does not have.
    this.#url = new URL(url).href.replace(/#.*/, "")
      .replace(/(?:\/json)?\/*(?=\?|$)/, "/json");
    this.#timeoutMs = Math.min(timeoutMs, MAX_TIMEOUT_MS);
    this.#strict = options.strict ?? false;
    // `fetch` is called as a function, because browsers refuse to run it as a
    // method of another object.
    this.#fetch = (input, init) => (given ?? fetch)(input, init);
  }

  /**
   * Counts the request and tells whether it is within its limits.
   *
   * @throws {TypeError} When the request has no domain or no descriptors.
   * @throws {RateLimitError} When the service gives no decision in time. The
   * caller decides what to do then; most let the request pass. With `strict`
   * also where a descriptor has no rule; hits of the others are counted.
   * @throws {unknown} The signal's reason, when it aborts; the service may have
   * counted the hits all the same.
   */
  async check(
    request: RateLimitRequest,
    { signal }: CallOptions = {},
  ): Promise<RateLimitDecision> {
    const { domain, descriptors } = request;
    const isWhole = domain !== "" && descriptors.length > 0 &&
      descriptors.every(({ entries }) => entries.length > 0);
    if (!isWhole) {
      throw new TypeError(
        "Cannot decide: domain, descriptors or entries empty",
      );
    }
    const { status, body } = await this.#post(
      JSON.stringify({
        domain,
        descriptors: descriptors.map(({ entries, hits: hitsAddend }) => ({
          entries,
          hitsAddend,
        })),
      }),
      signal,
    );
    if (status !== 200 && status !== 429) {
      const { detail }: { readonly detail?: unknown } = Object(body);
      const said = typeof detail === "string" ? `, "${detail}"` : "";
      throw new RateLimitError(
        `Cannot decide: the service answered ${status}${said}`,
        { status },
      );
    }
    const decision = readDecision(body, status);
    if (decision === undefined) {
      throw new RateLimitError(
        "Cannot decide: the answer is not a decision",
        { status },
      );
    }
    const fault = this.#strict ? missingRule(request, decision) : undefined;
    if (fault !== undefined) {
      throw new RateLimitError(fault, { status, code: "no_rule" });
    }
    return decision;
  }

  async #post(
    request: string,
    signal: AbortSignal | undefined,
  ): Promise<{ readonly status: number; readonly body: unknown }> {
    const timeoutMs = this.#timeoutMs;
    const signals = this.#callers.toList(signal);
    let status: number | undefined;
    const send = async (limit: AbortSignal) => {
      const response = await this.#fetch(this.#url, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: request,
        signal: limit,
      });
      ({ status } = response);
      return { status, body: await response.json() };
    };
    try {
      return await runWithin(send, {
        signals,
        deadline: {
          clock: machineClock,
          timeoutMs,
          error: () => new Error(`none in ${timeoutMs} ms`),
        },
      });
    } catch (cause) {
      signals.forEach(throwIfEnded);
      const { name } = Object(cause);
      const why = findReason(cause);
      const state = name === "SyntaxError"
        ? `the service answered ${status} without JSON`
        : `no answer from ${this.#url}: ${why}`;
      throw new RateLimitError(`Cannot decide: ${state}`, {
        ...{ status, cause },
        code: status === undefined ? "unreachable" : "no_decision",
      });
    }
  }
}
