/**
 * Adjusts running leases when the machine's clock is set.
 *
 * The ends of leases are times of day, so that they outlast a restart. If the
 * clock is set forward by an hour, all leases would seem to have ended, and
 * their tasks would be handed out while their workers still work on them. If it
 * is set back, a dead worker would be noticed an hour late. So before a lease
 * is judged to have ended, the time of day is compared with a monotonic clock,
 * and the running attempts are shifted by the difference.
 *
 * A machine that was asleep looks like one whose clock was set forward, since
 * the monotonic clock stands still meanwhile: its leases continue when it
 * wakes. That is right for workers on the same machine. A worker elsewhere that
 * went on working may still report its outcome, and one that died is noticed
 * when the rest of its lease is over.
 *
 * Where the store has a time of its own, no machine's clock counts, and nothing
 * is shifted: each of several instances would do it by its own clock.
 *
 * Steps before the start of the server are not noticed. A step while the server
 * was down counts as time that passed.
 *
 * @module
 */

import { type Clock, steadyMs } from "../../shared/clock.ts";
import { type ClockStep, joinedSteps } from "../domain/clock_step.ts";
import type { Task } from "../domain/task.ts";
import type { TaskEvent } from "../domain/task_event.ts";
import type { TaskChanges } from "./changes.ts";
import type { Liveness } from "./workers.ts";
import type { EngineParts } from "./parts.ts";

interface LeaseClockOptions {
  readonly parts: EngineParts;
  readonly changes: TaskChanges;
  /** Records when workers last asked for tasks. */
  readonly liveness: Liveness;
}

/**
 * A pass over the running attempts, which continues after the store has failed.
 */
interface Walk {
  readonly steps: readonly ClockStep[];
  /**
   * The start of each attempt before it was shifted, by the attempt's id, so
   * that each attempt is shifted only once.
   */
  readonly begun: Map<string, number>;
}

/** Shifts the running attempts when the machine's clock was set. */
export class LeaseClock {
  readonly #options: LeaseClockOptions;
  /** Undefined where the store has its own time. */
  readonly #watch: ClockWatch | undefined;
  #walk: Walk | undefined;
  #settling: Promise<void> | undefined;

  /** Watches the clock from now on. */
  constructor(options: LeaseClockOptions) {
    this.#options = options;
    const { store, clock } = options.parts;
    this.#watch = store.hasOwnTime ? undefined : new ClockWatch(clock);
  }

  /**
   * Whether no lease may be judged to have ended: the machine's clock was set
   * and some attempts still have their old times, until {@linkcode settle} has
   * shifted them, or another server has just taken over the store.
   */
  isBehind(): boolean {
    return this.#isUnsettled() || !this.#options.parts.store.mayEndLeases();
  }

  /** Whether some attempts still have to be shifted. */
  #isUnsettled(): boolean {
    return this.#watch !== undefined &&
      (this.#watch.look().length > 0 || this.#walk !== undefined);
  }

  /**
   * Shifts the running attempts if the machine's clock was set.
   *
   * @throws {Error} when the store fails; the next call continues
   */
  async settle(): Promise<void> {
    if (!this.#isUnsettled()) return;
    this.#settling ??= this.#settle().finally(() => this.#settling = undefined);
    await this.#settling;
  }

  async #settle(): Promise<void> {
    const { parts: { clock, logger }, changes, liveness } = this.#options;
    const isResumed = this.#walk !== undefined;
    const walk = this.#walk ?? {
      steps: this.#watch?.take() ?? [],
      begun: new Map(),
    };
    this.#walk = walk;
    if (!isResumed) {
      liveness.followClock({ steps: walk.steps, nowMs: clock.nowMs() });
    }
    const leases = await changes.applyToRunning(() => (task) =>
      findShift(task, walk)
    );
    this.#walk = undefined;
    logger.warn("The clock was set; running leases keep their time", {
      steps_ms: walk.steps.map(({ byMs }) => byMs).join(", "),
      leases,
    });
  }
}

/**
 * The event that shifts an attempt; undefined when it is shifted already: a
 * commit that failed may have been applied, and then the attempt has another
 * start.
 */
function findShift({ attempt }: Task, walk: Walk): TaskEvent | undefined {
  if (attempt === undefined) return undefined;
  const begunAtMs = walk.begun.get(attempt.id) ?? attempt.startedAtMs;
  if (begunAtMs !== attempt.startedAtMs) return undefined;
  walk.begun.set(attempt.id, begunAtMs);
  return { kind: "follow_clock", steps: walk.steps };
}

/**
 * The smallest step that counts, in milliseconds. A smaller one costs a lease
 * no more than a delay in the network would, and the corrections of a well-kept
 * clock are smaller.
 */
const MIN_STEP_MS = 1_000;
/** The most steps that are kept apart; beyond that, the oldest are joined. */
const MAX_STEPS = 8;
/** How many milliseconds two readings may be apart and still count as one. */
const MAX_GAP_MS = 20;
/** The most repeated tries to read both clocks at the same time. */
const MAX_READINGS = 4;

/**
 * Notices when the machine's clock is set, whenever {@linkcode look} is called:
 * two changes between two calls count as one, by their sum.
 */
export class ClockWatch {
  readonly #clock: Clock;
  #last: Reading;
  #steps: ClockStep[] = [];

  /** Starts to watch from now on. */
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
    // The monotonic clock has fractions of milliseconds, which the time of day
    // lacks.
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

  /**
   * Removes and returns the steps that were noticed, so that the caller handles
   * them.
   */
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

/**
 * Reads both clocks at the same time: a process that is held up between the
 * readings would look like a step.
 */
function read(clock: Clock): Reading {
  const monotonic = (): number => steadyMs(clock);
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
