/**
 * The bounds of what one peer can make a server do or keep, and the guard that
 * counts frames against them.
 *
 * @module
 */

import type { Clock } from "../clock.ts";
import { MAX_FRAME_BYTES } from "./frame.ts";

/** Bounds for callers that keep to the rules, with room to spare. */
export const DEFAULT_LIMITS = {
  /** Streams a connection may have open at a time; announced to the peer. */
  maxConcurrentStreams: 1_000,
  /** Largest message of a request, in bytes. */
  maxReceiveBytes: 4_194_304,
  /** Bytes of unfinished messages a connection may make us keep. */
  maxBufferedBytes: 8_388_608,
  /** Bytes of unfinished messages all connections together may make us keep. */
  maxServerBufferedBytes: 67_108_864,
  /**
   * Largest list of request headers, counted as in RFC 9113, 6.5.2; announced
   * to the peer. A request with a larger one is refused, and the others of its
   * connection go on.
   */
  maxHeaderListBytes: 16_384,
  /**
   * Largest compressed list of headers, continuations included. Up to here a
   * list is decoded even when its request is refused, since later ones build
   * on its table entries; a larger one ends the connection.
   */
  maxHeaderBlockBytes: 131_072,
  /** Most CONTINUATION frames of one list of headers. */
  maxContinuations: 16,
  /** Bytes a peer may send on a stream before it must wait for more. */
  streamWindowBytes: 262_144,
  /** Bytes a peer may send on all streams before it must wait for more. */
  connectionWindowBytes: 1_048_576,
  /** Unsent output, at least 64 KiB, at which answers wait in their streams. */
  highWaterBytes: 262_144,
  /** Unsent output, control frames included, that ends a connection. */
  maxUnsentBytes: 1_048_576,
  /** How long a peer may take for its preface and first settings. */
  handshakeTimeoutMs: 10_000,
  /** How long a frame or a list of headers may stay unfinished. */
  frameTimeoutMs: 30_000,
  /** How long unsent output may make no progress at all. */
  stallTimeoutMs: 60_000,
  /**
   * Silence after which a PING asks whether the peer is still there: as long as
   * with other gRPC servers.
   */
  keepaliveMs: 7_200_000,
  /** How long the answer to that PING may take. */
  keepaliveTimeoutMs: 20_000,
  /** Frames without a request that may come at once. */
  controlBurst: 10_000,
  /** How many more of them are allowed with each second. */
  controlPerSecond: 1_000,
  /** Cancelled or faulty streams that may come at once. */
  resetBurst: 2_000,
  /** How many more of them are allowed with each second. */
  resetPerSecond: 200,
};

/** Bounds of a server and its connections. */
export type H2Limits = Readonly<typeof DEFAULT_LIMITS>;

/** The bounds of headers, for a largest list of `maxHeaderListBytes`. */
export function headerLimits(
  maxHeaderListBytes: number,
): Pick<
  H2Limits,
  "maxHeaderListBytes" | "maxHeaderBlockBytes" | "maxContinuations"
> {
  const { maxHeaderBlockBytes, maxContinuations } = DEFAULT_LIMITS;
  // A list is hardly ever larger compressed than it counts.
  const blockBytes = Math.max(maxHeaderBlockBytes, 2 * maxHeaderListBytes);
  return {
    maxHeaderListBytes,
    maxHeaderBlockBytes: blockBytes,
    maxContinuations: Math.max(
      maxContinuations,
      Math.ceil(blockBytes / MAX_FRAME_BYTES),
    ),
  };
}

/** An allowance that time and useful work fill up (a token bucket). */
export class FloodGuard {
  readonly #clock: Clock;
  readonly #burst: number;
  readonly #perSecond: number;
  #left: number;
  #filledMs: number;

  /**
   * A full allowance: `burst` at once, and `perSecond` more with each second.
   * The clock is read only when the allowance is used up.
   */
  constructor(clock: Clock, burst: number, perSecond: number) {
    this.#clock = clock;
    this.#burst = burst;
    this.#perSecond = perSecond;
    this.#left = burst;
    this.#filledMs = clock.nowMs();
  }

  /** Counts one frame; false when it exceeds the allowance. */
  pass(): boolean {
    if (this.#left < 1) this.#fill();
    if (this.#left < 1) return false;
    this.#left--;
    return true;
  }

  /** Allows `count` more, up to the burst, since work has been done. */
  earn(count: number): void {
    const left = this.#left + count;
    this.#left = left > this.#burst ? this.#burst : left;
  }

  #fill(): void {
    const nowMs = this.#clock.nowMs();
    // A clock that was set back gives nothing, and takes nothing.
    const passedMs = Math.max(0, nowMs - this.#filledMs);
    this.#filledMs = nowMs;
    this.earn(passedMs * this.#perSecond / 1_000);
  }
}
