/**
 * Calls the URLs of push workers. Each call is checked first and limited in
 * time and size; its outcome is a value, whatever happens.
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
import { PushConnections } from "./push_connections.ts";
import type { RawAnswer } from "./push_exchange.ts";
import type { PushRefusal } from "./push_failure.ts";
import {
  type CallRules,
  judgeHeaders,
  judgeTarget,
  type Target,
} from "./call_rules.ts";

/** A single push call. */
export interface PushRequest {
  /** The worker's URL. */
  readonly url: string;
  /** The HTTP method. */
  readonly method: string;
  /** The headers. */
  readonly headers: Readonly<Record<string, string>>;
  /** The body. */
  readonly body: string;
  /**
   * Milliseconds for the whole call, including name resolution and the answer's
   * body.
   */
  readonly timeoutMs: number;
  /**
   * Whose call it is, such as a tenant: calls of others never share its
   * connections, so that none reads what was left for another.
   */
  readonly owner: string;
  /** Aborts the call early; its outcome is then `canceled`. */
  readonly signal?: AbortSignal;
}

/** Options of {@linkcode PushCaller}. */
interface PushCallerOptions extends CallRules {
  /**
   * Certificate authorities that are trusted instead of the runtime's, as PEM.
   * To trust an additional one, name its file in `NODE_EXTRA_CA_CERTS`.
   *
   * @default the runtime's
   */
  readonly trustedCaPem?: string;
  /**
   * Resolves the addresses of a host.
   *
   * @default the resolver of the operating system
   */
  readonly resolve?: Resolve;
  /**
   * Measures timeouts and tells the time of day.
   *
   * @default the clock of the machine
   */
  readonly clock?: Clock;
}

const METHODS: readonly string[] = ["DELETE", "GET", "PATCH", "POST", "PUT"];

/** Makes push calls; callers limit how many run at once. */
export class PushCaller {
  readonly #rules: CallRules;
  readonly #resolve: Resolve;
  readonly #clock: Clock;
  readonly #trustedCaPem: string | undefined;
  #client: ReturnType<typeof loadClient> | undefined;
  readonly #connections: PushConnections;
  readonly #running = new Map<AbortController, Promise<PushOutcome>>();
  #isClosed = false;

  /** Takes the rules, which cannot change later. */
  constructor(options: PushCallerOptions) {
    this.#rules = options;
    this.#resolve = options.resolve ?? systemResolve;
    this.#clock = options.clock ?? systemClock;
    this.#trustedCaPem = options.trustedCaPem;
    this.#connections = new PushConnections(this.#clock);
  }

  /**
   * Makes a call. Faults of the request, the network or the worker are in the
   * outcome; this never rejects, and takes no longer than the request's
   * timeout.
   */
  async call(request: PushRequest): Promise<PushOutcome> {
    const verdict = judgeTarget(request.url, this.#rules);
    if (verdict.kind === "refused") return verdict;
    const refusal = findRefusal(request);
    if (refusal !== undefined) return refusal;
    // Each call has its own controller: a signal composed of others would be
    // kept alive by the long-lived ones among them.
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
   * Aborts all calls, whose outcome is then `canceled`, as is that of later
   * calls. Resolves when all of them have ended.
   */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#connections.close();
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
      const { exchange, toFailure, secureContext } = await this.#client;
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
        connections: this.#connections,
        owner: request.owner,
      });
      const durationMs = Math.round(performance.now() - beginMs);
      if (result.kind === "answered") {
        const nowMs = this.#clock.nowMs();
        const answer = await decoded(result.answer);
        return readAnswer(answer, { nowMs, durationMs });
      }
      return toFailure(result, {
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
 * Loads what the first call needs: a service that pushes nothing starts without
 * it, and to read the certificate authorities for each call is costly.
 */
async function loadClient(trustedCaPem: string | undefined) {
  const [{ exchange }, { toFailure }, { createSecureContext }] = await Promise
    .all([
      import("./push_exchange.ts"),
      import("./push_failure.ts"),
      import("node:tls"),
    ]);
  const secureContext = createSecureContext({ ca: trustedCaPem });
  return { exchange, toFailure, secureContext };
}

/** The answer with its body decompressed, if it is compressed. */
async function decoded(answer: RawAnswer): Promise<RawAnswer> {
  if (answer.headers["content-encoding"] === undefined) return answer;
  const { decodeBody } = await import("./answer_encoding.ts");
  const outcome = decodeBody(answer);
  if (outcome.kind === "unreadable") {
    return { ...answer, body: new Uint8Array(), unreadable: outcome.reason };
  }
  const { body, isTruncated } = outcome;
  return { ...answer, body, isTruncated };
}

/** Tells why a request cannot be sent; undefined when it can. */
function findRefusal(
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
