/**
 * Checks of numbers, vectors and instants.
 *
 * @module
 */

import { bad, type Check, type Checked, good } from "./check.ts";

/** The span of a number. */
export interface Span {
  /** The least. */
  readonly min: number;
  /** The greatest. */
  readonly max: number;
}

const INSTANT =
  /^(\d{4})-(\d{2})-(\d{2})[Tt]\d{2}:\d{2}:\d{2}(?:\.\d{1,9})?(?:[Zz]|[+-]\d{2}:\d{2})$/;

/** Takes a finite number within a span. */
export function number({ min, max }: Span): Check<number> {
  return (value, name) =>
    typeof value === "number" && value >= min && value <= max
      ? good(value)
      : bad(name, `is no number from ${min} to ${max}`);
}

/** Takes a whole number from 1 on, for which `max` is enough. */
export function cappedCount(max: number): Check<number> {
  return (value, name) =>
    typeof value === "number" && Number.isInteger(value) && value >= 1
      ? good(Math.min(value, max))
      : bad(name, "is no whole number from 1 on");
}

/** Takes a whole number and moves it into a span. */
export function clampedCount({ min, max }: Span): Check<number> {
  return (value, name) =>
    typeof value === "number" && Number.isInteger(value)
      ? good(Math.min(Math.max(value, min), max))
      : bad(name, "is no whole number");
}

/** Takes a number above 0, for which `max` is enough. */
export function cappedPositive(max: number): Check<number> {
  return (value, name) =>
    typeof value === "number" && value > 0
      ? good(Math.min(value, max))
      : bad(name, "is no number above 0");
}

/**
 * Takes a vector of a width and gives it the length 1; a vector of the length 0
 * has no direction to compare.
 */
export function unitVector(width: number): Check<Float32Array> {
  return (value, name) => {
    if (value === undefined) return bad(name, "is not given");
    if (!Array.isArray(value)) return bad(name, "is no list");
    const items: readonly unknown[] = value;
    if (items.length !== width) {
      return bad(name, `has ${items.length} numbers, but ${width} are taken`);
    }
    const numbers = new Float64Array(width);
    let largest = 0;
    for (const [index, item] of items.entries()) {
      if (typeof item !== "number" || !Number.isFinite(item)) {
        return bad(`${name}[${index}]`, "is no finite number");
      }
      numbers[index] = item;
      largest = Math.max(largest, Math.abs(item));
    }
    if (largest === 0) return bad(name, "has no direction: its length is 0");
    return good(normalized(numbers, largest));
  };
}

/** Takes an instant (RFC 3339), as milliseconds since the epoch. */
export function instant(
  value: unknown,
  name: string,
): Checked<number> {
  const match = typeof value === "string" ? INSTANT.exec(value) : null;
  const ms = match === null ? NaN : Date.parse(match[0]);
  const [, year, month, day] = (match ?? []).map(Number);
  // The runtime takes the 30th of February for the 2nd of March.
  return Number.isNaN(ms) || Number(day) > lastDay(Number(year), Number(month))
    ? bad(name, "is no time such as 2030-01-31T12:00:00Z")
    : good(ms);
}

function lastDay(year: number, month: number): number {
  return new Date(Date.UTC(year, month, 0)).getUTCDate();
}

/** Divided by the largest number first, so that no square is out of bounds. */
function normalized(numbers: Float64Array, largest: number): Float32Array {
  let squares = 0;
  for (const number of numbers) squares += (number / largest) ** 2;
  const length = Math.sqrt(squares);
  return Float32Array.from(numbers, (number) => number / largest / length);
}
