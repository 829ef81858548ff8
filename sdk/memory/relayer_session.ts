/**
 * The session that a relayer behind key servers needs to read memories: it shows the
 * key servers that the delegate asks through the relayer. Loaded only for such a
 * relayer.
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
  /** Asks the relayer for what a session is made for. */
  readonly exchange: Exchange;
  /** Signs as the delegate. */
  readonly signer: RequestSigner;
  /** The time. */
  readonly clock: ClientClock;
  /** Milliseconds that the relayer has to say what a session is made for. */
  readonly timeoutMs: number;
}

/** Half of what is possible: a session that is stolen is of use for so long. */
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

  /** No session yet. */
  constructor(options: RelayerSessionOptions) {
    this.#options = options;
  }

  /**
   * The header field `x-seal-session`. It holds the session's private key: who
   * has it can ask the key servers until the session ends.
   *
   * @throws {MemError} When the relayer does not say what sessions are made for.
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
      packageId: packageIdOf(answer),
      ttlMin: SESSION_MINUTES,
      nowMs: relayerTimeOf(answer) ?? fromMs,
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

function packageIdOf({ json }: RelayerAnswer): string {
  const packageId = isObject(json) ? json["packageId"] : undefined;
  if (typeof packageId === "string" && packageId !== "") return packageId;
  throw new MemError(
    "Cannot make a session: the relayer's /config names no packageId",
  );
}

/** Sessions are checked by the relayer's clock; this machine's may be wrong. */
function relayerTimeOf({ headers }: RelayerAnswer): number | undefined {
  const ms = Date.parse(headers.get("date") ?? "");
  return Number.isFinite(ms) ? ms : undefined;
}
