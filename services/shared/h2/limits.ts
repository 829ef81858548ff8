/**
 * The bounds of what one peer can make a server do or keep, and the guard that
 * counts frames against them.
 *
 * @module
 */

import type { Clock } from "../clock.ts";

/** Bounds of a server and its connections. */
export interface H2Limits {
  /** Streams a connection may have open at a time; announced to the peer. */
  readonly maxConcurrentStreams: number;
  /** Largest message of a request. */
  readonly maxReceiveBytes: number;
  /** Bytes of unfinished messages a connection may make us keep. */
  readonly maxBufferedBytes: number;
  /** The same for all connections of a server. */
  readonly maxServerBufferedBytes: number;
  /** Largest list of request headers, counted as in RFC 9113, 6.5.2. */
  readonly maxHeaderListBytes: number;
  /** Largest compressed list of headers, continuations included. */
  readonly maxHeaderBlockBytes: number;
  /** Most CONTINUATION frames of one list of headers. */
  readonly maxContinuations: number;
  /** What a stream may send before it must wait for more room. */
  readonly streamWindowBytes: number;
  /** What a connection may send before it must wait for more room. */
  readonly connectionWindowBytes: number;
  /** Unsent output, at least 64 KiB, at which answers wait in their streams. */
  readonly highWaterBytes: number;
  /** Unsent output, control frames included, that ends a connection. */
  readonly maxUnsentBytes: number;
  /** How long a peer may take for its preface and first settings. */
  readonly handshakeTimeoutMs: number;
  /** How long a frame or a list of headers may stay unfinished. */
  readonly frameTimeoutMs: number;
  /** How long unsent output may make no progress at all. */
  readonly stallTimeoutMs: number;
  /** Silence after which a PING asks whether the peer is still there. */
  readonly keepaliveMs: number;
  /** How long the answer to that PING may take. */
  readonly keepaliveTimeoutMs: number;
  /** Frames that carry no request and may come at once. */
  readonly controlBurst: number;
  /** How many more of them are allowed with each second. */
  readonly controlPerSecond: number;
  /** Cancelled or faulty streams that may come at once. */
  readonly resetBurst: number;
  /** How many more of them are allowed with each second. */
  readonly resetPerSecond: number;
}

/** Bounds for callers that keep to the rules, with room to spare. */
export const DEFAULT_LIMITS: H2Limits = {
  maxConcurrentStreams: 1_000,
  maxReceiveBytes: 4_194_304,
  maxBufferedBytes: 16_777_216,
  maxServerBufferedBytes: 268_435_456,
  maxHeaderListBytes: 16_384,
  maxHeaderBlockBytes: 32_768,
  maxContinuations: 16,
  streamWindowBytes: 262_144,
  connectionWindowBytes: 1_048_576,
  highWaterBytes: 262_144,
  maxUnsentBytes: 1_048_576,
  handshakeTimeoutMs: 10_000,
  frameTimeoutMs: 30_000,
  stallTimeoutMs: 60_000,
  // What gRPC servers do by default.
  keepaliveMs: 7_200_000,
  keepaliveTimeoutMs: 20_000,
  controlBurst: 10_000,
  controlPerSecond: 1_000,
  resetBurst: 2_000,
  resetPerSecond: 200,
};

/** How much is let pass. */
interface FloodGuardOptions {
  /** The time source; it is read only when the allowance is used up. */
  readonly clock: Clock;
  /** Most that is ever allowed at once. */
  readonly burst: number;
  /** What is added with each second. */
  readonly perSecond: number;
}

/** An allowance that time and useful work fill up (a token bucket). */
export class FloodGuard {
  readonly #options: FloodGuardOptions;
  #left: number;
  #filledMs: number;

  /** A full allowance. */
  constructor(options: FloodGuardOptions) {
    this.#options = options;
    this.#left = options.burst;
    this.#filledMs = options.clock.nowMs();
  }

  /** Counts one; false when it is one too many. */
  pass(): boolean {
    if (this.#left < 1) this.#fill();
    if (this.#left < 1) return false;
    this.#left--;
    return true;
  }

  /** Allows `count` more, up to the burst, since work has been done. */
  earn(count: number): void {
    const left = this.#left + count;
    const { burst } = this.#options;
    this.#left = left > burst ? burst : left;
  }

  #fill(): void {
    const { clock, perSecond } = this.#options;
    const nowMs = clock.nowMs();
    // A clock that was set back gives nothing, and takes nothing.
    const passedMs = Math.max(0, nowMs - this.#filledMs);
    this.#filledMs = nowMs;
    this.earn(passedMs * perSecond / 1_000);
  }
}
