/**
 * Requests to the relayer over HTTP.
 *
 * @module
 */

import { runWithin } from "./client_clock.ts";
import { Preflight, type RelayerCompatibility } from "./compatibility.ts";
import type { ResolvedConfig } from "./config.ts";
import {
  MemDestroyedError,
  MemPreflightTimeout,
  MemRequestTimeout,
} from "./errors.ts";
import {
  type Exchange,
  type PreparedRequest,
  prepareRequest,
  type RelayerAnswer,
  type RelayerRequest,
} from "./exchange.ts";
import type { RelayerSession } from "./relayer_session.ts";
import { makeRoundTrip } from "./round_trip.ts";
import { SharedFlight } from "./shared_flight.ts";
import { RequestSigner } from "./signer.ts";

/** A hundred memories of the longest, the most that one recall returns, fit. */
const MAX_ANSWER_BYTES = 128 * 1024 * 1024;

/** What a relayer behind key servers says of itself. */
const SESSION_FLAG = "auth.sealSessionRequired";

const PREFLIGHT_PATHS: readonly string[] = ["/version", "/health"];

/**
 * Sends requests with `fetch`, each of them once: nothing is tried again by
 * itself. Signed ones wait for the check that client and relayer fit.
 */
export class HttpExchange implements Exchange {
  readonly #config: ResolvedConfig;
  readonly #signer: RequestSigner;
  readonly #preflight: Preflight;
  readonly #maxAnswerBytes: number;
  readonly #life = new AbortController();
  readonly #session = new SharedFlight(() => this.#loadSession());

  /**
   * An exchange; it takes the configuration's seed and overwrites it. A good
   * answer of more than `maxAnswerBytes` is an error.
   */
  constructor(
    config: ResolvedConfig,
    maxAnswerBytes: number = MAX_ANSWER_BYTES,
  ) {
    this.#config = config;
    this.#signer = RequestSigner.create(config.seed);
    this.#preflight = new Preflight(this, config.preflightTimeoutMs);
    this.#maxAnswerBytes = maxAnswerBytes;
  }

  /**
   * Sends a request and reads its answer, both within the deadline. The
   * preflight before the first signed request has deadlines of its own.
   *
   * @throws {MemRequestTimeout} When the deadline passes.
   * @throws {MemPreflightTimeout} When that of a preflight route passes.
   * @throws {MemCompatibilityError} Instead of a signed request, when client
   * and relayer do not fit.
   * @throws {RateLimitError} When the relayer takes no more for now.
   * @throws {MemDestroyedError} After {@linkcode HttpExchange.destroy}.
   * @throws {MemError} When no answer arrives, or one that is not good.
   * @throws {TypeError} When the request's path or body cannot be sent.
   * @throws {unknown} The reason of the request's signal, when that aborts.
   */
  async send(request: RelayerRequest): Promise<RelayerAnswer> {
    this.#checkAlive();
    const signals = request.signal === undefined
      ? [this.#life.signal]
      : [request.signal, this.#life.signal];
    // What is sent is fixed here: the caller may change its objects meanwhile.
    const prepared = prepareRequest(request, this.#config.serverUrl);
    // Who gives up leaves the round trips to the others who wait for them.
    const session = prepared.isSigned
      ? await runWithin(() => this.#sessionFor(prepared), { signals })
      : undefined;
    const run = (signal: AbortSignal) =>
      this.#exchange(prepared, { session, signal });
    return await runWithin(run, {
      signals,
      deadline: {
        clock: this.#config.clock,
        timeoutMs: prepared.timeoutMs,
        error: () => timeoutErrorOf(prepared),
      },
    });
  }

  /**
   * The public key that signs, 64 hexadecimal digits.
   *
   * @throws {MemDestroyedError} After {@linkcode HttpExchange.destroy}.
   * @throws {MemError} When the runtime has no Ed25519.
   */
  publicKeyHex(): Promise<string> {
    return this.#signer.publicKeyHex();
  }

  /**
   * Asks again what the relayer says of itself, and checks that it fits; see
   * {@linkcode Preflight.compatibility} for what goes wrong.
   */
  compatibility(): Promise<RelayerCompatibility> {
    return this.#preflight.compatibility();
  }

  /**
   * What the relayer says of itself, asked once, as it is before the first
   * signed request; see {@linkcode Preflight.check} for what goes wrong.
   */
  async contract(): Promise<RelayerCompatibility> {
    this.#checkAlive();
    return await this.#preflight.check();
  }

  /**
   * Overwrites the key, and ends what is under way and every later call with
   * {@linkcode MemDestroyedError}. Harmless when done before.
   */
  destroy(): void {
    this.#signer.wipe();
    this.#life.abort(new MemDestroyedError());
  }

  #checkAlive(): void {
    if (this.#life.signal.aborted) throw new MemDestroyedError();
  }

  /** The session that goes with a request, after the check that both fit. */
  async #sessionFor(
    { readsMemories }: PreparedRequest,
  ): Promise<string | undefined> {
    const { featureFlags } = await this.#preflight.check();
    if (!readsMemories || featureFlags[SESSION_FLAG] !== true) return undefined;
    return await (await this.#session.join()).header();
  }

  async #loadSession(): Promise<RelayerSession> {
    const { RelayerSession } = await import("./relayer_session.ts");
    const { clock, preflightTimeoutMs: timeoutMs } = this.#config;
    const signer = this.#signer;
    return new RelayerSession({ exchange: this, signer, clock, timeoutMs });
  }

  async #exchange(
    prepared: PreparedRequest,
    { session, signal }: {
      readonly session: string | undefined;
      readonly signal: AbortSignal;
    },
  ): Promise<RelayerAnswer> {
    const headers = await this.#headersOf(prepared, session);
    signal.throwIfAborted();
    return await makeRoundTrip(prepared, {
      headers,
      signal,
      fetch: this.#config.fetch,
      maxAnswerBytes: this.#maxAnswerBytes,
      nowMs: () => this.#config.clock.nowMs(),
    });
  }

  async #headersOf(
    prepared: PreparedRequest,
    session: string | undefined,
  ): Promise<Readonly<Record<string, string>>> {
    const { method, path, body, isSigned } = prepared;
    const plain = {
      accept: "application/json",
      ...(body === undefined ? {} : { "content-type": "application/json" }),
    };
    if (!isSigned) return plain;
    const signature = await this.#signer.sign({
      method,
      path,
      body: body ?? new Uint8Array(0),
      accountId: this.#config.accountId,
      nowMs: this.#config.clock.nowMs(),
    });
    return {
      ...plain,
      ...signature,
      ...(session === undefined ? {} : { "x-seal-session": session }),
    };
  }
}

function timeoutErrorOf(
  prepared: PreparedRequest,
): MemRequestTimeout | MemPreflightTimeout {
  const { path, purpose: phase, timeoutMs, isSigned } = prepared;
  if (isSigned || !PREFLIGHT_PATHS.includes(path)) {
    return new MemRequestTimeout({ phase, timeoutMs });
  }
  return new MemPreflightTimeout({ phase, timeoutMs });
}
