/**
 * The parameters a query may have, as its schema lists them.
 *
 * @module
 */

import type { DefaultField, Fields, OptionalField } from "./field.ts";
import { definitionsOf, type Schema } from "./schema.ts";

/** All parameters whose names begin alike, such as `metadata.<k>`. */
export interface PrefixField<T>
  extends OptionalField<Readonly<Record<string, T>>> {
  /** How their names begin. */
  readonly prefix: string;
  /** Reads one of them. */
  readonly each: Schema<T>;
  /** Most of them. */
  readonly maxEntries: number;
}

/** A parameter: one that has to be there, or may be absent, or all with a prefix. */
export type QueryField =
  | Schema<unknown>
  | OptionalField<unknown>
  | DefaultField<unknown>
  | PrefixField<unknown>;

/** The parameters of a query, by name. */
export type QueryFields = Readonly<Record<string, QueryField>> & Fields;

/** Options of {@linkcode prefixed}. */
export interface PrefixedOptions {
  /**
   * Most parameters with the prefix.
   * @default {50}
   */
  readonly maxEntries?: number;
}

/** All parameters that begin with `prefix`; what follows it is the key. */
export function prefixed<T>(
  prefix: string,
  each: Schema<T>,
  options: PrefixedOptions = {},
): PrefixField<T> {
  const { maxEntries = 50 } = options;
  const pattern = `^${RegExp.escape(prefix)}`;
  return {
    kind: "optional",
    prefix,
    each,
    maxEntries,
    schema: {
      // The parameters are read one by one; the whole is put together of them.
      read: () => undefined,
      json: {
        type: "object",
        patternProperties: { [pattern]: each.json },
        additionalProperties: false,
        maxProperties: maxEntries,
      },
      definitions: definitionsOf([each]),
    },
  };
}

/** The schema of a parameter, required or not. */
export function schemaOf(field: QueryField): Schema<unknown> {
  return "kind" in field ? field.schema : field;
}
