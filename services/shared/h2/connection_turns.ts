/**
 * Lets the connections of a server take turns, so that one with much to do
 * doesn't make the others wait: the bytes of a connection are read in slices of
 * bounded time, and in between the event loop polls the sockets of all.
 *
 * Nearly always all bytes are read at once, which costs only reading the clock.
 * Connections queue up only once reading has taken some time without a poll of
 * the sockets; each then gets slices that are fair by the time they take.
 *
 * @module
 */

import { FairQueue } from "../fair_queue.ts";
import { afterLook } from "../slices.ts";

/** Reads the bytes of a connection. */
interface TurnReader {
  /** Reads `bytes`, up to the end or to a pause. */
  receive(bytes: Uint8Array): void;
  /** Reads on after a pause. */
  resume(): void;
  /** Whether it has paused. */
  readonly isPaused: boolean;
}

/** Options of {@linkcode ConnectionTurns}; times are in milliseconds. */
interface ConnectionTurnsOptions {
  /**
   * Tells the time by a clock that only goes forward.
   *
   * @default performance.now()
   */
  readonly monotonicMs?: () => number;
  /**
   * Calls back when the event loop has polled its sockets.
   *
   * @default after empty rounds of the event loop
   */
  readonly afterLook?: (callback: () => void) => void;
}

/** Longest slice of a connection, given while few others wait. */
const MOST_SLICE_MS = 1;
/** Shortest slice, given while many wait; also the quantum of a round. */
const LEAST_SLICE_MS = 0.1;
/** How long each connection waits for its turn, while up to 100 wait. */
const TARGET_WAIT_MS = 10;
/** How long connections are read without a poll of the sockets. */
const ROUND_MS = 4;

/** The turns of all connections of a server. */
export class ConnectionTurns {
  readonly #monotonicMs: () => number;
  readonly #afterLook: (callback: () => void) => void;
  readonly #queue = new FairQueue<ConnectionPlace>({ quantum: LEAST_SLICE_MS });
  #places = 0;
  /** The time that reading has taken, of all connections. */
  #usedMs = 0;
  /** The value of `#usedMs` when the sockets were polled last, or less. */
  #lookedAtUsedMs = 0;
  /** When the current slice began; undefined while none is read. */
  #sinceMs: number | undefined;
  #isLooking = false;

  /** No connection is read. */
  constructor(options: ConnectionTurnsOptions = {}) {
    this.#monotonicMs = options.monotonicMs ?? (() => performance.now());
    this.#afterLook = options.afterLook ?? afterLook;
  }

  /** Makes the place of a new connection. */
  place(reader: TurnReader): ConnectionPlace {
    return new ConnectionPlace(reader, {
      key: String(this.#places++),
      turns: this,
    });
  }

  /** Whether the connection that is read now has to pause. */
  get isOver(): boolean {
    if (this.#sinceMs === undefined) return false;
    const usedMs = this.#monotonicMs() - this.#sinceMs;
    const waiting = this.#queue.length;
    if (waiting > 0) {
      const shareMs = TARGET_WAIT_MS / waiting;
      return usedMs >=
        Math.min(MOST_SLICE_MS, Math.max(LEAST_SLICE_MS, shareMs));
    }
    return this.#usedMs + usedMs - this.#lookedAtUsedMs >= ROUND_MS;
  }

  /** The time that reading has taken, of all connections. */
  get usedMs(): number {
    return this.#usedMs;
  }

  /** Tells that the sockets were polled after `usedMs` had this value. */
  looked(usedMs: number): void {
    if (usedMs > this.#lookedAtUsedMs) this.#lookedAtUsedMs = usedMs;
  }

  /**
   * Reads a connection: at once if the others need not wait too long for that,
   * otherwise in turn with them.
   *
   * @returns Settles when all is read; undefined when all is read already.
   */
  serve(place: ConnectionPlace): Promise<void> | undefined {
    const isFree = !this.#isLooking &&
      this.#usedMs - this.#lookedAtUsedMs < ROUND_MS;
    if (isFree && this.#read(place)) return undefined;
    return new Promise((resolve) => {
      place.done = resolve;
      this.#queue.add(place.key, place);
      this.#look();
    });
  }

  /** Reads a slice; true when that was all. */
  #read(place: ConnectionPlace): boolean {
    const sinceMs = this.#monotonicMs();
    this.#sinceMs = sinceMs;
    const isDone = place.read();
    this.#sinceMs = undefined;
    const usedMs = this.#monotonicMs() - sinceMs;
    this.#usedMs += usedMs;
    this.#queue.charge(place.key, usedMs);
    return isDone;
  }

  #look(): void {
    if (this.#isLooking) return;
    this.#isLooking = true;
    this.#afterLook(() => this.#round());
  }

  /** Reads the connections that wait, for a bounded time. */
  #round(): void {
    this.#isLooking = false;
    this.#lookedAtUsedMs = this.#usedMs;
    while (this.#usedMs - this.#lookedAtUsedMs < ROUND_MS) {
      const next = this.#queue.shift();
      if (next === undefined) break;
      const place = next.item;
      if (this.#read(place)) place.done();
      else this.#queue.add(place.key, place);
    }
    if (this.#queue.length > 0) this.#look();
    else this.#queue.forgetDebts();
  }
}

/** A connection as {@linkcode ConnectionTurns} keeps it in its queue. */
export class ConnectionPlace {
  /** Its name in the queue. */
  readonly key: string;
  /** Called when all is read. */
  done: () => void = () => {};
  readonly #turns: ConnectionTurns;
  readonly #reader: TurnReader;
  #bytes: Uint8Array | undefined;
  /** The total time of reading when the socket was last emptied. */
  #emptyAtUsedMs: number | undefined;

  /** The place of what `reader` reads. */
  constructor(
    reader: TurnReader,
    options: { readonly key: string; readonly turns: ConnectionTurns },
  ) {
    this.#reader = reader;
    this.#turns = options.turns;
    this.key = options.key;
  }

  /**
   * Reads bytes that have come. `isAll` tells that the socket is empty, so that
   * the event loop must poll before there are more.
   *
   * @returns Settles when all is read; undefined when all is read already. Only
   * then may this be called again.
   */
  receive(
    bytes: Uint8Array,
    { isAll }: { readonly isAll: boolean },
  ): Promise<void> | undefined {
    const turns = this.#turns;
    if (this.#emptyAtUsedMs !== undefined) turns.looked(this.#emptyAtUsedMs);
    this.#emptyAtUsedMs = isAll ? turns.usedMs : undefined;
    this.#bytes = bytes;
    return turns.serve(this);
  }

  /** Reads a slice; true when that was all. */
  read(): boolean {
    const bytes = this.#bytes;
    if (bytes === undefined) this.#reader.resume();
    else {
      this.#bytes = undefined;
      this.#reader.receive(bytes);
    }
    return !this.#reader.isPaused;
  }
}
