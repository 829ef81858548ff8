/**
 * Schemas of values out of a few: words, one literal, yes or no.
 *
 * @module
 */

import { nearest } from "../did_you_mean.ts";
import { quote } from "../quote.ts";
import { cannotTake, type Fault, report, reportKind } from "./fault.ts";
import type { JsonSchema } from "./json_schema.ts";
import { definitionsOf, type Schema } from "./schema.ts";

/** Options of {@linkcode choice}. */
export interface ChoiceOptions<Word extends string> {
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
