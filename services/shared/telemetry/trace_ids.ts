/**
 * Ids of traces and spans, and which traces are sampled.
 *
 * @module
 */

import { randomFillSync } from "node:crypto";
import type { IdGenerator } from "@opentelemetry/sdk-trace-base";

/** What {@linkcode TraceIds} is made of. */
interface TraceIdsOptions {
  /** Share of the traces that is sampled, from 0 to 1. */
  readonly samplingRate: number;
  /**
   * Fills bytes at random.
   *
   * @default the cryptographic source of the runtime
   */
  readonly fill?: ((bytes: Uint8Array) => void) | undefined;
}

const POOL_BYTES = 4_096;
const TRACE_BYTES = 16;
const SPAN_BYTES = 8;
const WORD_RANGE = 2 ** 32;

/**
 * Draws ids from bytes that are fetched many at a time, so that a trace that
 * isn't sampled costs a look at one number and no object.
 */
export class TraceIds implements IdGenerator {
  readonly #samplingRate: number;
  readonly #fill: (bytes: Uint8Array) => void;
  readonly #pool = new Uint8Array(POOL_BYTES);
  readonly #view = new DataView(this.#pool.buffer);
  #at = POOL_BYTES;
  /** The id that was drawn and sampled, for the span that begins next. */
  #drawn: string | undefined;

  /** Nothing is drawn yet. */
  constructor({ samplingRate, fill = randomFillSync }: TraceIdsOptions) {
    this.#samplingRate = samplingRate;
    this.#fill = fill;
  }

  /**
   * Draws the id of a new trace and tells whether it is sampled: by its bytes 8
   * to 11, as Go's SDK decides by ratio, so that services with the same rate agree
   * on a trace, and a higher rate takes in what a lower one does.
   */
  draw(): boolean {
    const start = this.#take(TRACE_BYTES);
    const share = this.#view.getUint32(start + 8) / WORD_RANGE;
    if (!(share < this.#samplingRate)) return false;
    this.#drawn = this.#hex(start, TRACE_BYTES);
    return true;
  }

  /** The id that was drawn last, or another one. */
  generateTraceId(): string {
    const drawn = this.#drawn;
    this.#drawn = undefined;
    return drawn ?? this.#hex(this.#take(TRACE_BYTES), TRACE_BYTES);
  }

  /** The id of a span. */
  generateSpanId(): string {
    return this.#hex(this.#take(SPAN_BYTES), SPAN_BYTES);
  }

  #take(count: number): number {
    if (this.#at + count > POOL_BYTES) {
      this.#fill(this.#pool);
      this.#at = 0;
    }
    const start = this.#at;
    this.#at += count;
    return start;
  }

  /** Zeros alone are not an id (W3C Trace Context, 3.2.2.3). */
  #hex(start: number, count: number): string {
    const hex = this.#pool.subarray(start, start + count).toHex();
    return /[^0]/.test(hex) ? hex : `${hex.slice(0, -1)}1`;
  }
}
