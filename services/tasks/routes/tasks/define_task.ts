/**
 * Turns what a client sends about a task into the definition that is stored.
 *
 * @module
 */

import { byteLength } from "../../../shared/schema/json_value.ts";
import { quote } from "../../../shared/quote.ts";
import { type Fault, report } from "../../../shared/schema/fault.ts";
import { judgeTarget } from "../../delivery/call_rules.ts";
import {
  comingDate,
  type ComingRun,
  comingRun,
} from "../../domain/coming_run.ts";
import { formatMs } from "../../../shared/duration.ts";
import { type Calendars, intervalOccurrence } from "../../domain/schedule.ts";
import type { PlanLimits, WorkerDefinition } from "../../domain/records.ts";
import { retentionFault } from "../../domain/retention.ts";
import {
  hasSlot,
  resolveRepeatRule,
  toRepeatInput,
} from "../../domain/repeat_rule.ts";
import { MAX_INSTANT_MS } from "../../domain/instant.ts";
import {
  BLANK_DEFINITION,
  isFinal,
  type RepeatRule,
  type Task,
  type TaskDefinition,
} from "../../domain/task.ts";
import {
  type DefinitionInput,
  plainFields,
} from "../../domain/task_definition.ts";
import type { ApiParts } from "../api_parts.ts";

/** Options of {@linkcode defineTask}: everything a definition depends on. */
export interface DefineOptions {
  /**
   * The definition before the change; {@linkcode BLANK_DEFINITION} for a new
   * task.
   */
  readonly base: TaskDefinition;
  /**
   * The task before the change.
   * @default the task is new
   */
  readonly task?: Task | undefined;
  /**
   * Whether an ended task is opened again; it is due now unless a date is
   * given.
   * @default {false}
   */
  readonly isReopened?: boolean | undefined;
  /**
   * The given data as JSON text, which is written earlier because that may take
   * a while.
   */
  readonly dataJson: string | undefined;
  /** The task's worker. */
  readonly worker: WorkerDefinition;
  /** The calendars that the schedule names; it has to name those there are. */
  readonly calendars: Calendars;
  /** The present, in milliseconds since the epoch. */
  readonly nowMs: number;
  /** The time zone of the tenant. */
  readonly timezone: string;
  /** The limits of the tenant's plan. */
  readonly limits: PlanLimits;
  /** The rules that URLs to be called must meet. */
  readonly targets: ApiParts["targets"];
  /** How late a run may begin and be on time unless the task says it. */
  readonly onTimeMs: ApiParts["onTimeMs"];
  /** The JSON pointer of the task within the body. */
  readonly at: string;
  /** The list that faults are added to. */
  readonly faults: Fault[];
}

/** A definition, with the new date if there is one. */
interface DefinedTask {
  /** The part of a task that its owner decides. */
  readonly definition: TaskDefinition;
  /** The new date, in milliseconds since the epoch; absent when it stays. */
  readonly dateMs?: number | undefined;
}

/** The code of the fault that the data is larger than the plan allows. */
export const DATA_TOO_LARGE = "too_many_bytes";

/** A definition in the making, when the next run is known already. */
interface Placed extends DefineOptions {
  /** The zone of the task's schedule from now on. */
  readonly timezone: string;
  /** The coming run of the task. */
  readonly coming: ComingRun;
}

/**
 * Makes a definition from the earlier one and what was given: null resets a
 * field, absent fields stay. Undefined when there were faults.
 */
export function defineTask(
  input: DefinitionInput,
  options: DefineOptions,
): DefinedTask | undefined {
  const { base, worker, task, isReopened = false, nowMs, faults } = options;
  const before = faults.length;
  const timezone = pick(input.timezone, base.timezone, options.timezone);
  const dateMs = resolveDate(input, { ...options, timezone });
  const isRescheduled = input.repeat !== undefined ||
    timezone !== base.timezone;
  const coming = comingRun(task, { nowMs, dateMs, isRescheduled, isReopened });
  const placed: Placed = { ...options, timezone, coming };
  const repeat = resolveRepeat(input, placed);
  const isMovedAlone = dateMs !== undefined && input.repeat === undefined;
  if (isMovedAlone && repeat !== undefined && !hasSlot(repeat, placed)) {
    refuse(placed, {
      field: isDelayed(input) ? "delay" : "date",
      code: "never_fires",
      detail: "Cannot move the task: its schedule has no slot from then on",
    });
  }
  refuseLongRetention(input, options);
  const definition: TaskDefinition = {
    ...plainFields(input, base),
    workerId: worker.id,
    job: resolveJob(input, options),
    dataJson: resolveData(options),
    timezone,
    repeat,
    retry: input.retry === undefined ? base.retry : input.retry,
    expiresAtMs: resolveExpiry(input, repeat, placed),
    callback: resolveCallback(input, options),
  };
  return faults.length > before ? undefined : { definition, dateMs };
}

/** The value of a field: an absent one stays, null resets it. */
function pick<Value, Reset>(
  given: Value | null | undefined,
  base: Value | Reset,
  reset: Value | Reset,
): Value | Reset {
  return given === undefined ? base : given === null ? reset : given;
}

function refuse(
  { at, faults }: DefineOptions,
  { field, ...fault }: Omit<Fault, "pointer"> & { readonly field: string },
): undefined {
  return report(faults, { pointer: `${at}/${field}`, ...fault });
}

function isDelayed({ delay }: DefinitionInput): boolean {
  return delay !== undefined && delay !== null;
}

function resolveDate(
  { date, delay }: DefinitionInput,
  options: DefineOptions,
): number | undefined {
  const { nowMs, timezone, limits: { maxDelayMs } } = options;
  if (date === undefined && !delay) return undefined;
  if (typeof date === "number" && delay) {
    return refuse(options, {
      field: "delay",
      code: "exclusive",
      detail: "Cannot use both a delay and a date: give one of them",
    });
  }
  const dateMs = delay
    ? intervalOccurrence(delay, 1, { anchorMs: nowMs, timezone }).atMs
    : date ?? nowMs;
  if (maxDelayMs !== null && dateMs - nowMs > maxDelayMs) {
    refuse(options, {
      field: delay ? "delay" : "date",
      code: "too_late",
      detail: "Cannot wait for that date: the plan allows " +
        `${formatMs(maxDelayMs)} from now` +
        (delay ? "; a number as delay counts seconds" : ""),
    });
  }
  return dateMs;
}

function resolveRepeat(
  { repeat: given, timezone: newZone }: DefinitionInput,
  { base, timezone, calendars, coming, limits, onTimeMs, at, faults }: Placed,
): RepeatRule | undefined {
  if (given === null) return undefined;
  const isMoved = newZone !== undefined && timezone !== base.timezone;
  if (given === undefined && !isMoved) return base.repeat;
  const input = given ?? (base.repeat && toRepeatInput(base.repeat));
  return input && resolveRepeatRule(input, {
    timezone,
    calendars,
    coming,
    minIntervalMs: limits.minIntervalMs,
    onTimeMs,
    at: `${at}/repeat`,
    faults,
  });
}

function resolveJob(
  { job: given }: DefinitionInput,
  options: DefineOptions,
): string {
  const { base, worker } = options;
  const job = pick(given, base.job, BLANK_DEFINITION.job);
  const { jobs } = worker;
  // A job that stays was valid once; the worker's list may have changed since.
  const stays = given === undefined && base.workerId === worker.id;
  if (stays || jobs === undefined || Object.hasOwn(jobs, job)) return job;
  const known = Object.keys(jobs).slice(0, 10).map((name) => quote(name));
  refuse(options, {
    field: "job",
    code: "unknown_job",
    detail: `Cannot use job ${quote(job)}: worker ${quote(worker.name)} has ` +
      (known.length === 0 ? "no jobs" : known.join(", ")),
  });
  return job;
}

function resolveData(options: DefineOptions): string {
  const { dataJson: text, base, limits: { payloadBytes } } = options;
  if (text === undefined) return base.dataJson;
  // A character has three bytes at most, so most texts need no counting of
  // bytes.
  if (text.length * 3 > payloadBytes && byteLength(text) > payloadBytes) {
    refuse(options, {
      field: "data",
      code: DATA_TOO_LARGE,
      detail: `Cannot accept data: it has more than ${payloadBytes} bytes as ` +
        "JSON text",
    });
  }
  return text;
}

function refuseLongRetention(
  { retain }: DefinitionInput,
  options: DefineOptions,
): void {
  const fault = retain && retentionFault(retain, options.limits.retentionMs);
  if (!fault) return;
  const { pointer, code, detail } = fault;
  refuse(options, { field: `retain${pointer}`, code, detail });
}

function resolveCallback(
  { callback: given }: DefinitionInput,
  options: DefineOptions,
): TaskDefinition["callback"] {
  if (given === undefined) return options.base.callback;
  if (given === null) return undefined;
  const verdict = judgeTarget(given.url, options.targets);
  if (verdict.kind === "ok") return given;
  const { code, reason: detail } = verdict;
  return refuse(options, { field: "callback", code, detail });
}

/**
 * Finds when the task expires; undefined when never. A task that would expire
 * before its coming run is a fault, whether the request sets the expiry or
 * moves the run.
 */
function resolveExpiry(
  input: DefinitionInput,
  repeat: RepeatRule | undefined,
  options: Placed,
): number | undefined {
  const { base: { expiresAtMs }, coming, timezone, calendars, nowMs } = options;
  const { expires } = input;
  if (expires === null) return undefined;
  const field = expires ? "expires" : movingField(input, options);
  const atMs = expires?.kind === "at" ? expires.atMs : expiresAtMs;
  if (field === undefined || !expires && atMs === undefined) return atMs;
  const date = comingDate(coming, { repeat, timezone, calendars, nowMs });
  if (expires?.kind === "after") {
    // A date in the past is due now, so the time to live begins now as well.
    const anchorMs = Math.max(date.latestMs, nowMs);
    const grid = { anchorMs, timezone };
    const { atMs } = intervalOccurrence(expires.duration, 1, grid);
    return atMs <= MAX_INSTANT_MS ? atMs : refuse(options, {
      field,
      code: "bad_time",
      detail: "Cannot expire after the year 9999",
    });
  }
  return atMs !== undefined && atMs > date.earliestMs ? atMs : refuse(options, {
    field,
    code: "expires_before_date",
    detail: "Cannot expire before the date: it would never run",
  });
}

/**
 * The field of the request that moves the coming run while the expiry stays;
 * undefined when none does.
 */
function movingField(
  input: DefinitionInput,
  { task, coming, isReopened = false }: Placed,
): "date" | "delay" | "repeat" | undefined {
  if (task === undefined) return undefined;
  // A date that opens an ended task again removes an expiry that is too early.
  if (isFinal(task.status) && !isReopened) return undefined;
  if (isDelayed(input)) return "delay";
  if (input.date !== undefined) return "date";
  // After the first run, the expiry may well end a schedule.
  const isMoved = input.repeat !== undefined && !coming.isFixed &&
    task.run === 0;
  return isMoved ? "repeat" : undefined;
}
