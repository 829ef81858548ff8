/**
 * The streams of a connection, and what is remembered of closed ones.
 *
 * @module
 */

import { BoundedMap } from "../bounded_map.ts";
import type { H2Stream } from "./stream.ts";

/** Streams we have reset that are remembered; the oldest are forgotten. */
const MAX_REMEMBERED = 1_024;

/**
 * The open streams. Most calls are over before the next one begins; these are
 * never put into the map.
 */
export class StreamTable {
  readonly #streams = new Map<number, H2Stream>();
  readonly #reset = new BoundedMap<number, true>({
    maxEntries: MAX_REMEMBERED,
  });
  readonly #onPark: (stream: H2Stream) => void;
  #latest: H2Stream | undefined;
  #lastId = 0;
  #openCount = 0;
  #orphanCount = 0;

  /** `onPark` is told of a stream that is not over at once. */
  constructor(onPark: (stream: H2Stream) => void) {
    this.#onPark = onPark;
  }

  /** The highest number a stream has had. */
  get lastId(): number {
    return this.#lastId;
  }

  /** Number of open streams. */
  get openCount(): number {
    return this.#openCount;
  }

  /** Open streams, and closed ones on which somebody still works. */
  get busyCount(): number {
    return this.#openCount + this.#orphanCount;
  }

  /** The open stream with that number. */
  get(id: number): H2Stream | undefined {
    const latest = this.#latest;
    if (latest !== undefined && latest.id === id) return latest;
    return this.#streams.get(id);
  }

  /** All open streams. */
  open(): Iterable<H2Stream> {
    this.park();
    return this.#streams.values();
  }

  /** Notes that a stream has begun, whether it is taken or not. */
  begin(id: number): void {
    this.#lastId = id;
  }

  /** Adds a stream. */
  add(stream: H2Stream): void {
    if (this.#latest !== undefined) this.park();
    this.#latest = stream;
    this.#openCount++;
  }

  /** The latest stream is not over at once. */
  park(): void {
    const stream = this.#latest;
    if (stream === undefined) return;
    this.#latest = undefined;
    this.#streams.set(stream.id, stream);
    this.#onPark(stream);
  }

  /** Closes a stream; false when it was closed already. */
  close(stream: H2Stream): boolean {
    if (stream.isClosed) return false;
    stream.isClosed = true;
    this.#openCount--;
    if (stream.isHeld) this.#orphanCount++;
    if (this.#latest === stream) this.#latest = undefined;
    else this.#streams.delete(stream.id);
    return true;
  }

  /** Nobody works on a stream any more. */
  release(stream: H2Stream): void {
    if (!stream.isHeld) return;
    stream.isHeld = false;
    if (stream.isClosed) this.#orphanCount--;
  }

  /** Remembers that frames of a stream may still come, though it is reset. */
  remember(id: number): void {
    this.#reset.set(id, true);
  }

  /** Whether frames of a closed stream may still come. */
  isRemembered(id: number): boolean {
    return this.#reset.has(id);
  }
}
