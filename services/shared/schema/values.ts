/**
 * Schemas of single values: text, numbers, one of several words, yes or no.
 *
 * @module
 */

import { nearest } from "../did_you_mean.ts";
import { quote } from "../quote.ts";
import { type Place, refuse, reportKind } from "./fault.ts";
import { createSchema, type Schema } from "./schema.ts";

/** The constraints of a text. */
interface TextOptions {
  /**
   * Fewest characters (code points, as JSON Schema counts).
   * @default {0}
   */
  readonly minLength?: number;
  /**
   * Most characters.
   * @default {1000}
   */
  readonly maxLength?: number;
  /**
   * What the text has to match; no flags but `u`, so that JSON Schema can say
   * the same.
   * @default any text
   */
  readonly pattern?: RegExp;
  /**
   * What the pattern is about, for the message: "it is not …".
   * @default "of the form <pattern>"
   */
  readonly mustBe?: string;
  /**
   * What the text means, as JSON Schema's `format`.
   * @default nothing is said
   */
  readonly format?: string;
}

/** Text without line ends and other control characters. */
export const ONE_LINE = /^\P{Cc}*$/u;

/**
 * Text. Its length is always bounded, and it is well-formed: half a surrogate
 * pair, which JSON can express, could not be stored.
 *
 * @throws {TypeError} when the pattern has flags that JSON Schema has not
 */
export function text(options: TextOptions = {}): Schema<string> {
  const { minLength = 0, maxLength = 1_000, pattern, format } = options;
  if (pattern !== undefined && !/^u?$/.test(pattern.flags)) {
    throw new TypeError(
      `Cannot use pattern ${pattern}: no flags but "u" are possible`,
    );
  }
  const mustBe = options.mustBe ?? `of the form ${pattern?.source ?? ""}`;
  const json = {
    type: "string",
    minLength: minLength > 0 ? minLength : undefined,
    maxLength,
    pattern: pattern?.source,
    format,
  } as const;
  return createSchema(json, (value, at, faults) => {
    if (typeof value !== "string") {
      return reportKind(value, { at, faults, wanted: "text" });
    }
    const not = (code: string, state: string): undefined =>
      refuse({ at, faults }, code, state);
    if (value.length > maxLength && isLongerThan(value, maxLength)) {
      return not("too_long", `it has more than ${maxLength} characters`);
    }
    if (value.length < minLength * 2 && !isLongerThan(value, minLength - 1)) {
      return minLength === 1
        ? not("too_short", "it is empty")
        : not("too_short", `it has fewer than ${minLength} characters`);
    }
    if (!value.isWellFormed()) {
      return not("not_unicode", "it holds half a surrogate pair");
    }
    if (pattern !== undefined && !pattern.test(value)) {
      return not("wrong_form", `it is not ${mustBe}`);
    }
    return value;
  });
}

/** Tells whether text has more code points than `count`. */
function isLongerThan(value: string, count: number): boolean {
  if (value.length <= count) return false;
  if (value.length > count * 2) return true;
  let codePoints = 0;
  for (const _ of value) {
    codePoints++;
    if (codePoints > count) return true;
  }
  return false;
}

/** The bounds of a number. */
export interface NumberOptions {
  /**
   * The least number.
   * @default no bound; of whole numbers the least that is exact
   */
  readonly minimum?: number;
  /**
   * The greatest number.
   * @default no bound; of whole numbers the greatest that is exact
   */
  readonly maximum?: number;
}

/** A whole number; 1.0 is one, and all are exact (at most 2^53 - 1). */
export function integer(options: NumberOptions = {}): Schema<number> {
  const minimum = options.minimum ?? Number.MIN_SAFE_INTEGER;
  const maximum = options.maximum ?? Number.MAX_SAFE_INTEGER;
  const json = { type: "integer", minimum, maximum } as const;
  return createSchema(json, (value, at, faults) => {
    if (typeof value !== "number") {
      return reportKind(value, { at, faults, wanted: "a whole number" });
    }
    if (!Number.isInteger(value)) {
      return refuse({ at, faults }, "wrong_type", "it is not a whole number");
    }
    // Adding zero turns -0, which is written "0" again, into 0.
    return within(value + 0, { at, faults, minimum, maximum });
  });
}

/** A number. */
export function number(options: NumberOptions = {}): Schema<number> {
  const { minimum, maximum } = options;
  const bounds = {
    minimum: minimum ?? -Number.MAX_VALUE,
    maximum: maximum ?? Number.MAX_VALUE,
  };
  const json = { type: "number", minimum, maximum } as const;
  return createSchema(
    json,
    (value, at, faults) =>
      typeof value !== "number" || Number.isNaN(value)
        ? reportKind(value, { at, faults, wanted: "a number" })
        : within(value, { at, faults, ...bounds }),
  );
}

/** Returns the value if it is within its limits; otherwise reports a fault. */
function within(
  value: number,
  { minimum, maximum, ...place }: Place & Required<NumberOptions>,
): number | undefined {
  if (value < minimum) {
    return refuse(place, "too_small", `it is less than ${minimum}`);
  }
  return value > maximum
    ? refuse(place, "too_large", `it is greater than ${maximum}`)
    : value;
}

/** Most of a client's word that a message repeats. */
const SHOWN_CHARS = 64;

/**
 * One of several words, upper and lower case being different. `aliases` are
 * other spellings, with the word each stands for.
 */
export function choice<const Word extends string>(
  words: readonly Word[],
  { aliases = {} }: { readonly aliases?: Readonly<Record<string, Word>> } = {},
): Schema<Word> {
  const meanings = new Map<string, Word>(Object.entries(aliases));
  for (const word of words) meanings.set(word, word);
  const all = [...new Set<string>([...words, ...meanings.keys()])];
  return createSchema({ type: "string", enum: all }, (value, at, faults) => {
    if (typeof value !== "string") {
      return reportKind(value, { at, faults, wanted: "text" });
    }
    const meaning = meanings.get(value);
    if (meaning !== undefined) return meaning;
    const shown = quote(value, { maxChars: SHOWN_CHARS });
    const state = `${shown} is unknown; ${hint(value, words)}`;
    return refuse({ at, faults }, "unknown_choice", state);
  });
}

/** Exactly one value. */
export function literal<const Value extends string | number | boolean | null>(
  wanted: Value,
): Schema<Value> {
  const state = `it is not ${JSON.stringify(wanted)}`;
  return createSchema(
    { const: wanted },
    (value, at, faults) =>
      value === wanted
        ? wanted
        : refuse({ at, faults }, "unknown_choice", state),
  );
}

/** True or false. */
export function boolean(): Schema<boolean> {
  return createSchema(
    { type: "boolean" },
    (value, at, faults) =>
      typeof value === "boolean"
        ? value
        : reportKind(value, { at, faults, wanted: "a boolean" }),
  );
}

/** What to write instead of an unknown word: the nearest one, or all. */
export function hint(word: string, words: Iterable<string>): string {
  const meant = nearest(word, words);
  if (meant !== undefined) return `did you mean ${quote(meant)}?`;
  const known = [...words].map((one) => quote(one)).join(", ");
  return known === "" ? "none is" : `known are ${known}`;
}
