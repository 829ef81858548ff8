/**
 * Schema of text.
 *
 * @module
 */

import { cannotTake, type Fault, report, reportKind } from "./fault.ts";
import type { JsonSchema } from "./json_schema.ts";
import { definitionsOf, type Schema } from "./schema.ts";

/** What text has to be like. */
export interface TextOptions {
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
