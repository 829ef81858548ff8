/**
 * Bytes that wait to be sent to a client, as the body of an answer that goes on.
 *
 * @module
 */

import type { ByteStream } from "./exchange.ts";

/** Options of {@linkcode ByteQueue}. */
interface ByteQueueOptions {
  /** Called once when it has ended, by either side. */
  readonly onEnd?: () => void;
}

/** A queue that one reader empties. */
export class ByteQueue implements ByteStream {
  readonly #onEnd: (() => void) | undefined;
  #waiting: Uint8Array[] = [];
  #waitingBytes = 0;
  #wake: (() => void) | undefined;
  #isEnded = false;

  /** An empty queue. */
  constructor(options: ByteQueueOptions = {}) {
    this.#onEnd = options.onEnd;
  }

  /** Whether it has ended; what waits is still sent. */
  get isEnded(): boolean {
    return this.#isEnded;
  }

  /** How many bytes wait. */
  get waitingBytes(): number {
    return this.#waitingBytes;
  }

  /** Adds bytes; nothing happens after the end. */
  put(bytes: Uint8Array): void {
    if (this.#isEnded || bytes.length === 0) return;
    this.#waiting.push(bytes);
    this.#waitingBytes += bytes.length;
    this.#wake?.();
  }

  /** Drops what waits, so that something else can take its place. */
  clear(): void {
    this.#waiting = [];
    this.#waitingBytes = 0;
  }

  /** Ends after what waits was sent. */
  end(): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    this.#wake?.();
    this.#onEnd?.();
  }

  /** Waits for something to send; undefined at the end. */
  async next(): Promise<Uint8Array | undefined> {
    if (this.#waiting.length === 0 && !this.#isEnded) {
      await new Promise<void>((resolve) => this.#wake = resolve);
      this.#wake = undefined;
    }
    const waiting = this.#waiting;
    if (waiting.length <= 1) {
      this.clear();
      return waiting[0];
    }
    const all = new Uint8Array(this.#waitingBytes);
    let at = 0;
    for (const piece of waiting) {
      all.set(piece, at);
      at += piece.length;
    }
    this.clear();
    return all;
  }

  /** Ends at once, as the client has gone. */
  cancel(): void {
    this.clear();
    this.end();
  }
}
