/**
 * Keeps connections to workers open after an answer, for the next call to the
 * same place.
 *
 * A server may close a connection just when a call is written to it. So a
 * connection is kept for less time than servers usually keep one, is watched
 * for its end meanwhile, and once it has rested for a while, it is given out only
 * after what had arrived was read.
 *
 * @module
 */

import type { Socket } from "node:net";
import { type Clock, steadyClock, type Timer } from "../../shared/clock.ts";

/**
 * How long a connection is kept whose server does not say how long it keeps it,
 * in milliseconds. Many servers close it after five seconds.
 */
const IDLE_MS = 4_000;
/** How much earlier than the server it is closed, in milliseconds. */
const EARLIER_MS = 1_000;
/** The longest time that it is kept, in milliseconds. */
const MAX_IDLE_MS = 30_000;
/**
 * The greatest age of a connection, in milliseconds: then the host's name is
 * resolved and judged again.
 */
const MAX_AGE_MS = 60_000;
/**
 * A connection that was kept for less than so many milliseconds was not closed
 * for being idle, so it is given out at once.
 */
const RESTED_MS = 1_000;
/** The most connections that are kept; the one kept longest is closed first. */
const MAX_KEPT = 256;

/** A connection that waits for the next call. */
interface Kept {
  readonly socket: Socket;
  readonly place: string;
  readonly openedMs: number;
  /** Since when it is kept. */
  readonly sinceMs: number;
  readonly timer: Timer;
  /** Stops watching the connection. */
  readonly unwatch: () => void;
}

/** A connection for a call. */
export interface Connection {
  /** The connection. */
  readonly socket: Socket;
  /** When it was opened, by the clock of the connections. */
  readonly openedMs: number;
}

/** Keeps connections that wait for the next call. */
export class PushConnections {
  readonly #clock: Clock;
  /** In the order in which they were kept. */
  readonly #kept = new Set<Kept>();
  #isClosed = false;

  /** Starts without connections; the clock measures how long they are kept. */
  constructor(clock: Clock) {
    this.#clock = steadyClock(clock);
  }

  /** How many connections are kept. */
  get size(): number {
    return this.#kept.size;
  }

  /** The present by the clock that ages are measured with. */
  nowMs(): number {
    return this.#clock.nowMs();
  }

  /**
   * Takes the connection to a place that was kept last, if there is one that is
   * still open.
   */
  async take(place: string): Promise<Connection | undefined> {
    while (true) {
      const kept = [...this.#kept].findLast((one) => one.place === place);
      if (kept === undefined) return undefined;
      // No other call may take it meanwhile, but it is still watched.
      this.#kept.delete(kept);
      if (this.#clock.nowMs() - kept.sinceMs >= RESTED_MS) {
        // Its end may have arrived and not been read yet. Only a timer lets the
        // runtime read before it goes on.
        await new Promise<void>((resolve) => void setTimeout(resolve, 0));
      }
      this.#forget(kept);
      const { socket } = kept;
      if (!socket.destroyed) return kept;
    }
  }

  /**
   * Keeps the connection of a call that was answered.
   *
   * @param options.keepAlive the header `keep-alive` of the answer
   */
  keep(
    { socket, openedMs }: Connection,
    { place, keepAlive }: {
      readonly place: string;
      readonly keepAlive: string | undefined;
    },
  ): void {
    const sinceMs = this.#clock.nowMs();
    const ageMs = sinceMs - openedMs;
    const idleMs = Math.min(parseIdleMs(keepAlive), MAX_AGE_MS - ageMs);
    const isOpen = !socket.destroyed && socket.writable && socket.readable;
    if (this.#isClosed || !isOpen || idleMs <= 0) {
      socket.destroy();
      return;
    }
    const drop = (): void => this.#drop(kept);
    const events = ["data", "end", "error", "close"] as const;
    for (const event of events) socket.on(event, drop);
    const kept: Kept = {
      ...{ socket, place, openedMs, sinceMs },
      timer: this.#clock.setTimer(drop, idleMs),
      unwatch: () => {
        for (const event of events) socket.off(event, drop);
      },
    };
    this.#kept.add(kept);
    // Without reading, the other end's hanging up would not be noticed.
    socket.resume();
    const [oldest] = this.#kept;
    if (this.#kept.size > MAX_KEPT && oldest !== undefined) this.#drop(oldest);
  }

  /** Closes all connections that wait, and keeps no more. */
  close(): void {
    this.#isClosed = true;
    for (const kept of this.#kept) this.#drop(kept);
  }

  #forget(kept: Kept): void {
    this.#kept.delete(kept);
    kept.timer.cancel();
    kept.unwatch();
  }

  #drop(kept: Kept): void {
    this.#forget(kept);
    // An error that comes late would have no listener.
    kept.socket.on("error", () => {});
    kept.socket.destroy();
  }
}

/** How long the server keeps a connection, less what makes us the first. */
function parseIdleMs(keepAlive: string | undefined): number {
  const seconds = /(?:^|[\s,;])timeout=(\d{1,6})\b/i.exec(keepAlive ?? "")?.[1];
  return seconds === undefined || Number(seconds) === 0
    ? IDLE_MS
    : Math.min(Number(seconds) * 1_000 - EARLIER_MS, MAX_IDLE_MS);
}
