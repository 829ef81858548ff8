/**
 * Schemas of what tasks are made of: durations, instants and time
 * zones. The domain's own parsers read them.
 *
 * @module
 */

import {
  type Duration,
  DURATION_UNITS,
  formatMs,
  nominalMs,
  parseDuration,
} from "./duration.ts";
import { parseTimeZone } from "./time_zone.ts";
import {
  type JsonSchema,
  named,
  type Schema,
} from "../../shared/schema/schema.ts";
import { asGiven, type Parsed, parsed } from "../../shared/schema/composite.ts";
import { MAX_INSTANT_MS, parseInstant } from "./instant.ts";
import { text } from "../../shared/schema/values.ts";

/** Bounds and forms of a duration. */
interface DurationOptions {
  /**
   * What a plain number counts.
   * @default {"seconds"}
   */
  readonly numberUnit?: "seconds" | "milliseconds" | undefined;
  /**
   * The shortest, in milliseconds; months count with their average length.
   * @default {0}
   */
  readonly minimumMs?: number | undefined;
  /**
   * The longest, in milliseconds.
   * @default a hundred years
   */
  readonly maximumMs?: number | undefined;
}

const DURATION_OBJECT: JsonSchema = {
  type: "object",
  properties: Object.fromEntries(
    DURATION_UNITS.flatMap((units) => [units.slice(0, -1), units]).map(
      (name) => [name, { type: "number", minimum: 0 }] as const,
    ),
  ),
  additionalProperties: false,
};

/**
 * A duration: ISO 8601 text, an object of units, or a number of seconds (or of
 * milliseconds, where the option says so).
 */
export function duration(options: DurationOptions = {}): Schema<Duration> {
  const { numberUnit = "seconds", minimumMs, maximumMs } = options;
  const inMs = numberUnit === "milliseconds";
  const schema = parsed(
    asGiven({
      description:
        `ISO 8601 text, an object of units, or a number of ${numberUnit}`,
      anyOf: [
        { type: "string", format: "duration", maxLength: 100 },
        { type: "number", minimum: 0 },
        DURATION_OBJECT,
      ],
      examples: ["PT30S", { hours: 1, seconds: 5 }, inMs ? 30_000 : 30],
    }),
    (value): Parsed<Duration> => {
      const outcome = parseDuration(value, numberUnit);
      if (outcome.kind === "invalid") {
        return { ...outcome, code: "bad_duration" };
      }
      const ms = nominalMs(outcome.duration);
      if (minimumMs !== undefined && ms < minimumMs) {
        return outOfBounds("too_small", minimumMs);
      }
      if (maximumMs !== undefined && ms > maximumMs) {
        return outOfBounds("too_large", maximumMs);
      }
      return { kind: "ok", value: outcome.duration };
    },
  );
  return named(inMs ? "DurationOrMilliseconds" : "Duration", schema);
}

/** A duration as its length in milliseconds; months have their average one. */
export function durationMs(options: DurationOptions = {}): Schema<number> {
  return parsed(
    duration(options),
    (value) => ({ kind: "ok", value: Math.round(nominalMs(value)) }),
  );
}

/**
 * An instant from 1970 to 9999, RFC 3339 with a zone, as milliseconds since the
 * epoch. What is beyond milliseconds is rounded up, so that nothing set for
 * that instant comes before it.
 */
export function dateTime(): Schema<number> {
  return parsed(
    text({ maxLength: 64, format: "date-time" }),
    (value): Parsed<number> => {
      const outcome = parseInstant(value);
      if (outcome.kind === "invalid") return { ...outcome, code: "bad_time" };
      const atMs = outcome.atMs + (outcome.isCut ? 1 : 0);
      if (atMs >= 0 && atMs <= MAX_INSTANT_MS) {
        return { kind: "ok", value: atMs };
      }
      return {
        kind: "invalid",
        code: "bad_time",
        reason: "Cannot read time: it is not in the years 1970 to 9999, in UTC",
      };
    },
  );
}

/** The name of an IANA time zone, read as the database spells it. */
export function timeZone(): Schema<string> {
  return parsed(text({ maxLength: 64 }), parseTimeZone);
}

function outOfBounds(
  code: "too_small" | "too_large",
  boundMs: number,
): Parsed<never> {
  const comparison = code === "too_small" ? "shorter" : "longer";
  return {
    kind: "invalid",
    code,
    reason: `Cannot take duration: it is ${comparison} than ${
      formatMs(boundMs)
    }`,
  };
}
