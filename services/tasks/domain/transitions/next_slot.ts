/**
 * The slot that follows the end of a run.
 *
 * @module
 */

import { catchUp } from "../catch_up.ts";
import { nextOccurrence, runsLeft } from "../schedule.ts";
import type { HeldSlot, Task } from "../task.ts";
import {
  gridOf,
  pendingSlot,
  type Repetition,
  repetitionsAfterRun,
  settledThrough,
} from "./repetition.ts";
import { patched } from "./step.ts";

/** What follows the end of a run. */
export interface NextSlot {
  /** Repetitions, the run that has ended among them. */
  readonly repetitions: number;
  /** The slot of the next run; undefined when the schedule has ended. */
  readonly slotMs: number | undefined;
  /**
   * When that is, if it was settled before.
   *
   * @default {as `dateOfSlot` has it}
   */
  readonly dateMs?: number;
  /** Slots that are passed over. */
  readonly missed: number;
  /**
   * How long ago the first slot came that the run was in the way of.
   *
   * @default {none has come}
   */
  readonly lateMs?: number;
}

/** Options of {@linkcode slotAfterRun}. */
export interface SlotAfterRunOptions {
  /** The present, in milliseconds since the epoch. */
  readonly nowMs: number;
  /**
   * Whether it is told how many slots were passed over.
   *
   * @default {true}
   */
  readonly countsMissed?: boolean;
}

/** Finds what follows a run that has just ended. */
export function slotAfterRun(
  task: Task,
  repetition: Repetition,
  { nowMs, countsMissed = true }: SlotAfterRunOptions,
): NextSlot {
  const { rule, schedule } = repetition;
  const { held } = task;
  const repetitions = repetitionsAfterRun(task, schedule);
  const frame = { ...gridOf(task), runs: repetitions + 1 };
  if (held !== undefined && runsLeft(schedule, frame) > 0) {
    return {
      ...heldSlot(task, held, { repetition, nowMs, countsMissed }),
      repetitions,
    };
  }
  const scheduledMs = settledThrough(task);
  const nextMs = nextOccurrence(schedule, { ...frame, afterMs: scheduledMs });
  // A slot that was run before its time has been run, in another schedule, too.
  const soonestMs = nextMs === task.slotMs
    ? nextOccurrence(schedule, { ...frame, afterMs: nextMs })
    : nextMs;
  if (soonestMs === undefined || soonestMs > nowMs) {
    return { repetitions, slotMs: soonestMs, missed: 0 };
  }
  const { runs: [pendingMs], nextMs: laterMs, missed } = catchUp(schedule, {
    ...frame,
    scheduledMs,
    nowMs,
    mode: rule.catchUp,
    windowMs: rule.catchUpWindowMs,
    limit: 1,
    countsMissed,
  });
  const lateMs = nowMs - soonestMs;
  return { repetitions, slotMs: pendingMs ?? laterMs, missed, lateMs };
}

/** The slot that a run by hand has left where it was. */
function heldSlot(
  task: Task,
  held: HeldSlot,
  { repetition, nowMs, countsMissed }: {
    readonly repetition: Repetition;
    readonly nowMs: number;
    readonly countsMissed: boolean;
  },
): Omit<NextSlot, "repetitions"> {
  if (held.dateMs > nowMs) return { ...held, missed: 0 };
  const waiting = patched(task, {
    ...held,
    run: task.run + 1,
    held: undefined,
    firstTriedAtMs: undefined,
  });
  const pending = pendingSlot(waiting, repetition, { nowMs, countsMissed });
  return {
    slotMs: pending.kind === "ended" ? undefined : pending.slotMs,
    missed: pending.missed,
    lateMs: nowMs - held.dateMs,
  };
}
