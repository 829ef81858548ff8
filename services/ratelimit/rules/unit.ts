/**
 * Units of a rate limit, and windows of other lengths.
 *
 * @module
 */

import { UNIT, type UnitName } from "../../../proto/rate_limit_response.ts";
import { exactMs, parseDuration } from "../../shared/duration.ts";

const DAY_SECONDS = 86_400;

/** A unit that has a window: every unit but `UNKNOWN`. */
export type LimitUnit = Exclude<UnitName, "UNKNOWN">;

/** Length of each unit's window in seconds; no calendar: a month is 30 days. */
export const UNIT_SECONDS: Readonly<Record<LimitUnit, number>> = {
  SECOND: 1,
  MINUTE: 60,
  HOUR: 3_600,
  DAY: DAY_SECONDS,
  WEEK: 7 * DAY_SECONDS,
  MONTH: 30 * DAY_SECONDS,
  YEAR: 365 * DAY_SECONDS,
};

const UNITS = Object.keys(UNIT_SECONDS).filter(isLimitUnit);

/** Units as a configuration file writes them, shortest first. */
export const UNIT_WORDS: readonly string[] = UNITS.map((name) =>
  name.toLowerCase()
);

const UNIT_OF_WORD: ReadonlyMap<string, LimitUnit> = new Map(
  UNIT_WORDS.map((word, index) => [word, UNITS[index]!]),
);

/**
 * Returns the unit that a configuration names, in any case; undefined for an
 * unknown word.
 */
export function unitOfWord(word: string): LimitUnit | undefined {
  // Nearly all words are in lower case already, and converting them takes time.
  return UNIT_OF_WORD.get(word) ?? UNIT_OF_WORD.get(word.toLowerCase());
}

/**
 * Returns the unit of a number on the wire; undefined for `UNKNOWN` and for
 * unknown numbers.
 */
export function unitOfNumber(number: number): LimitUnit | undefined {
  return UNITS.find((name) => UNIT[name] === number);
}

/** Seconds of the longest window. */
export const MAX_WINDOW_SECONDS = 366 * DAY_SECONDS;

/**
 * Reads the length of a window: a duration such as `90s`, `15m`, `1h30m` or
 * `7d`, in whole seconds from 1 up to {@linkcode MAX_WINDOW_SECONDS}.
 *
 * @returns Seconds; undefined for any other text.
 */
export function parseWindow(text: string): number | undefined {
  const outcome = parseDuration(text);
  const ms = outcome.kind === "ok" ? exactMs(outcome.duration) : undefined;
  if (ms === undefined) return undefined;
  const seconds = ms / 1_000;
  const isWindow = Number.isInteger(seconds) && seconds >= 1 &&
    seconds <= MAX_WINDOW_SECONDS;
  return isWindow ? seconds : undefined;
}

/**
 * Returns the seconds of a limit's window, by its unit or by the window in
 * place of it; undefined when neither is one.
 */
export function toWindowSeconds(
  { unit, window }: {
    /** The unit as written; empty when it is missing. */
    readonly unit: string;
    /** The window as written; undefined when it is missing. */
    readonly window?: string | undefined;
  },
): number | undefined {
  if (window !== undefined) return parseWindow(window);
  const known = unitOfWord(unit);
  return known && UNIT_SECONDS[known];
}

/**
 * Returns a window's name in counter keys and texts: its unit in lower case, or
 * its length in the longest units that divide it, such as `15m`.
 */
export function windowName(seconds: number): string {
  const unit = WORD_OF_SECONDS.get(seconds);
  if (unit !== undefined) return unit;
  for (const [letter, length] of LETTERS) {
    if (seconds % length === 0) return `${seconds / length}${letter}`;
  }
  return `${seconds}s`;
}

const WORD_OF_SECONDS: ReadonlyMap<number, string> = new Map(
  UNITS.map((name, index) => [UNIT_SECONDS[name], UNIT_WORDS[index]!]),
);

const LETTERS = [["d", DAY_SECONDS], ["h", 3_600], ["m", 60]] as const;

/**
 * Returns the unit whose length is nearest to a window's, by their ratio: the
 * protocol knows no other windows.
 */
export function nearestUnit(seconds: number): LimitUnit {
  const computeRatio = (unit: LimitUnit): number =>
    Math.abs(Math.log(UNIT_SECONDS[unit] / seconds));
  return UNITS.reduce((best, unit) =>
    computeRatio(unit) < computeRatio(best) ? unit : best
  );
}

function isLimitUnit(name: string): name is LimitUnit {
  return Object.hasOwn(UNIT_SECONDS, name);
}
