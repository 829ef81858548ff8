/**
 * What a schema is: one thing that both reads a value and says in JSON Schema
 * what it reads.
 *
 * @module
 */

import type { Fault } from "./fault.ts";
import type { JsonSchema } from "./json_schema.ts";

/** Schemas with a name, by it. */
export type Definitions = ReadonlyMap<string, JsonSchema>;

/** The look of a value, for documents. */
export interface Shape {
  /** The JSON Schema; may refer to {@linkcode definitions}. */
  readonly json: JsonSchema;
  /** All named schemas that `json` and these themselves refer to. */
  readonly definitions: Definitions;
}

/** Reads values and tells what they look like. */
export interface Schema<T> extends Shape {
  /**
   * Reads a value that came as JSON, and adds what is wrong with it to
   * `faults`; of many faults only the first are kept. `at` is the pointer of
   * the value within the body.
   *
   * @returns `undefined` exactly when something was wrong; no good value is.
   */
  read(value: unknown, at: string, faults: Fault[]): T | undefined;
}

/** What a schema reads. */
export type ValueOf<S> = S extends Schema<infer T> ? T : never;

/** What reading a whole value comes to. */
export type ReadOutcome<T> =
  | { readonly kind: "ok"; readonly value: T }
  | { readonly kind: "invalid"; readonly faults: readonly Fault[] };

/** Where named schemas are in an OpenAPI document. */
export const DEFINITIONS_POINTER = "#/components/schemas/";

/** Reads a whole body. */
export function readWhole<T>(
  schema: Schema<T>,
  value: unknown,
): ReadOutcome<T> {
  const faults: Fault[] = [];
  const read = schema.read(value, "", faults);
  return read === undefined
    ? { kind: "invalid", faults }
    : { kind: "ok", value: read };
}

const NO_DEFINITIONS: Definitions = new Map();

/**
 * The named schemas of several shapes together.
 *
 * @throws {TypeError} when two different schemas have the same name
 */
export function definitionsOf(shapes: Iterable<Shape>): Definitions {
  let all: Map<string, JsonSchema> | undefined;
  for (const { definitions } of shapes) {
    for (const [name, json] of definitions) {
      all ??= new Map();
      const there = all.get(name);
      if (there === undefined) all.set(name, json);
      else if (!isSame(there, json)) {
        throw new TypeError(
          `Cannot name schema "${name}": another one has that name`,
        );
      }
    }
  }
  return all ?? NO_DEFINITIONS;
}

function isSame(left: JsonSchema, right: JsonSchema): boolean {
  return left === right || JSON.stringify(left) === JSON.stringify(right);
}
