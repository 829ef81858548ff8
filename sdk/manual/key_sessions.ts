/**
 * Keeps the session in which a client requests keys from key servers. The
 * session is made when it is first needed, and replaced before it ends.
 *
 * @module
 */

import { type EndSignal, throwIfEnded } from "../memory/life.ts";
import type { ClientClock } from "../memory/client_clock.ts";
import { runWithin } from "../memory/client_clock.ts";
import { MemError } from "../memory/errors.ts";
import { delegateKeyToSuiAddress } from "../memory/private_key.ts";
import {
  MAX_SKEW_MS,
  messageSigner,
  SessionKey,
} from "../vault/session_key.ts";
import type { KeySigner } from "./manual_config.ts";

/** Minutes that a session lasts. */
const SESSION_MINUTES = 5;

/** Options of {@linkcode KeySessions}. */
interface KeySessionsOptions {
  /** What signs the session: a wallet or a private key. */
  readonly signer: KeySigner;
  /** Tells the time. */
  readonly clock: ClientClock;
  /**
   * Aborts when the client is destroyed; calls that wait for a session are
   * rejected then.
   */
  readonly signal: EndSignal;
}

/** Keeps one session. */
export class KeySessions {
  readonly #options: KeySessionsOptions;
  #session: SessionKey | undefined;
  #flight: Promise<SessionKey> | undefined;

  /** Creates no session yet; the first call of `current` does. */
  constructor(options: KeySessionsOptions) {
    this.#options = options;
  }

  /**
   * Returns a session that has not ended. Concurrent callers share one request
   * to the wallet, which has no timeout because its user has to agree.
   *
   * @param refused a session that key servers have refused, which is replaced
   * @throws {MemError} When the wallet does not sign.
   */
  async current(
    packageId: string,
    refused?: SessionKey,
  ): Promise<SessionKey> {
    const { clock, signal } = this.#options;
    const session = this.#session;
    if (
      session !== undefined && session !== refused &&
      isCurrent(session, clock.nowMs())
    ) return session;
    const flight = this.#flight ??= this.#create(packageId);
    try {
      return await runWithin(() => flight, { signals: [signal] });
    } finally {
      if (this.#flight === flight) this.#flight = undefined;
    }
  }

  /** Overwrites the session's key and the private key. */
  wipe(): void {
    this.#session?.wipe();
    this.#session = undefined;
    const { signer } = this.#options;
    if (signer.kind === "seed") signer.seed.fill(0);
  }

  async #create(packageId: string): Promise<SessionKey> {
    const { signer, clock, signal } = this.#options;
    this.#session?.wipe();
    this.#session = undefined;
    const session = await SessionKey.create({
      packageId,
      ttlMin: SESSION_MINUTES,
      nowMs: clock.nowMs(),
      ...await createSigning(signer),
    });
    if (signal.aborted) session.wipe();
    throwIfEnded(signal);
    return this.#session = session;
  }
}

/**
 * Tells whether a session can be used. One that begins later was made before
 * the clock of this machine was set back, and key servers refuse it until then.
 */
function isCurrent(session: SessionKey, nowMs: number): boolean {
  const { creation_time: fromMs } = session.certificate;
  return nowMs >= fromMs - MAX_SKEW_MS && !session.isEnding(nowMs);
}

async function createSigning(signer: KeySigner): Promise<{
  readonly address: string;
  readonly signPersonalMessage: (message: Uint8Array) => Promise<string>;
}> {
  if (signer.kind === "seed") {
    return {
      address: await delegateKeyToSuiAddress(signer.seed),
      signPersonalMessage: messageSigner(signer.seed),
    };
  }
  const { wallet } = signer;
  return {
    address: wallet.address,
    async signPersonalMessage(message) {
      try {
        const { signature } = await wallet.signPersonalMessage({ message });
        if (typeof signature === "string") return signature;
      } catch (cause) {
        throw new MemError("Cannot request keys: the wallet has not signed", {
          cause,
        });
      }
      throw new MemError(
        "Cannot request keys: the wallet's answer is not text",
      );
    },
  };
}
