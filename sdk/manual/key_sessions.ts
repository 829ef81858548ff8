/**
 * The session in which a client asks key servers, made when it is first needed and
 * again before it ends.
 *
 * @module
 */

import type { ClientClock } from "../memory/client_clock.ts";
import { runWithin } from "../memory/client_clock.ts";
import { MemError } from "../memory/errors.ts";
import { delegateKeyToSuiAddress } from "../memory/private_key.ts";
import { messageSigner, SessionKey } from "../vault/session_key.ts";
import type { KeySigner } from "./manual_config.ts";

/** Minutes that a session lasts. */
const SESSION_MINUTES = 5;

/** Options of {@linkcode KeySessions}. */
interface KeySessionsOptions {
  /** Who signs. */
  readonly signer: KeySigner;
  /** The time. */
  readonly clock: ClientClock;
  /** Ends what waits, with the client. */
  readonly signal: AbortSignal;
}

/** Keeps one session. */
export class KeySessions {
  readonly #options: KeySessionsOptions;
  #session: SessionKey | undefined;
  #flight: Promise<SessionKey> | undefined;

  /** Nothing is signed until it is asked for. */
  constructor(options: KeySessionsOptions) {
    this.#options = options;
  }

  /**
   * A session that has not ended. A wallet is asked once for all who wait, and has as
   * long as its user needs.
   *
   * @param refused one that key servers have refused, which is replaced
   * @throws {MemError} When it is not signed.
   */
  async current(
    packageId: string,
    refused?: SessionKey,
  ): Promise<SessionKey> {
    const { clock, signal } = this.#options;
    const session = this.#session;
    if (session !== refused && session?.isEnding(clock.nowMs()) === false) {
      return session;
    }
    const flight = this.#flight ??= this.#create(packageId);
    try {
      return await runWithin(() => flight, { signals: [signal] });
    } finally {
      if (this.#flight === flight) this.#flight = undefined;
    }
  }

  /** Overwrites the keys. */
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
      ...await signingOf(signer),
    });
    if (signal.aborted) session.wipe();
    signal.throwIfAborted();
    return this.#session = session;
  }
}

async function signingOf(signer: KeySigner): Promise<{
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
        throw new MemError("Cannot ask for keys: the wallet has not signed", {
          cause,
        });
      }
      throw new MemError("Cannot ask for keys: the wallet's answer is no text");
    },
  };
}
