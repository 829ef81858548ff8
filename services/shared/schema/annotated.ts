/**
 * What documents say about a value beside what is valid: its name, what it is
 * for, examples.
 *
 * @module
 */

import type { JsonSchema, JsonValue } from "./json_schema.ts";
import { DEFINITIONS_POINTER, definitionsOf, type Shape } from "./schema.ts";

/** Words about a value. */
export interface Annotations {
  /**
   * What it is for.
   * @default nothing is said
   */
  readonly description?: string;
  /**
   * Good values, as clients write them.
   * @default none
   */
  readonly examples?: readonly JsonValue[];
  /**
   * Whether it is better not used any more.
   * @default {false}
   */
  readonly deprecated?: boolean;
  /**
   * Whether it is never told.
   * @default {false}
   */
  readonly writeOnly?: boolean;
}

/** The same value with words about it. */
export function described<S extends Shape>(
  schema: S,
  annotations: string | Annotations,
): S {
  const words = typeof annotations === "string"
    ? { description: annotations }
    : annotations;
  return { ...schema, json: { ...schema.json, ...words } };
}

/**
 * The same value as a component of the document that others refer to.
 *
 * @throws {TypeError} when the name is not good for a component, or when a
 * part of the schema has the name already
 */
export function named<S extends Shape>(name: string, schema: S): S {
  if (!/^[A-Za-z][A-Za-z0-9]*$/.test(name)) {
    throw new TypeError(
      `Cannot name schema "${name}": letters and digits are all a name has`,
    );
  }
  const definitions = definitionsOf([
    schema,
    { json: {}, definitions: new Map([[name, schema.json]]) },
  ]);
  return {
    ...schema,
    json: { $ref: `${DEFINITIONS_POINTER}${name}` },
    definitions,
  };
}

/** The first good value that is written down, if any. */
export function exampleOf({ json, definitions }: Shape): JsonValue | undefined {
  const [example] = json.examples ?? [];
  if (example !== undefined || json.$ref === undefined) return example;
  const name = json.$ref.slice(DEFINITIONS_POINTER.length);
  return definitions.get(name)?.examples?.[0];
}

/** A shape that no value is read by, written out by hand. */
export function shape(
  json: JsonSchema,
  parts: Iterable<Shape> = [],
): Shape {
  return { json, definitions: definitionsOf(parts) };
}
