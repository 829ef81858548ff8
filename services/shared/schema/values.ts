/**
 * Schemas of single values: text, numbers, one of several words, yes or no.
 *
 * @module
 */

import { nearest } from "../did_you_mean.ts";
import { quote } from "../quote.ts";
import { cannotTake, type Fault, report, reportKind } from "./fault.ts";
import { definitionsOf, type JsonSchema, type Schema } from "./schema.ts";

/** What text has to be like. */
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
  const json: JsonSchema = {
    type: "string",
    ...minLength > 0 ? { minLength } : {},
    maxLength,
    ...pattern === undefined ? {} : { pattern: pattern.source },
    ...format === undefined ? {} : { format },
  };

  function read(
    value: unknown,
    at: string,
    faults: Fault[],
  ): string | undefined {
    if (typeof value !== "string") {
      return reportKind(value, { at, faults, wanted: "text" });
    }
    const refuse = (code: string, state: string): undefined =>
      report(faults, { pointer: at, code, detail: cannotTake(state) });
    if (value.length > maxLength && isLongerThan(value, maxLength)) {
      return refuse("too_long", `it has more than ${maxLength} characters`);
    }
    if (
      value.length < minLength * 2 && !isLongerThan(value, minLength - 1)
    ) {
      return refuse(
        "too_short",
        minLength === 1
          ? "it is empty"
          : `it has fewer than ${minLength} characters`,
      );
    }
    if (!value.isWellFormed()) {
      return refuse("not_unicode", "it holds half a surrogate pair");
    }
    if (pattern !== undefined && !pattern.test(value)) {
      return refuse("wrong_form", `it is not ${mustBe}`);
    }
    return value;
  }

  return { read, json, definitions: definitionsOf([]) };
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
  const read = (
    value: unknown,
    at: string,
    faults: Fault[],
  ): number | undefined => {
    if (typeof value !== "number" || !Number.isInteger(value)) {
      return typeof value === "number"
        ? report(faults, {
          pointer: at,
          code: "wrong_type",
          detail: cannotTake("it is no whole number"),
        })
        : reportKind(value, { at, faults, wanted: "a whole number" });
    }
    // Adding zero turns -0, which is written "0" again, into 0.
    return inBounds(value, { at, faults, minimum, maximum })
      ? value + 0
      : undefined;
  };
  const json: JsonSchema = { type: "integer", minimum, maximum };
  return { read, json, definitions: definitionsOf([]) };
}

/** A number. */
export function number(options: NumberOptions = {}): Schema<number> {
  const { minimum, maximum } = options;
  const bounds = {
    minimum: minimum ?? -Number.MAX_VALUE,
    maximum: maximum ?? Number.MAX_VALUE,
  };
  const read = (
    value: unknown,
    at: string,
    faults: Fault[],
  ): number | undefined => {
    if (typeof value !== "number" || Number.isNaN(value)) {
      return reportKind(value, { at, faults, wanted: "a number" });
    }
    return inBounds(value, { at, faults, ...bounds }) ? value : undefined;
  };
  const json: JsonSchema = {
    type: "number",
    ...minimum === undefined ? {} : { minimum },
    ...maximum === undefined ? {} : { maximum },
  };
  return { read, json, definitions: definitionsOf([]) };
}

interface Bounds {
  readonly at: string;
  readonly faults: Fault[];
  readonly minimum: number;
  readonly maximum: number;
}

function inBounds(value: number, bounds: Bounds): boolean {
  const { at, faults, minimum, maximum } = bounds;
  if (value < minimum) {
    report(faults, {
      pointer: at,
      code: "too_small",
      detail: cannotTake(`it is less than ${minimum}`),
    });
    return false;
  }
  if (value > maximum) {
    report(faults, {
      pointer: at,
      code: "too_large",
      detail: cannotTake(`it is greater than ${maximum}`),
    });
    return false;
  }
  return true;
}

/** Options of {@linkcode choice}. */
interface ChoiceOptions<Word extends string> {
  /**
   * Other spellings, with the word each stands for.
   * @default none
   */
  readonly aliases?: Readonly<Record<string, Word>>;
}

/** Most of a client's word that a message repeats. */
const SHOWN_CHARS = 64;

/** One of several words, upper and lower case being different. */
export function choice<const Word extends string>(
  words: readonly Word[],
  options: ChoiceOptions<Word> = {},
): Schema<Word> {
  const meanings = new Map<string, Word>(Object.entries(options.aliases ?? {}));
  for (const word of words) meanings.set(word, word);

  function read(value: unknown, at: string, faults: Fault[]): Word | undefined {
    if (typeof value !== "string") {
      return reportKind(value, { at, faults, wanted: "text" });
    }
    return meanings.get(value) ?? report(faults, {
      pointer: at,
      code: "unknown_choice",
      detail: cannotTake(
        `${quote(value, { maxChars: SHOWN_CHARS })} is not known, ${
          hint(value, words)
        }`,
      ),
    });
  }

  const json: JsonSchema = {
    type: "string",
    enum: [...new Set([...words, ...meanings.keys()])],
  };
  return { read, json, definitions: definitionsOf([]) };
}

/** Exactly one value. */
export function literal<const Value extends string | number | boolean | null>(
  wanted: Value,
): Schema<Value> {
  function read(
    value: unknown,
    at: string,
    faults: Fault[],
  ): Value | undefined {
    if (value === wanted) return wanted;
    return report(faults, {
      pointer: at,
      code: "unknown_choice",
      detail: cannotTake(`it is not ${JSON.stringify(wanted)}`),
    });
  }
  return { read, json: { const: wanted }, definitions: definitionsOf([]) };
}

/** True or false. */
export function boolean(): Schema<boolean> {
  function read(
    value: unknown,
    at: string,
    faults: Fault[],
  ): boolean | undefined {
    return typeof value === "boolean"
      ? value
      : reportKind(value, { at, faults, wanted: "a boolean" });
  }
  return { read, json: { type: "boolean" }, definitions: definitionsOf([]) };
}

/** What to write instead of an unknown word: the nearest one, or all. */
export function hint(word: string, words: Iterable<string>): string {
  const meant = nearest(word, words);
  if (meant !== undefined) return `did you mean ${quote(meant)}?`;
  const known = [...words].map((one) => quote(one)).join(", ");
  return known === "" ? "none is" : `known are ${known}`;
}
