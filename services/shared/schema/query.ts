/**
 * The schema of a URL's query: which parameters it may have and their types.
 *
 * @module
 */

import { quote } from "../quote.ts";
import { type Fault, MAX_FAULTS, type ParameterFault } from "./fault.ts";
import type {
  DefaultField,
  Fields,
  ObjectOf,
  OptionalField,
} from "./object.ts";
import { type RawParameter, splitQuery } from "./query_values.ts";
import {
  createSchema,
  definedBy,
  type JsonSchema,
  type Schema,
  type Shape,
} from "./schema.ts";
import { hint } from "./values.ts";

/** A parameter as documents describe it. */
export interface QueryParameter {
  /** Its name, or the name that stands for all with a prefix. */
  readonly name: string;
  /** Whether it has to be there. */
  readonly isRequired: boolean;
  /**
   * Its schema; of those with a prefix the schema of all of them as an object.
   */
  readonly json: JsonSchema;
}

/** Reads queries and tells what they look like. */
export interface QuerySchema<T> {
  /**
   * Reads a raw query, without its question mark, and adds what is wrong with
   * it to `faults`.
   *
   * @returns `undefined` exactly when something was wrong.
   */
  read(raw: string, faults: ParameterFault[]): T | undefined;
  /** The parameters it may have. */
  readonly parameters: readonly QueryParameter[];
  /** The named schemas the parameters refer to. */
  readonly definitions: Shape["definitions"];
}

/**
 * A query of these parameters and no others; each is given once at most. An
 * unknown parameter is a fault, since ignoring it would answer another question
 * than the one that was asked.
 */
export function querySchema<F extends QueryFields>(
  fields: F,
): QuerySchema<ObjectOf<F>> {
  const byName = new Map<string, QueryField>(Object.entries(fields));
  const prefixes = [...byName].filter(([, field]) => "prefix" in field);
  const plain = [...byName].filter(([, field]) => !("prefix" in field));
  const known = [
    ...plain.map(([name]) => name),
    ...prefixes.map(([, field]) => "prefix" in field ? field.prefix : ""),
  ];

  function read(
    raw: string,
    faults: ParameterFault[],
  ): ObjectOf<F> | undefined {
    const own: ParameterFault[] = [];
    const values = readValues(raw, own);
    const result: Record<string, unknown> = {};
    for (const [name, field] of plain) {
      const value = readPlain(name, field, { values, faults: own });
      if (value !== undefined) result[name] = value;
    }
    for (const [name, field] of prefixes) {
      const value = readPrefixed(field, { values, faults: own });
      if (value !== undefined) result[name] = value;
    }
    for (const name of values.keys()) {
      addFault(own, {
        parameter: name,
        code: "unknown_parameter",
        detail: `Cannot accept parameter ${shown(name)}: it is unknown; ` +
          hint(name, known),
      });
    }
    if (own.length > 0) {
      for (const fault of own) addFault(faults, fault);
      return undefined;
    }
    // Every parameter that the type promises was read or had its default.
    return result as ObjectOf<F>;
  }

  return {
    read,
    parameters: [...byName].map(([name, field]) => ({
      name,
      isRequired: !("kind" in field),
      json: "kind" in field && field.kind === "default"
        ? { ...field.schema.json, default: field.shown }
        : toSchema(field).json,
    })),
    definitions: definedBy(Object.values(fields).map(toSchema)),
  };
}

/** All parameters whose names begin alike, such as `metadata.<k>`. */
interface PrefixField<T> extends OptionalField<Readonly<Record<string, T>>> {
  /** How their names begin. */
  readonly prefix: string;
  /** Reads one of them. */
  readonly each: Schema<T>;
  /** Most of them. */
  readonly maxEntries: number;
}

/**
 * A parameter: one that has to be there, or may be absent, or all with a
 * prefix.
 */
type QueryField =
  | Schema<unknown>
  | OptionalField<unknown>
  | DefaultField<unknown>
  | PrefixField<unknown>;

/** The parameters of a query, by name. */
type QueryFields = Readonly<Record<string, QueryField>> & Fields;

/**
 * All parameters that begin with `prefix`, `maxEntries` of them at most; what
 * follows it is the key.
 */
export function prefixed<T>(
  prefix: string,
  each: Schema<T>,
  { maxEntries = 50 }: { readonly maxEntries?: number } = {},
): PrefixField<T> {
  const pattern = `^${RegExp.escape(prefix)}`;
  return {
    kind: "optional",
    prefix,
    each,
    maxEntries,
    // Only for documents: the parameters are read one by one.
    schema: createSchema<Readonly<Record<string, T>>>(
      {
        type: "object",
        description: each.json.description,
        patternProperties: { [pattern]: each.json },
        additionalProperties: false,
        maxProperties: maxEntries,
      },
      () => undefined,
      [each],
    ),
  };
}

/** The schema of a parameter, required or not. */
function toSchema(field: QueryField): Schema<unknown> {
  return "kind" in field ? field.schema : field;
}

/** A query that is being read. */
interface Reading {
  /** What was given and not read yet. */
  readonly values: Map<string, string>;
  /** What was wrong so far. */
  readonly faults: ParameterFault[];
}

/** The values of a query by name, each given once. */
function readValues(
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
      detail: `Cannot read parameter ${shown(name)}: ` +
        "its percent-encoding is broken",
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
function readPlain(
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
        detail: `Cannot continue without parameter "${name}": it is missing`,
      });
      return undefined;
    }
    return field.kind === "default" ? field.fallback : undefined;
  }
  values.delete(name);
  return readText(name, text, { schema: toSchema(field), faults });
}

/** Reads all parameters with a prefix, as {@linkcode readPlain} does. */
function readPrefixed(
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
      detail: `Cannot accept more than ${field.maxEntries} parameters ` +
        `"${field.prefix}…"`,
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

/** Adds a fault unless there are many already. */
function addFault(
  faults: ParameterFault[],
  fault: ParameterFault,
): void {
  if (faults.length >= MAX_FAULTS) return;
  faults.push({ ...fault, parameter: fault.parameter.slice(0, 256) });
}

function shown(name: string): string {
  return quote(name, { maxChars: 64 });
}
