/**
 * From how a client says a task repeats to the rule that is kept.
 *
 * @module
 */

import { formatDuration } from "../../domain/duration.ts";
import {
  nextOccurrence,
  parseTiming,
  shortestSpacingMs,
  type TimingOutcome,
} from "../../domain/schedule.ts";
import type { RepeatRule } from "../../domain/task.ts";
import { type Fault, report } from "../../../shared/schema/fault.ts";
import type { ComingRun } from "./coming_run.ts";
import {
  DEFAULT_CATCH_UP_WINDOW_MS,
  type RepeatInput,
} from "./repeat_field.ts";

/** What a rule is judged by. */
export interface RepeatRuleOptions {
  /** The zone of its calendar. */
  readonly timezone: string;
  /** The coming run of the task. */
  readonly coming: ComingRun;
  /** The shortest spacing that the plan allows, in milliseconds. */
  readonly minIntervalMs: number;
  /** The pointer of the rule within the body. */
  readonly at: string;
  /** Where faults go. */
  readonly faults: Fault[];
}

type MutableRule = { -readonly [Key in keyof RepeatRule]: RepeatRule[Key] };

/**
 * Returns the rule with its defaults; undefined when something is wrong with it,
 * which is then among the faults.
 */
export function repeatRuleOf(
  input: RepeatInput,
  options: RepeatRuleOptions,
): RepeatRule | undefined {
  const { at, faults, timezone } = options;
  const { anchorMs, afterMs, isFixed } = options.coming;
  const interval = input.interval ?? undefined;
  const cron = input.cron ?? undefined;
  const outcome = parseTiming({ interval, cron }, {
    timezone,
    afterMs,
  });
  if (outcome.kind === "invalid") return refuse(outcome, options);
  const { timing } = outcome;
  const field = timing.kind;
  const spacingMs = shortestSpacingMs(timing);
  if (spacingMs < options.minIntervalMs) {
    return report(faults, {
      pointer: `${at}/${field}`,
      code: "too_frequent",
      detail: `Cannot repeat every ${shown(spacingMs)}: the plan allows ` +
        `${shown(options.minIntervalMs)} at the least`,
    });
  }
  const jitterMs = input.jitter ?? 0;
  if (jitterMs > spacingMs) {
    return report(faults, {
      pointer: `${at}/jitter`,
      code: "too_large",
      detail: `Cannot take jitter: it is longer than the spacing of the ` +
        `slots, ${shown(spacingMs)}`,
    });
  }
  const untilMs = input.until ?? undefined;
  const first = nextOccurrence(
    untilMs === undefined ? { timing } : { timing, untilMs },
    { anchorMs, timezone, afterMs },
  );
  // A run that is to come anyway may be the last one.
  if (first === undefined && !isFixed) {
    return report(faults, {
      pointer: untilMs === undefined ? `${at}/${field}` : `${at}/until`,
      code: "never_fires",
      detail: "Cannot repeat: there is no slot between its date and its end",
    });
  }
  const rule: MutableRule = {
    catchUp: input.catch_up ?? "one",
    catchUpWindowMs: input.catch_up_window ?? DEFAULT_CATCH_UP_WINDOW_MS,
    jitterMs,
    mode: input.mode ?? "same",
    onFailure: input.on_failure ??
      (timing.kind === "cron" ? "continue" : "stop"),
  };
  if (interval !== undefined) rule.interval = interval;
  if (cron !== undefined) rule.cron = cron;
  if (typeof input.limit === "number") rule.limit = input.limit;
  if (untilMs !== undefined) rule.untilMs = untilMs;
  return rule;
}

/** Whether a rule that is kept has a slot for the coming run of the task. */
export function hasSlot(
  rule: RepeatRule,
  { timezone, coming }: Pick<RepeatRuleOptions, "timezone" | "coming">,
): boolean {
  const { anchorMs, afterMs, isFixed } = coming;
  if (isFixed) return true;
  const outcome = parseTiming(rule, { timezone, afterMs });
  if (outcome.kind === "invalid") return outcome.code !== "never_fires";
  const { timing } = outcome;
  const { untilMs } = rule;
  const schedule = untilMs === undefined ? { timing } : { timing, untilMs };
  return nextOccurrence(schedule, { anchorMs, timezone, afterMs }) !==
    undefined;
}

/** The rule as a client would write it, to check it anew for another calendar. */
export function repeatInputOf(rule: RepeatRule): RepeatInput {
  return {
    interval: rule.interval ?? null,
    cron: rule.cron ?? null,
    limit: rule.limit ?? null,
    until: rule.untilMs ?? null,
    catch_up: rule.catchUp,
    catch_up_window: rule.catchUpWindowMs,
    jitter: rule.jitterMs,
    mode: rule.mode,
    on_failure: rule.onFailure,
  };
}

function refuse(
  { field, code, reason }: Extract<TimingOutcome, { kind: "invalid" }>,
  { at, faults }: RepeatRuleOptions,
): undefined {
  return report(faults, {
    pointer: field === undefined ? at : `${at}/${field}`,
    code: code === "invalid" ? "bad_repeat" : code,
    detail: reason,
  });
}

function shown(ms: number): string {
  return formatDuration({ months: 0, days: 0, ms });
}
