/**
 * Examples as text for people: numbers of a list stand in one line, and of many of
 * them only the first ones.
 *
 * @module
 */

import type { JsonValue } from "../schema/schema.ts";

/** Most numbers of a list that are all shown. */
const MAX_NUMBERS = 12;

/** How many of more are shown. */
const SHOWN_NUMBERS = 3;

/** Stands before a list that is text already; no example has it (private use). */
const MARK = "\ue000";

/** Writes a value as JSON, or nearly so where a list is long. */
export function sampleText(
  value: JsonValue,
  { indent = 0 }: {
    /**
     * Spaces for each level.
     * @default {0} all in one line
     */
    readonly indent?: number;
  } = {},
): string {
  const text = JSON.stringify(
    value,
    (_name, inner: unknown) =>
      isNumbers(inner) ? MARK + numbersText(inner) : inner,
    indent,
  );
  return text.replaceAll(new RegExp(`"${MARK}([^"]*)"`, "g"), "$1");
}

function isNumbers(value: unknown): value is readonly number[] {
  return Array.isArray(value) && value.length > 0 &&
    value.every((item) => typeof item === "number");
}

function numbersText(numbers: readonly number[]): string {
  const shown = numbers.length > MAX_NUMBERS
    ? [...numbers.slice(0, SHOWN_NUMBERS), "…"]
    : numbers;
  return `[${shown.join(", ")}]`;
}
