/**
 * How the parameters of a query are read one by one.
 *
 * @module
 */

import { quote } from "../quote.ts";
import { hint } from "./choice.ts";
import { type Fault, MAX_FAULTS } from "./fault.ts";
import type { ParameterFault } from "./parameter_fault.ts";
import { type QueryField, schemaOf } from "./query_field.ts";
import { type RawParameter, splitQuery } from "./query_text.ts";
import type { Schema } from "./schema.ts";

/** A query that is being read. */
export interface Reading {
  /** What was given and not read yet. */
  readonly values: Map<string, string>;
  /** What was wrong so far. */
  readonly faults: ParameterFault[];
}

/** The values of a query by name, each given once. */
export function valuesOf(
  raw: string,
  faults: ParameterFault[],
): Map<string, string> {
  const values = new Map<string, string>();
  const given = splitQuery(raw);
  if (given === undefined) {
    const detail = "Cannot read query: it has too many parameters";
    addFault(faults, { parameter: "", code: "too_many", detail });
    return values;
  }
  for (const parameter of given) addParameter(parameter, { values, faults });
  return values;
}

function addParameter(
  { name, value }: RawParameter,
  { values, faults }: Reading,
): void {
  if (value === undefined) {
    addFault(faults, {
      parameter: name,
      code: "bad_encoding",
      detail: `Cannot read parameter ${
        shown(name)
      }: its percent-encoding is broken`,
    });
  } else if (values.has(name)) {
    addFault(faults, {
      parameter: name,
      code: "repeated",
      detail: `Cannot read parameter ${shown(name)}: it is given twice`,
    });
  } else {
    values.set(name, value);
  }
}

/**
 * Reads a parameter and takes it from the values; `undefined` when it is absent
 * without default or has a fault.
 */
export function readPlain(
  name: string,
  field: QueryField,
  { values, faults }: Reading,
): unknown {
  const text = values.get(name);
  if (text === undefined) {
    if (!("kind" in field)) {
      addFault(faults, {
        parameter: name,
        code: "required",
        detail: `Cannot do without parameter "${name}": it is missing`,
      });
      return undefined;
    }
    return field.kind === "default" ? field.fallback : undefined;
  }
  values.delete(name);
  return readText(name, text, { schema: schemaOf(field), faults });
}

/** Reads all parameters with a prefix, as {@linkcode readPlain} does. */
export function readPrefixed(
  field: QueryField,
  { values, faults }: Reading,
): unknown {
  if (!("prefix" in field)) return undefined;
  const entries: [string, unknown][] = [];
  for (const [name, text] of values) {
    if (!name.startsWith(field.prefix) || name === field.prefix) continue;
    values.delete(name);
    const schema = field.each;
    entries.push([
      name.slice(field.prefix.length),
      readText(name, text, { schema, faults }),
    ]);
  }
  if (entries.length > field.maxEntries) {
    addFault(faults, {
      parameter: field.prefix,
      code: "too_many",
      detail:
        `Cannot take more than ${field.maxEntries} parameters "${field.prefix}…"`,
    });
  }
  return entries.length === 0 ? undefined : Object.fromEntries(entries);
}

function readText(
  name: string,
  text: string,
  { schema, faults }: {
    readonly schema: Schema<unknown>;
    readonly faults: ParameterFault[];
  },
): unknown {
  const inner: Fault[] = [];
  const value = schema.read(text, "", inner);
  for (const { code, detail } of inner) {
    addFault(faults, { parameter: name, code, detail });
  }
  return value;
}

/** Reports a parameter that nothing has read. */
export function addUnknown(
  name: string,
  { known, faults }: {
    readonly known: readonly string[];
    readonly faults: ParameterFault[];
  },
): void {
  addFault(faults, {
    parameter: name,
    code: "unknown_parameter",
    detail: `Cannot take parameter ${shown(name)}: it is not known, ${
      hint(name, known)
    }`,
  });
}

/** Adds a fault unless there are many already. */
export function addFault(
  faults: ParameterFault[],
  fault: ParameterFault,
): void {
  if (faults.length >= MAX_FAULTS) return;
  faults.push({ ...fault, parameter: fault.parameter.slice(0, 256) });
}

function shown(name: string): string {
  return quote(name, { maxChars: 64 });
}
