/**
 * Keeps the time of leases when the time of day is set.
 *
 * The ends of leases are times of day, so that they outlast a restart. When
 * that is set forward by an hour, all leases would seem to have ended, and
 * their tasks would be handed out while their workers still work on them; set
 * back, a dead worker would be missed an hour late. So before it is judged
 * whether a lease has ended, the time of day is compared with a monotonic
 * clock, and the running attempts are shifted by the difference.
 *
 * A machine that was asleep is one whose time of day was set forward, while the
 * other clock stands still: its leases continue when it wakes. That is right
 * for workers on the same machine. A worker elsewhere that went on working may
 * still report its outcome, and one that died is noticed when the rest of its
 * lease is over.
 *
 * Steps before the start of the server are not noticed. A step while the server
 * was down counts as time that passed.
 *
 * @module
 */

import type { Clock } from "../../shared/clock.ts";
import { type ClockStep, joinedSteps } from "../domain/clock_step.ts";
import type { Task } from "../domain/task.ts";
import type { TaskEvent } from "../domain/task_event.ts";
import type { TaskChanges } from "./changes.ts";
import type { Liveness } from "./workers.ts";
import type { EngineParts } from "./parts.ts";

interface LeaseClockOptions {
  readonly parts: EngineParts;
  readonly changes: TaskChanges;
  /** Remembers when workers were seen. */
  readonly liveness: Liveness;
}

/** A pass over the running attempts, which is resumed after the store has failed. */
interface Walk {
  readonly steps: readonly ClockStep[];
  /** The start of each attempt before it was shifted, by its id: it is shifted once. */
  readonly begun: Map<string, number>;
}

/** Sets the leases when the time of day is set. */
export class LeaseClock {
  readonly #options: LeaseClockOptions;
  readonly #watch: ClockWatch;
  #walk: Walk | undefined;
  #settling: Promise<void> | undefined;

  /** Watches the clock from now on. */
  constructor(options: LeaseClockOptions) {
    this.#options = options;
    this.#watch = new ClockWatch(options.parts.clock);
  }

  /**
   * Whether the time of day was set and leases still have the times of before.
   * Until they are {@linkcode settle}d no lease may be judged to have ended.
   */
  isBehind(): boolean {
    return this.#watch.look().length > 0 || this.#walk !== undefined;
  }

  /**
   * Shifts the running attempts if the time of day was set.
   *
   * @throws {Error} when the store fails; the next call resumes
   */
  async settle(): Promise<void> {
    if (!this.isBehind()) return;
    this.#settling ??= this.#settle().finally(() => this.#settling = undefined);
    await this.#settling;
  }

  async #settle(): Promise<void> {
    const { parts: { clock, logger }, changes, liveness } = this.#options;
    const isResumed = this.#walk !== undefined;
    const walk = this.#walk ?? { steps: this.#watch.take(), begun: new Map() };
    this.#walk = walk;
    if (!isResumed) {
      liveness.followClock({ steps: walk.steps, nowMs: clock.nowMs() });
    }
    const leases = await changes.applyToRunning((task) => eventOf(task, walk));
    this.#walk = undefined;
    logger.warn("The time of day was set; leases under way keep their time", {
      steps_ms: walk.steps.map(({ byMs }) => byMs).join(", "),
      leases,
    });
  }
}

/** A commit that failed may have been applied: then the attempt begins at another time. */
function eventOf({ attempt }: Task, walk: Walk): TaskEvent | undefined {
  if (attempt === undefined) return undefined;
  const begunAtMs = walk.begun.get(attempt.id) ?? attempt.startedAtMs;
  if (begunAtMs !== attempt.startedAtMs) return undefined;
  walk.begun.set(attempt.id, begunAtMs);
  return { kind: "follow_clock", steps: walk.steps };
}

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
