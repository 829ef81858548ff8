/**
 * Decides which missed slots of a schedule are still run: slots that passed
 * while the service was down, or because a run took longer than the schedule's
 * interval.
 *
 * @module
 */

import type { Span } from "./cron_schedule.ts";
import {
  countOccurrences,
  lastOccurrence,
  nextOccurrence,
  occurrenceAfter,
  runsLeft,
  type Schedule,
  type ScheduleFrame,
} from "./schedule.ts";
import type { RepeatRule } from "./task.ts";

/** Options of {@linkcode catchUp}. */
export interface CatchUpOptions extends ScheduleFrame {
  /** The slot that was settled last. Only the slots after it are judged. */
  readonly scheduledMs: number;
  /**
   * The present, in milliseconds since the epoch. A slot of this very instant
   * counts as passed.
   */
  readonly nowMs: number;
  /**
   * What to do with slots that have passed: run once for all of them, run each
   * of them that is recent enough, or wait for the next one.
   */
  readonly mode: RepeatRule["catchUp"];
  /** The greatest age of a slot that is still run in the mode "all". */
  readonly windowMs: number;
  /** The most slots that `runs` holds, at least 1. */
  readonly limit: number;
  /**
   * Whether the slot `scheduledMs` is still to be run, as when the service was
   * down at that time. It is then the first of the slots that are judged.
   *
   * @default {false}
   */
  readonly isPending?: boolean | undefined;
  /**
   * How late a slot may be, in milliseconds, and still count as on time in the
   * mode "none", which would else skip a slot that is found due a moment late.
   *
   * @default {0}
   */
  readonly graceMs?: number | undefined;
  /**
   * When the schedule began to apply. Slots up to this instant were never
   * planned, except for a slot that is still to be run.
   *
   * @default {scheduledMs}
   */
  readonly sinceMs?: number | undefined;
}

/** Which of the slots that have passed are run, and which slot is next. */
export interface CatchUp {
  /** The slots to run now, rising. */
  readonly runs: readonly number[];
  /**
   * The first slot after those in `runs` that is not missed. It lies in the
   * future, unless `runs` is full and more slots are still to be run. Undefined
   * when the schedule ends.
   */
  readonly nextMs: number | undefined;
  /** How many slots were missed. Reading this property counts them. */
  readonly missed: number;
}

/**
 * Decides what becomes of the slots after `scheduledMs` up to `nowMs`.
 *
 * - "one" runs once, for the latest slot, and misses the others.
 * - "all" runs each slot that is no older than the window and misses the older
 *   ones.
 * - "none" misses all slots, except the latest if that is on time.
 *
 * The schedule then continues with the first slot in the future. The schedule's
 * limit counts runs, not slots, so a missed slot takes nothing from it. However
 * many slots have passed, the work is bounded by `limit`.
 */
export function catchUp(schedule: Schedule, options: CatchUpOptions): CatchUp {
  if (runsLeft(schedule, options) <= 0) {
    return { runs: [], nextMs: undefined, missed: 0 };
  }
  const { scheduledMs, nowMs } = options;
  if (options.isPending && scheduledMs > nowMs) {
    return { runs: [], nextMs: scheduledMs, missed: 0 };
  }
  const slots = overdueSlots(schedule, options);
  if (slots.lastMs === undefined) {
    const afterMs = Math.max(slots.afterMs, nowMs);
    const nextMs = nextOccurrence(schedule, { ...options, afterMs });
    return { runs: [], nextMs, missed: 0 };
  }
  if (options.mode === "all") return runAll(schedule, options, slots);
  const runs =
    options.mode === "one" || slots.lastMs >= nowMs - (options.graceMs ?? 0)
      ? [slots.lastMs]
      : [];
  return {
    runs,
    nextMs: slotAfter(schedule, options, { afterMs: nowMs, runs }),
    get missed() {
      return countOverdue(schedule, options, slots) - runs.length;
    },
  };
}

/** The span of overdue slots, without the slot that is still to be run. */
interface OverdueSlots extends Span {
  /** The latest overdue slot; undefined when there is no such slot. */
  readonly lastMs: number | undefined;
}

function overdueSlots(
  schedule: Schedule,
  options: CatchUpOptions,
): OverdueSlots {
  const { scheduledMs, sinceMs = scheduledMs, isPending = false } = options;
  const throughMs = Math.min(options.nowMs, schedule.untilMs ?? Infinity);
  const span = { afterMs: Math.max(scheduledMs, sinceMs), throughMs };
  const lastMs = lastOccurrence(schedule.timing, span, options);
  return { ...span, lastMs: lastMs ?? (isPending ? scheduledMs : undefined) };
}

function countOverdue(
  { timing }: Schedule,
  options: CatchUpOptions,
  slots: OverdueSlots,
): number {
  return countOccurrences(timing, slots, options) + (options.isPending ? 1 : 0);
}

function runAll(
  schedule: Schedule,
  options: CatchUpOptions,
  slots: OverdueSlots,
): CatchUp {
  const { scheduledMs, nowMs, isPending = false } = options;
  const oldestMs = nowMs - options.windowMs;
  const span = {
    afterMs: Math.max(slots.afterMs, oldestMs - 1),
    throughMs: slots.throughMs,
  };
  const pending = isPending && scheduledMs >= oldestMs ? [scheduledMs] : [];
  const runs = [...pending];
  const most = Math.min(
    Math.max(1, options.limit),
    runsLeft(schedule, options),
  );
  let lastMs = span.afterMs;
  let nextMs = occurrenceAfter(schedule.timing, lastMs, options);
  while (
    runs.length < most && nextMs !== undefined && nextMs <= span.throughMs
  ) {
    runs.push(nextMs);
    lastMs = nextMs;
    nextMs = occurrenceAfter(schedule.timing, lastMs, options);
  }
  const hasMore = nextMs !== undefined && nextMs <= span.throughMs;
  const afterMs = hasMore ? lastMs : nowMs;
  return {
    runs,
    nextMs: slotAfter(schedule, options, { afterMs, runs }),
    get missed() {
      return countOverdue(schedule, options, slots) - pending.length -
        countOccurrences(schedule.timing, span, options);
    },
  };
}

function slotAfter(
  schedule: Schedule,
  frame: ScheduleFrame,
  { afterMs, runs }: {
    readonly afterMs: number;
    readonly runs: readonly number[];
  },
): number | undefined {
  return nextOccurrence(schedule, {
    ...frame,
    afterMs,
    runs: (frame.runs ?? 0) + runs.length,
  });
}
