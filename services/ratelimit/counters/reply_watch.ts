/**
 * Watches the deadlines of replies, and does not blame a server for the time
 * in which this process itself stood still.
 *
 * @module
 */

import type { Clock, Timer } from "../../shared/clock.ts";

/** How a {@linkcode ReplyWatch} is made. */
interface ReplyWatchOptions {
  /** Gives the time. */
  readonly clock: Pick<Clock, "nowMs" | "setTimer">;
  /** Called when the earliest deadline has passed; it may set the next one. */
  readonly onDue: () => void;
}

/** Milliseconds until the next look, in which replies that came are read. */
const LOOK_MS = 2;
/** Looks after the first one, as a long backlog takes more than one turn. */
const MOST_LOOKS = 3;
/** Timers fire this late also in a process that runs. */
const USUAL_DELAY_MS = 2;

/**
 * Calls back once the earliest deadline has passed. After this process stood
 * still (it was paused, or had no processor), timers fire before the sockets
 * are read, in which the replies may lie already: so a timer that fires late is
 * followed by a turn of the event loop first, and by some more while the
 * process still lags.
 */
export class ReplyWatch {
  readonly #options: ReplyWatchOptions;
  #timer: Timer | undefined;
  #dueMs = Infinity;

  /** Watches nothing yet. */
  constructor(options: ReplyWatchOptions) {
    this.#options = options;
  }

  /** Watches a deadline, unless an earlier one is watched already. */
  at(dueMs: number): void {
    if (dueMs >= this.#dueMs) return;
    this.#timer?.cancel();
    this.#dueMs = dueMs;
    this.#wait(dueMs, 0);
  }

  /** Watches nothing from now on, until the next deadline is given. */
  stop(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#dueMs = Infinity;
  }

  #wait(untilMs: number, looks: number): void {
    const { clock } = this.#options;
    this.#timer = clock.setTimer(
      () => this.#look(untilMs, looks),
      Math.max(0, untilMs - clock.nowMs()),
    );
  }

  #look(untilMs: number, looks: number): void {
    const nowMs = this.#options.clock.nowMs();
    // However little the first timer is late: a look costs little.
    const allowedMs = looks === 0 ? 0 : USUAL_DELAY_MS;
    if (nowMs > untilMs + allowedMs && looks < MOST_LOOKS) {
      return this.#wait(nowMs + LOOK_MS, looks + 1);
    }
    this.stop();
    this.#options.onDue();
  }
}
