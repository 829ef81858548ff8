/**
 * The range of time that a list's `start` and `end` stand for.
 *
 * @module
 */

import { parseTimeZone } from "../time_zone.ts";
import { parsePeriod } from "./calendar_period.ts";
import type { ParameterProblem } from "../../../shared/schema/parameter_fault.ts";

/** The parameters as a client wrote them. */
export interface InstantRangeInput {
  /** The beginning; absent means there is none. */
  readonly start?: string;
  /** The end; absent means there is none. */
  readonly end?: string;
  /**
   * The zone whose calendar years, months and days are of.
   * @default "UTC"
   */
  readonly tz?: string;
}

/** A range of instants; one that ends before it begins holds none. */
export interface InstantRange {
  /** The first instant, itself included; absent means all before the last. */
  readonly fromMs?: number;
  /** The last instant, itself included; absent means all after the first. */
  readonly toMs?: number;
}

/** What reading a range comes to. */
export type InstantRangeOutcome =
  | { readonly kind: "ok"; readonly value: InstantRange }
  | {
    readonly kind: "invalid";
    /** All that is wrong, at least one thing. */
    readonly problems: readonly ParameterProblem[];
  };

/**
 * Reads a range. Both ends are inclusive at the precision they are written in:
 * `start=2016&end=2017` is all of both years. An end that lies before the
 * start is refused.
 */
export function parseInstantRange(
  input: InstantRangeInput,
): InstantRangeOutcome {
  const problems: ParameterProblem[] = [];
  const timezone = zoneOf(input.tz, problems);
  const read = (
    parameter: "start" | "end",
  ): { readonly firstMs: number; readonly lastMs: number } | undefined => {
    const text = input[parameter];
    if (text === undefined) return undefined;
    const outcome = parsePeriod(text, timezone);
    if (outcome.kind === "ok") return outcome;
    problems.push({ parameter, code: "bad_time", reason: outcome.reason });
    return undefined;
  };
  const start = read("start");
  const end = read("end");
  if (
    start !== undefined && end !== undefined &&
    // A day that a zone passed over begins and ends where the next one begins.
    end.lastMs < start.firstMs && end.firstMs < start.firstMs
  ) {
    problems.push({
      parameter: "end",
      code: "end_before_start",
      reason: "Cannot read range: its end is before its start",
    });
  }
  if (problems.length > 0) return { kind: "invalid", problems };
  return {
    kind: "ok",
    value: {
      ...start === undefined ? {} : { fromMs: start.firstMs },
      ...end === undefined ? {} : { toMs: end.lastMs },
    },
  };
}

/** The zone; UTC as well when it cannot be read, so that reading goes on. */
function zoneOf(tz: string | undefined, problems: ParameterProblem[]): string {
  if (tz === undefined) return "UTC";
  const outcome = parseTimeZone(tz);
  if (outcome.kind === "ok") return outcome.timezone;
  problems.push({
    parameter: "tz",
    code: outcome.code,
    reason: outcome.reason,
  });
  return "UTC";
}
