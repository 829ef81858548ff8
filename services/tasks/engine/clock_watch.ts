/**
 * Notices when the time of day is set, by comparing it with a clock that only
 * goes on.
 *
 * @module
 */

import type { Clock } from "../../shared/clock.ts";
import { type ClockStep, joinedSteps } from "../domain/clock_step.ts";

/**
 * From how much on it counts. Less than that costs a lease no more than a delay
 * on its way would, and corrections of a clock in good order are below it.
 */
const MIN_STEP_MS = 1_000;
/** Most steps that are kept apart; of more, the oldest are joined. */
const MAX_STEPS = 8;
/** How far apart readings may be to count as one. */
const MAX_GAP_MS = 20;
/** Most tries to read both clocks at once. */
const MAX_READINGS = 4;

/**
 * Notices when the time of day is set. It sees no more than it is made to look
 * at: what was set twice between two looks counts as set once, by the sum.
 */
export class ClockWatch {
  readonly #clock: Clock;
  #last: Reading;
  #steps: ClockStep[] = [];

  /** A watch that begins now. */
  constructor(clock: Clock) {
    this.#clock = clock;
    this.#last = read(clock);
  }

  /**
   * Compares the clocks.
   *
   * @returns the steps that were noticed and not yet taken, oldest first
   */
  look(): readonly ClockStep[] {
    const { wallMs: lastReadMs, monotonicMs } = this.#last;
    this.#last = read(this.#clock);
    const noticedAtMs = this.#last.wallMs;
    // The other clock counts parts of milliseconds, which no time of day has.
    const byMs = Math.round(
      noticedAtMs - lastReadMs - (this.#last.monotonicMs - monotonicMs),
    );
    if (Math.abs(byMs) < MIN_STEP_MS) return this.#steps;
    const steps = [...this.#steps, { byMs, lastReadMs, noticedAtMs }];
    const [first, second, ...others] = steps;
    this.#steps = steps.length > MAX_STEPS && first && second
      ? [joinedSteps(first, second), ...others]
      : steps;
    return this.#steps;
  }

  /** Takes the steps that were noticed, so as to deal with them. */
  take(): readonly ClockStep[] {
    const steps = this.#steps;
    this.#steps = [];
    return steps;
  }
}

interface Reading {
  readonly wallMs: number;
  readonly monotonicMs: number;
}

/** Both clocks at once; a process that is held up between them would seem to be a step. */
function read(clock: Clock): Reading {
  const monotonic = (): number => clock.monotonicMs?.() ?? clock.nowMs();
  let monotonicMs = monotonic();
  for (let tries = 0;; tries++) {
    const wallMs = clock.nowMs();
    const afterMs = monotonic();
    if (afterMs - monotonicMs <= MAX_GAP_MS || tries === MAX_READINGS) {
      return { wallMs, monotonicMs };
    }
    monotonicMs = afterMs;
  }
}
