/**
 * When a task expires, as its owner wants it.
 *
 * @module
 */

import { intervalOccurrence } from "../../domain/interval_schedule.ts";
import {
  isFinal,
  type RepeatRule,
  type Task,
  type TaskDefinition,
} from "../../domain/task.ts";
import { MAX_INSTANT_MS } from "../../domain/schedule.ts";
import { type Fault, report } from "../../../shared/schema/fault.ts";
import { comingDate, type ComingRun } from "./coming_run.ts";
import type { DefinitionInput } from "./task_fields.ts";

/** What an expiry is judged by. */
export interface ExpiryOptions {
  /** The definition as it was. */
  readonly base: TaskDefinition;
  /** The task as it was; undefined for a new one. */
  readonly task?: Task | undefined;
  /** Whether it has ended and is let live again. */
  readonly isReopened?: boolean | undefined;
  /** Its coming run. */
  readonly coming: ComingRun;
  /** How it repeats from now on, if it does. */
  readonly repeat: RepeatRule | undefined;
  /** The zone of its schedule. */
  readonly timezone: string;
  /** The present, in milliseconds since the epoch. */
  readonly nowMs: number;
  /** The pointer of the task within the body. */
  readonly at: string;
  /** Where faults go. */
  readonly faults: Fault[];
}

/**
 * Finds when the task expires; undefined when never. What would expire before
 * its coming run is a fault, be it that the expiry is given or that the run is
 * moved behind it.
 */
export function expiryOf(
  input: DefinitionInput,
  options: ExpiryOptions,
): number | undefined {
  const { base, timezone, nowMs, at, faults } = options;
  const { expires } = input;
  if (expires === null) return undefined;
  if (expires === undefined) {
    const field = movingField(input, options);
    const { expiresAtMs } = base;
    return expiresAtMs === undefined || field === undefined
      ? expiresAtMs
      : behindDate(expiresAtMs, { ...options, field });
  }
  if (expires.kind === "at") {
    return behindDate(expires.atMs, { ...options, field: "expires" });
  }
  // A date that has passed is due now, so the time to live begins now as well.
  const anchorMs = Math.max(
    comingDate(options.coming, options).latestMs,
    nowMs,
  );
  const { atMs } = intervalOccurrence(expires.duration, 1, {
    anchorMs,
    timezone,
  });
  return atMs <= MAX_INSTANT_MS ? atMs : report(faults, {
    pointer: `${at}/expires`,
    code: "bad_time",
    detail: "Cannot expire behind the year 9999",
  });
}

/** The field that moves the coming run of a task whose expiry stays. */
function movingField(
  { date, delay, repeat }: DefinitionInput,
  { task, coming, isReopened = false }: ExpiryOptions,
): "date" | "delay" | "repeat" | undefined {
  if (task === undefined) return undefined;
  // A date that opens it again lifts an expiry that stands in the way.
  if (isFinal(task.status) && !isReopened) return undefined;
  if (delay !== undefined && delay !== null) return "delay";
  if (date !== undefined) return "date";
  // Behind its first run a schedule may well be ended by the expiry.
  const isMoved = repeat !== undefined && !coming.isFixed && task.run === 0;
  return isMoved ? "repeat" : undefined;
}

function behindDate(
  atMs: number,
  options: ExpiryOptions & { readonly field: string },
): number | undefined {
  const { coming, at, field, faults } = options;
  if (atMs > comingDate(coming, options).earliestMs) return atMs;
  return report(faults, {
    pointer: `${at}/${field}`,
    code: "expires_before_date",
    detail: "Cannot expire before the date: it would never run",
  });
}
