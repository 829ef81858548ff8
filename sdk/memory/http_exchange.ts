/**
 * Requests to the relayer over HTTP.
 *
 * @module
 */

import { Life, throwIfEnded } from "./life.ts";
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

/**
 * Largest answer that is read. A hundred memories of the longest texts, the
 * most that one recall returns, are smaller.
 */
const MAX_ANSWER_BYTES = 128 * 1024 * 1024;

/** The feature flag of a relayer that needs a session to read memories. */
const SESSION_FLAG = "auth.sealSessionRequired";

const PREFLIGHT_PATHS: readonly string[] = ["/version", "/health"];

/**
 * Sends requests with `fetch`, each once: a failed request is not retried here.
 * Signed requests are sent after the check that client and relayer are
 * compatible.
 */
export class HttpExchange implements Exchange {
  readonly #config: ResolvedConfig;
  readonly #signer: RequestSigner;
  readonly #preflight: Preflight;
  readonly #maxAnswerBytes: number;
  readonly #life = new Life();
  readonly #session = new SharedFlight(() => this.#loadSession());

  /**
   * Creates an exchange, which takes over the configuration's seed and
   * overwrites it. An accepted answer of more than `maxAnswerBytes` is an
   * error.
   */
  constructor(
    config: ResolvedConfig,
    maxAnswerBytes: number = MAX_ANSWER_BYTES,
  ) {
    this.#config = config;
    this.#signer = config.signer === undefined
      ? RequestSigner.create(config.seed)
      : RequestSigner.of(config.signer);
    this.#preflight = new Preflight(this, config.preflightTimeoutMs);
    this.#maxAnswerBytes = maxAnswerBytes;
  }

  /**
   * Sends a request and reads its answer, both within the request's timeout.
   * The preflight requests before the first signed request have timeouts of
   * their own.
   *
   * @throws {MemRequestTimeout} When the request's timeout passes.
   * @throws {MemPreflightTimeout} When the timeout of a preflight request
   * passes.
   * @throws {MemCompatibilityError} When the request is signed, and client and
   * relayer are not compatible; the request is not sent then.
   * @throws {RateLimitError} When a rate limit of the relayer is exceeded.
   * @throws {MemDestroyedError} After {@linkcode HttpExchange.destroy}.
   * @throws {MemError} When no answer arrives, or its status is not accepted.
   * @throws {TypeError} When the request's path or body cannot be sent.
   * @throws {unknown} The reason of the request's signal, when that aborts.
   */
  async send(request: RelayerRequest): Promise<RelayerAnswer> {
    this.#checkAlive();
    const signals = request.signal === undefined
      ? [this.#life]
      : [request.signal, this.#life];
    // The request is completed before the first wait: the caller may change its
    // objects afterwards.
    const prepared = prepareRequest(request, this.#config.serverUrl);
    const { token, clock } = this.#config;
    if (token !== undefined && prepared.isSigned) {
      const { checkTokenUse } = await import("./token_use.ts");
      const { purpose } = prepared;
      const nowMs = clock.nowMs();
      checkTokenUse(token.claims, { request, purpose, nowMs });
    }
    // The preflight and the session are shared with other callers, so an abort
    // ends only this caller's wait for them.
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
        error: () => createTimeoutError(prepared),
      },
    });
  }

  /**
   * The public key that signs, or has signed the access token, 64 hexadecimal
   * digits.
   *
   * @throws {MemDestroyedError} After {@linkcode HttpExchange.destroy}.
   * @throws {MemError} When the runtime has no Ed25519.
   */
  async publicKeyHex(): Promise<string> {
    const { token } = this.#config;
    return token?.claims.publicKey ?? await this.#signer.publicKeyHex();
  }

  /**
   * Asks the relayer for its versions and features again, and checks that they
   * are compatible; see {@linkcode Preflight.compatibility} for the errors.
   */
  compatibility(): Promise<RelayerCompatibility> {
    return this.#preflight.compatibility();
  }

  /**
   * Returns the relayer's versions and features. The relayer is asked once, as
   * before the first signed request; see {@linkcode Preflight.check} for the
   * errors.
   */
  async contract(): Promise<RelayerCompatibility> {
    this.#checkAlive();
    return await this.#preflight.check();
  }

  /**
   * Overwrites the key. Pending and later calls reject with
   * {@linkcode MemDestroyedError}. A second call does nothing.
   */
  destroy(): void {
    this.#signer.wipe();
    this.#life.abort(new MemDestroyedError());
  }

  #checkAlive(): void {
    if (this.#life.aborted) throw new MemDestroyedError();
  }

  /**
   * Returns the session header for a request, undefined when it needs none,
   * after the check that client and relayer are compatible.
   */
  async #sessionFor(
    { readsMemories, purpose }: PreparedRequest,
  ): Promise<string | undefined> {
    const { featureFlags } = await this.#preflight.check();
    if (!readsMemories || featureFlags[SESSION_FLAG] !== true) return undefined;
    if (this.#config.token !== undefined) {
      const { refuseSession } = await import("./token_use.ts");
      refuseSession(purpose);
    }
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
    const headers = await this.#buildHeaders(prepared, session);
    throwIfEnded(signal);
    return await makeRoundTrip(prepared, {
      headers,
      signal,
      fetch: this.#config.fetch,
      maxAnswerBytes: this.#maxAnswerBytes,
      nowMs: () => this.#config.clock.nowMs(),
    });
  }

  async #buildHeaders(
    prepared: PreparedRequest,
    session: string | undefined,
  ): Promise<Readonly<Record<string, string>>> {
    const { method, path, body, isSigned } = prepared;
    const plain = {
      accept: "application/json",
      ...(body === undefined ? {} : { "content-type": "application/json" }),
    };
    if (!isSigned) return plain;
    const { token } = this.#config;
    if (token !== undefined) {
      return { ...plain, authorization: `Bearer ${token.text}` };
    }
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

function createTimeoutError(
  prepared: PreparedRequest,
): MemRequestTimeout | MemPreflightTimeout {
  const { path, purpose: phase, timeoutMs, isSigned } = prepared;
  if (isSigned || !PREFLIGHT_PATHS.includes(path)) {
    return new MemRequestTimeout({ phase, timeoutMs });
  }
  return new MemPreflightTimeout({ phase, timeoutMs });
}
