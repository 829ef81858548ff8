/**
 * The session that a relayer behind key servers needs to read memories: it
 * proves to the key servers that the delegate asks through the relayer. This
 * file is loaded only for such a relayer.
 *
 * @module
 */

import {
  MAX_SESSION_MINUTES,
  SessionKey,
  writeSessionHeader,
} from "../vault/session_key.ts";
import { addressOfPublicKey, signWith } from "../vault/signatures.ts";
import { isObject } from "./answer_reader.ts";
import type { ClientClock } from "./client_clock.ts";
import { decodeHex } from "./encodings.ts";
import { MemError } from "./errors.ts";
import type { Exchange, RelayerAnswer } from "./exchange.ts";
import type { RequestSigner } from "./signer.ts";

/** Options of {@linkcode RelayerSession}. */
interface RelayerSessionOptions {
  /** Asks the relayer which package a session is made for. */
  readonly exchange: Exchange;
  /** Signs as the delegate. */
  readonly signer: RequestSigner;
  /** The time. */
  readonly clock: ClientClock;
  /** Timeout of that request in milliseconds. */
  readonly timeoutMs: number;
}

/**
 * Half of the longest time that is possible, because a stolen session can be
 * used until it ends.
 */
const SESSION_MINUTES = MAX_SESSION_MINUTES / 2;
/** A session is replaced this long before it ends. */
const MARGIN_MS = 60_000;

interface Made {
  readonly header: string;
  /** By the client's clock. */
  readonly fromMs: number;
  readonly untilMs: number;
}

/** Makes the session when it is first needed, and again before it ends. */
export class RelayerSession {
  readonly #options: RelayerSessionOptions;
  #made: Made | undefined;
  #flight: Promise<Made> | undefined;

  /** Creates no session yet; the first call of `header` does. */
  constructor(options: RelayerSessionOptions) {
    this.#options = options;
  }

  /**
   * Returns the header field `x-seal-session`. It holds the session's private
   * key: a holder of the field can ask the key servers until it ends.
   *
   * @throws {MemError} When the relayer does not say which package sessions are
   * made for.
   */
  async header(): Promise<string> {
    const made = this.#made;
    if (made !== undefined && this.#lasts(made)) return made.header;
    const flight = this.#flight ??= this.#make();
    try {
      this.#made = await flight;
    } finally {
      if (this.#flight === flight) this.#flight = undefined;
    }
    return this.#made.header;
  }

  #lasts({ fromMs, untilMs }: Made): boolean {
    const nowMs = this.#options.clock.nowMs();
    return nowMs >= fromMs && nowMs < untilMs;
  }

  async #make(): Promise<Made> {
    const { exchange, signer, clock, timeoutMs } = this.#options;
    const answer = await exchange.send({
      method: "GET",
      path: "/config",
      isSigned: false,
      timeoutMs,
      purpose: "preflight GET /config",
    });
    const publicKey = decodeHex(await signer.publicKeyHex());
    if (publicKey === undefined) throw new MemError("Cannot read own key");
    const fromMs = clock.nowMs();
    const session = await SessionKey.create({
      address: addressOfPublicKey(publicKey),
      packageId: readPackageId(answer),
      ttlMin: SESSION_MINUTES,
      nowMs: readRelayerTime(answer) ?? fromMs,
      signPersonalMessage: (message) =>
        signWith(
          { publicKey, sign: (bytes) => signer.signBytes(bytes) },
          message,
          "personal message",
        ),
    });
    const header = writeSessionHeader(session);
    session.wipe();
    const untilMs = fromMs + SESSION_MINUTES * 60_000 - MARGIN_MS;
    return { header, fromMs, untilMs };
  }
}

function readPackageId({ json }: RelayerAnswer): string {
  const packageId = isObject(json) ? json["packageId"] : undefined;
  if (typeof packageId === "string" && packageId !== "") return packageId;
  throw new MemError(
    "Cannot create a session: the relayer's /config names no packageId",
  );
}

/**
 * Returns the relayer's time from an answer. Sessions are checked by the
 * relayer's clock, and the clock of this machine may be wrong.
 */
function readRelayerTime({ headers }: RelayerAnswer): number | undefined {
  const ms = Date.parse(headers.get("date") ?? "");
  return Number.isFinite(ms) ? ms : undefined;
}
