/**
 * Schemas made of others: lists, records, alternatives, and values converted by
 * a function.
 *
 * @module
 */

import {
  type Fault,
  MAX_FAULTS,
  type Place,
  pointerTo,
  refuse,
  report,
  reportKind,
} from "./fault.ts";
import { jsonEquals } from "./json_value.ts";
import {
  createSchema,
  isJsonObject,
  type JsonSchema,
  type Schema,
  type Shape,
  type ValueOf,
} from "./schema.ts";

/** The bounds of a list. */
interface ListOptions {
  /** Most items. */
  readonly maxItems: number;
  /**
   * Fewest items.
   * @default {0}
   */
  readonly minItems?: number;
  /**
   * Whether equal items are refused. Objects are compared one with another, so
   * such a list is better short.
   * @default {false}
   */
  readonly isUnique?: boolean;
}

/** The bounds of a record. */
interface RecordOptions {
  /** Most members. */
  readonly maxEntries: number;
  /**
   * What names have to be like.
   * @default any name
   */
  readonly names?: Schema<string>;
}

/** A list of items that are alike. */
export function list<T>(
  item: Schema<T>,
  options: ListOptions,
): Schema<readonly T[]> {
  const { maxItems, minItems = 0, isUnique = false } = options;
  const json = {
    type: "array",
    items: item.json,
    minItems: minItems > 0 ? minItems : undefined,
    maxItems,
    uniqueItems: isUnique || undefined,
  } as const;
  return createSchema(json, (value, at, faults) => {
    const place = { at, faults };
    if (!Array.isArray(value)) {
      return reportKind(value, { ...place, wanted: "a list" });
    }
    if (value.length > maxItems) {
      return refuse(place, "too_many", `it has more than ${maxItems} items`);
    }
    if (value.length < minItems) {
      return refuse(place, "too_few", `it has fewer than ${minItems} items`);
    }
    const items: T[] = [];
    let isGood = true;
    for (let index = 0; index < value.length; index++) {
      const taken = item.read(value[index], `${at}/${index}`, faults);
      if (taken !== undefined) items.push(taken);
      else isGood = false;
      // Stop: further faults could not be reported.
      if (!isGood && faults.length >= MAX_FAULTS) return undefined;
    }
    // Faulty items have no size limit, so comparing them might take long.
    if (!isGood) return undefined;
    return isUnique && !isAllDifferent(value, place) ? undefined : items;
  }, [item]);
}

/** An object whose members are alike and whose names the client chooses. */
export function record<T>(
  values: Schema<T>,
  options: RecordOptions,
): Schema<Readonly<Record<string, T>>> {
  const { maxEntries, names } = options;
  const json = {
    type: "object",
    additionalProperties: values.json,
    propertyNames: names?.json,
    maxProperties: maxEntries,
  } as const;
  return createSchema(json, (value, at, faults) => {
    if (!isJsonObject(value)) {
      return reportKind(value, { at, faults, wanted: "an object" });
    }
    const given = Object.keys(value);
    if (given.length > maxEntries) {
      const state = `it has more than ${maxEntries} members`;
      return refuse({ at, faults }, "too_many", state);
    }
    const entries: [string, T][] = [];
    let isGood = true;
    for (const name of given) {
      const pointer = pointerTo(at, name.slice(0, 256));
      if (names !== undefined) {
        isGood = names.read(name, pointer, faults) !== undefined && isGood;
      }
      const taken = values.read(value[name], pointer, faults);
      if (taken === undefined) isGood = false;
      else entries.push([name, taken]);
    }
    // Defines members instead of assigning them, so "__proto__" is one of them.
    return isGood ? Object.fromEntries(entries) : undefined;
  }, names === undefined ? [values] : [values, names]);
}

function isAllDifferent(
  items: readonly unknown[],
  { at, faults }: Place,
): boolean {
  const plain = new Set<unknown>();
  const others: unknown[] = [];
  for (const [index, item] of items.entries()) {
    const isPlain = typeof item !== "object" || item === null;
    const isRepeated = isPlain
      ? plain.has(item)
      : others.some((other) => jsonEquals(other, item));
    if (isRepeated) {
      const place = { at: pointerTo(at, index), faults };
      refuse(place, "repeated", "an earlier item is the same");
      return false;
    }
    if (isPlain) plain.add(item);
    else others.push(item);
  }
  return true;
}

/** One of the kinds a value may be of. */
interface Alternative<T> {
  /** Tells whether the value is meant to be of this kind, good or not. */
  readonly when: (value: unknown) => boolean;
  /** Reads it. */
  readonly schema: Schema<T>;
}

/** A value or null. */
export function nullable<T>(schema: Schema<T>): Schema<T | null> {
  return createSchema(
    orNull(schema.json),
    (value, at, faults) =>
      value === null ? null : schema.read(value, at, faults),
    [schema],
  );
}

/**
 * A value of one of several kinds. A predicate tells which kind is meant, so
 * that the faults told are those of that kind alone.
 *
 * @param options.mustBe What a value must be, for the message: "it is neither
 * …".
 */
export function oneOf<const Cases extends readonly Alternative<unknown>[]>(
  cases: Cases,
  options: { readonly mustBe: string },
): Schema<ValueOf<Cases[number]["schema"]>> {
  type Value = ValueOf<Cases[number]["schema"]>;
  const schemas = cases.map((one) => one.schema);
  const json = { anyOf: schemas.map((schema) => schema.json) };
  return createSchema(json, (value, at, faults) => {
    for (const { when, schema } of cases) {
      if (!when(value)) continue;
      // What one of the cases reads is what the type says.
      return schema.read(value, at, faults) as Value | undefined;
    }
    const state = `it is neither ${options.mustBe}`;
    return refuse({ at, faults }, "wrong_type", state);
  }, schemas);
}

function orNull(json: JsonSchema): JsonSchema {
  const { type } = json;
  const isPlain = typeof type === "string" && json.enum === undefined &&
    json.const === undefined && json.$ref === undefined;
  if (isPlain) {
    return { ...json, type: type === "null" ? type : [type, "null"] };
  }
  const { description, ...rest } = json;
  const either = { anyOf: [rest, { type: "null" as const }] };
  return description === undefined ? either : { description, ...either };
}

/** A reason why a parser refuses a value. */
interface Refusal {
  /**
   * Where within the value, as a JSON pointer.
   * @default "", the whole value
   */
  readonly pointer?: string | undefined;
  /**
   * The kind of fault.
   * @default {"invalid_value"}
   */
  readonly code?: string | undefined;
  /** What is wrong, as a message for the client. */
  readonly reason: string;
}

/** What a parser makes of a value. */
export type Parsed<T> =
  | { readonly kind: "ok"; readonly value: T }
  | ({ readonly kind: "invalid" } & Refusal)
  | { readonly kind: "invalid"; readonly problems: readonly Refusal[] };

/**
 * Passes a value through unread, for a parser that checks it itself; `json`
 * describes what the parser takes.
 */
export function asGiven(
  json: JsonSchema,
  parts: Iterable<Shape> = [],
): Schema<unknown> {
  return createSchema(json, (value) => value, parts);
}

/**
 * Converts the value that a schema reads with a parser, which may refuse it.
 *
 * @param options.json Keywords that say what the parser takes, beside those of
 * the schema.
 */
export function parsed<From, To>(
  schema: Schema<From>,
  parse: (value: From) => Parsed<To>,
  options: { readonly json?: JsonSchema } = {},
): Schema<To> {
  const json = { ...schema.json, ...options.json };
  return createSchema(json, (value, at, faults) => {
    const from = schema.read(value, at, faults);
    if (from === undefined) return undefined;
    const outcome = parse(from);
    if (outcome.kind === "ok") return outcome.value;
    const refusals = "problems" in outcome ? outcome.problems : [outcome];
    for (const { pointer = "", code = "invalid_value", reason } of refusals) {
      report(faults, { pointer: at + pointer, code, detail: reason });
    }
    return undefined;
  }, [schema]);
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

/** The same schema, whose faults are reworded. */
export function reworded<T>(
  schema: Schema<T>,
  reword: (
    fault: Fault,
    of: { readonly value: unknown; readonly at: string },
  ) => Fault,
): Schema<T> {
  return {
    ...schema,
    read(value, at, faults) {
      let index = faults.length;
      const taken = schema.read(value, at, faults);
      for (; index < faults.length; index++) {
        faults[index] = reword(faults[index]!, { value, at });
      }
      return taken;
    },
  };
}
