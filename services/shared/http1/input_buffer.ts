/**
 * Buffers the bytes that have come in on a connection and are not used yet.
 *
 * @module
 */

import { Buffer } from "node:buffer";
import type { Wire } from "../wire.ts";

/** How a wait for more bytes ended. */
type InputEvent = "bytes" | "ended" | "interrupted";

/** A connection without a request holds no more than this. */
const IDLE_CAPACITY = 4096;
/** Least free bytes of the buffer for a read. */
const LEAST_ROOM = 1024;
const MOST_CAPACITY = 65_536;

/** The bytes that come in on a connection. */
export class InputBuffer {
  readonly #wire: Wire;
  /** How far a client may get ahead while its request is being answered. */
  readonly #maxAheadBytes: number;
  #buffer = Buffer.alloc(IDLE_CAPACITY);
  #start = 0;
  #end = 0;
  #isReading = false;
  #isEnded = false;
  #waiter: ((event: InputEvent) => void) | undefined;
  #onEnd: (() => void) | undefined;

  /** Nothing is read before something waits or watches. */
  constructor(wire: Wire, maxAheadBytes: number) {
    this.#wire = wire;
    this.#maxAheadBytes = maxAheadBytes;
  }

  /** How many bytes there are. */
  get length(): number {
    return this.#end - this.#start;
  }

  /** Whether no more will come. */
  get isEnded(): boolean {
    return this.#isEnded;
  }

  /** The bytes there are; valid until the next wait. */
  get bytes(): Buffer {
    return this.#buffer.subarray(this.#start, this.#end);
  }

  /** Drops the first `length` bytes. */
  consume(length: number): void {
    this.#start += length;
  }

  /** Takes the first `length` bytes out, as a copy of their own. */
  take(length: number): Uint8Array<ArrayBuffer> {
    // Short copies come from a pool: allocating costs as much as a body.
    const copy = Buffer.allocUnsafe(length);
    copy.set(this.#buffer.subarray(this.#start, this.#start + length));
    this.#start += length;
    return copy;
  }

  /**
   * Waits until more has come, no more will come, or the wait is interrupted.
   * Only one wait runs at a time: a second one interrupts the first.
   */
  more(): Promise<InputEvent> {
    if (this.#isEnded) return Promise.resolve("ended");
    this.interrupt();
    return new Promise((resolve) => {
      this.#waiter = resolve;
      this.#read();
    });
  }

  /** Ends the wait, if there is one. Bytes being read are kept. */
  interrupt(): void {
    this.#wake("interrupted");
  }

  /**
   * Reads ahead so that the end is noticed without a waiting reader, and calls
   * `onEnd` then; a client that is too far ahead is not read from.
   */
  watch(onEnd: () => void): void {
    this.#onEnd = onEnd;
    if (this.#isEnded) onEnd();
    else this.#readAhead();
  }

  /** Ends the watch. */
  unwatch(): void {
    this.#onEnd = undefined;
  }

  #readAhead(): void {
    if (this.#onEnd !== undefined && this.length < this.#maxAheadBytes) {
      this.#read();
    }
  }

  #read(): void {
    if (this.#isReading) return;
    this.#makeRoom();
    this.#isReading = true;
    const room = this.#end === 0
      ? this.#buffer
      : this.#buffer.subarray(this.#end);
    this.#wire.read(room).then(
      this.#onRead,
      this.#onEnded,
    );
  }

  readonly #onRead = (length: number | null): void => {
    if (length === null) return this.#onEnded();
    this.#isReading = false;
    this.#end += length;
    if (this.#waiter === undefined) this.#readAhead();
    else this.#wake("bytes");
  };

  /** The input ended, by an end or an error: the client counts as gone. */
  readonly #onEnded = (): void => {
    this.#isReading = false;
    this.#isEnded = true;
    this.#wake("ended");
    this.#onEnd?.();
    this.#onEnd = undefined;
  };

  #wake(event: InputEvent): void {
    const waiter = this.#waiter;
    this.#waiter = undefined;
    waiter?.(event);
  }

  /** Makes room for a read; not during one, which writes into the buffer. */
  #makeRoom(): void {
    const { length } = this;
    const capacity = this.#buffer.length;
    if (length === 0) {
      // Grow a buffer that was full; shrink that of an idle connection.
      const wanted = this.#end === capacity
        ? Math.min(MOST_CAPACITY, 4 * capacity)
        : this.#end < IDLE_CAPACITY
        ? IDLE_CAPACITY
        : capacity;
      if (wanted !== capacity) this.#buffer = Buffer.alloc(wanted);
      this.#start = 0;
      this.#end = 0;
      return;
    }
    if (capacity - this.#end >= LEAST_ROOM) return;
    const old = this.bytes;
    if (length + LEAST_ROOM > capacity) {
      this.#buffer = Buffer.alloc(2 * capacity);
    }
    old.copy(this.#buffer);
    this.#start = 0;
    this.#end = length;
  }
}
