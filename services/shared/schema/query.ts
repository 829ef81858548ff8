/**
 * Schema of a URL's query: which parameters it may have and what they read.
 *
 * @module
 */

import type { ObjectOf } from "./field.ts";
import type { JsonSchema } from "./json_schema.ts";
import type { ParameterFault, ParameterProblem } from "./parameter_fault.ts";
import { type QueryField, type QueryFields, schemaOf } from "./query_field.ts";
import {
  addFault,
  addUnknown,
  readPlain,
  readPrefixed,
  valuesOf,
} from "./query_reading.ts";
import { type Definitions, definitionsOf } from "./schema.ts";

/** A parameter as documents describe it. */
export interface QueryParameter {
  /** Its name, or the name that stands for all with a prefix. */
  readonly name: string;
  /** Whether it has to be there. */
  readonly isRequired: boolean;
  /** Its schema; of those with a prefix the schema of all of them as an object. */
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
  readonly definitions: Definitions;
}

/** What a parser of several parameters makes of them. */
export type ParsedQuery<T> =
  | { readonly kind: "ok"; readonly value: T }
  | {
    readonly kind: "invalid";
    readonly problems: readonly ParameterProblem[];
  };

/**
 * A query of these parameters and no others; each is given once at most. An
 * unknown parameter is a fault, since ignoring it would answer another question
 * than the one that was asked.
 */
export function queryOf<F extends QueryFields>(
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
    const values = valuesOf(raw, own);
    const result: Record<string, unknown> = {};
    for (const [name, field] of plain) {
      const value = readPlain(name, field, { values, faults: own });
      if (value !== undefined) result[name] = value;
    }
    for (const [name, field] of prefixes) {
      const value = readPrefixed(field, { values, faults: own });
      if (value !== undefined) result[name] = value;
    }
    for (const name of values.keys()) addUnknown(name, { known, faults: own });
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
        : schemaOf(field).json,
    })),
    definitions: definitionsOf(Object.values(fields).map(schemaOf)),
  };
}

/** Makes something of several parameters together, or refuses them. */
export function parsedQuery<From, To>(
  query: QuerySchema<From>,
  parse: (value: From) => ParsedQuery<To>,
): QuerySchema<To> {
  function read(raw: string, faults: ParameterFault[]): To | undefined {
    const from = query.read(raw, faults);
    if (from === undefined) return undefined;
    const outcome = parse(from);
    if (outcome.kind === "ok") return outcome.value;
    for (const { parameter, code, reason } of outcome.problems) {
      addFault(faults, { parameter, code, detail: reason });
    }
    return undefined;
  }
  return { ...query, read };
}
