/**
 * Calls to the URLs of push workers: checked, bounded in time and size; the outcome
 * is a value whatever happens.
 *
 * @module
 */

import { type Clock, systemClock } from "../../shared/clock.ts";
import { quote } from "../../shared/quote.ts";
import {
  createGuardedLookup,
  type Resolve,
  systemResolve,
} from "./address_guard.ts";
import { type PushOutcome, readAnswer } from "./push_answer.ts";
import type { PushRefusal } from "./push_exchange.ts";
import {
  type CallRules,
  judgeHeaders,
  judgeTarget,
  type Target,
} from "./call_rules.ts";

/** One call. */
export interface PushRequest {
  /** The worker's URL. */
  readonly url: string;
  /** The HTTP method. */
  readonly method: string;
  /** The headers. */
  readonly headers: Readonly<Record<string, string>>;
  /** The body. */
  readonly body: string;
  /** Milliseconds for all of it, name resolution and the answer's body too. */
  readonly timeoutMs: number;
  /** Ends the call before its time; its outcome is `canceled` then. */
  readonly signal?: AbortSignal;
}

/** Options of {@linkcode PushCaller}. */
interface PushCallerOptions extends CallRules {
  /**
   * Authorities that are trusted in place of the runtime's, as PEM. To trust
   * one more, name its file in `NODE_EXTRA_CA_CERTS`.
   *
   * @default the runtime's
   */
  readonly trustedCaPem?: string;
  /**
   * Finds the addresses of a host.
   *
   * @default the resolver of the operating system
   */
  readonly resolve?: Resolve;
  /**
   * Measures time-outs and tells the time of day.
   *
   * @default the clock of the machine
   */
  readonly clock?: Clock;
}

const METHODS: readonly string[] = ["DELETE", "GET", "PATCH", "POST", "PUT"];

/** Makes push calls, as many at once as are asked for. */
export class PushCaller {
  readonly #rules: CallRules;
  readonly #resolve: Resolve;
  readonly #clock: Clock;
  readonly #trustedCaPem: string | undefined;
  #client: ReturnType<typeof loadClient> | undefined;
  readonly #running = new Map<AbortController, Promise<PushOutcome>>();
  #isClosed = false;

  /** A caller whose rules stay as they are. */
  constructor(options: PushCallerOptions) {
    this.#rules = options;
    this.#resolve = options.resolve ?? systemResolve;
    this.#clock = options.clock ?? systemClock;
    this.#trustedCaPem = options.trustedCaPem;
  }

  /**
   * Makes a call. What the request, the network or the worker gets wrong is in
   * the outcome; this never rejects, and takes no longer than the request's
   * time-out.
   */
  async call(request: PushRequest): Promise<PushOutcome> {
    const verdict = judgeTarget(request.url, this.#rules);
    if (verdict.kind === "refused") return verdict;
    const refusal = refusalOf(request);
    if (refusal !== undefined) return refusal;
    // One controller for each call: a composite of signals would be kept alive
    // by the long-lived ones among them.
    const ending = new AbortController();
    const call = this.#exchange(request, verdict.target, ending);
    this.#running.set(ending, call);
    try {
      return await call;
    } finally {
      this.#running.delete(ending);
    }
  }

  /**
   * Ends all calls, whose outcome is `canceled` then, as is that of later ones.
   * Resolves when nothing is left of them.
   */
  async close(): Promise<void> {
    this.#isClosed = true;
    for (const ending of this.#running.keys()) ending.abort();
    await Promise.all(this.#running.values());
  }

  async #exchange(
    request: PushRequest,
    target: Target,
    ending: AbortController,
  ): Promise<PushOutcome> {
    const beginMs = performance.now();
    const cancel = (): void => ending.abort();
    let isLate = false;
    const timer = this.#clock.setTimer(() => {
      isLate = !ending.signal.aborted;
      ending.abort();
    }, request.timeoutMs);
    if (this.#isClosed || request.signal?.aborted) cancel();
    request.signal?.addEventListener("abort", cancel);
    try {
      this.#client ??= loadClient(this.#trustedCaPem);
      const { exchange, failureOf, secureContext } = await this.#client;
      const result = await exchange({
        target,
        method: request.method,
        headers: request.headers,
        body: request.body,
        lookup: createGuardedLookup({
          port: target.port,
          allowList: this.#rules.allowList,
          resolve: this.#resolve,
        }),
        secureContext,
        signal: ending.signal,
      });
      const durationMs = Math.round(performance.now() - beginMs);
      if (result.kind === "answered") {
        const nowMs = this.#clock.nowMs();
        return readAnswer(result.answer, { nowMs, durationMs });
      }
      return failureOf(result, {
        origin: target.origin,
        durationMs,
        timeoutMs: isLate ? request.timeoutMs : undefined,
      });
    } finally {
      timer.cancel();
      request.signal?.removeEventListener("abort", cancel);
    }
  }
}

/**
 * What the first call needs: a service that pushes nothing starts without it, and
 * to read the authorities for each call is costly.
 */
async function loadClient(trustedCaPem: string | undefined) {
  const [{ exchange, failureOf }, { createSecureContext }] = await Promise.all([
    import("./push_exchange.ts"),
    import("node:tls"),
  ]);
  const secureContext = createSecureContext({ ca: trustedCaPem });
  return { exchange, failureOf, secureContext };
}

/** What of the request can't be sent. */
function refusalOf(
  { method, headers }: PushRequest,
): PushRefusal | undefined {
  if (!METHODS.includes(method)) {
    return {
      kind: "refused",
      code: "bad_method",
      reason: `Cannot call with method ${quote(method, { maxChars: 32 })}: ` +
        `it is not one of ${METHODS.join(", ")}`,
    };
  }
  const verdict = judgeHeaders(headers);
  return verdict.kind === "ok"
    ? undefined
    : { kind: "refused", code: "bad_header", reason: verdict.reason };
}
