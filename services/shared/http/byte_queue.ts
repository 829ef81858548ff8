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
  #resolve: ((bytes: Uint8Array | undefined) => void) | undefined;
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
    this.#wake();
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
    this.#wake();
    this.left();
  }

  /** Waits for something to send; undefined at the end. */
  next(): Promise<Uint8Array | undefined> {
    if (this.#waiting.length > 0 || this.#isEnded) {
      return Promise.resolve(this.#take());
    }
    // Thousands of readers wait here: the frame of an async function would be
    // half a kilobyte of each.
    return new Promise((resolve) => this.#resolve = resolve);
  }

  /** Ends at once, as the client has gone. */
  cancel(): void {
    this.clear();
    this.end();
  }

  /** Called once when it has ended. */
  protected left(): void {
    this.#onEnd?.();
  }

  /** Called with what the reader takes. */
  protected taken(_bytes: Uint8Array): void {}

  /** Gives the reader what waits, a moment later, when there may be more. */
  #wake(): void {
    const resolve = this.#resolve;
    if (resolve === undefined) return;
    this.#resolve = undefined;
    queueMicrotask(() => resolve(this.#take()));
  }

  #take(): Uint8Array | undefined {
    const waiting = this.#waiting;
    const bytes = waiting.length <= 1
      ? waiting[0]
      : joined(waiting, this.#waitingBytes);
    this.clear();
    if (bytes !== undefined) this.taken(bytes);
    return bytes;
  }
}

function joined(pieces: readonly Uint8Array[], length: number): Uint8Array {
  const all = new Uint8Array(length);
  let at = 0;
  for (const piece of pieces) {
    all.set(piece, at);
    at += piece.length;
  }
  return all;
}
