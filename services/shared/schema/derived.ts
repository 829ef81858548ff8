/**
 * Schemas made of a schema and a function that says more.
 *
 * @module
 */

import { type Fault, report } from "./fault.ts";
import type { JsonSchema } from "./json_schema.ts";
import { definitionsOf, type Schema, type Shape } from "./schema.ts";

/** One thing a parser has against a value. */
export interface Refusal {
  /**
   * Where within the value, as a JSON pointer.
   * @default "", the whole value
   */
  readonly pointer?: string;
  /**
   * The kind of fault.
   * @default {"invalid_value"}
   */
  readonly code?: string;
  /** What is wrong, as a message for the client. */
  readonly reason: string;
}

/** What a parser makes of a value. */
export type Parsed<T> =
  | { readonly kind: "ok"; readonly value: T }
  | ({ readonly kind: "invalid" } & Refusal)
  | { readonly kind: "invalid"; readonly problems: readonly Refusal[] };

/** Options of {@linkcode parsed}. */
export interface ParsedOptions {
  /**
   * Keywords that say what the parser takes, beside those of the schema.
   * @default none
   */
  readonly json?: JsonSchema;
}

/**
 * A value as it came, for a parser that does all the reading itself; `json` is
 * what it takes.
 */
export function asGiven(
  json: JsonSchema,
  parts: Iterable<Shape> = [],
): Schema<unknown> {
  return {
    read: (value) => value,
    json,
    definitions: definitionsOf(parts),
  };
}

/** Makes something else of what a schema reads, or refuses it. */
export function parsed<From, To>(
  schema: Schema<From>,
  parse: (value: From) => Parsed<To>,
  options: ParsedOptions = {},
): Schema<To> {
  function read(value: unknown, at: string, faults: Fault[]): To | undefined {
    const from = schema.read(value, at, faults);
    if (from === undefined) return undefined;
    const outcome = parse(from);
    if (outcome.kind === "ok") return outcome.value;
    const refusals = "problems" in outcome ? outcome.problems : [outcome];
    reportAll(refusals, { at, faults });
    return undefined;
  }
  return {
    read,
    json: { ...schema.json, ...options.json },
    definitions: definitionsOf([schema]),
  };
}

/**
 * Adds a condition that several parts of a value have to meet together. The
 * check tells what is wrong; an empty list means nothing is.
 */
export function refined<T>(
  schema: Schema<T>,
  check: (value: T) => readonly Refusal[],
): Schema<T> {
  return parsed(schema, (value) => {
    const problems = check(value);
    return problems.length === 0
      ? { kind: "ok", value }
      : { kind: "invalid", problems };
  });
}

function reportAll(
  refusals: readonly Refusal[],
  { at, faults }: { readonly at: string; readonly faults: Fault[] },
): void {
  for (const { pointer = "", code = "invalid_value", reason } of refusals) {
    report(faults, { pointer: at + pointer, code, detail: reason });
  }
}
