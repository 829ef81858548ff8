/**
 * Units of a rate limit and the length of their windows.
 *
 * @module
 */

import { UNIT, type UnitName } from "../../../proto/rate_limit_response.ts";

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

function isLimitUnit(name: string): name is LimitUnit {
  return Object.hasOwn(UNIT_SECONDS, name);
}
