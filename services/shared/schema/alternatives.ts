/**
 * Schemas of values that may be of several kinds.
 *
 * @module
 */

import { cannotTake, type Fault, report } from "./fault.ts";
import type { JsonSchema } from "./json_schema.ts";
import { definitionsOf, type Schema, type ValueOf } from "./schema.ts";

/** One of the kinds a value may be of. */
export interface Alternative<T> {
  /** Tells whether the value is meant to be of this kind, good or not. */
  readonly when: (value: unknown) => boolean;
  /** Reads it. */
  readonly schema: Schema<T>;
}

/** Options of {@linkcode oneOf}. */
export interface OneOfOptions {
  /** What a value is to be, for the message: "it is neither …". */
  readonly mustBe: string;
}

/** A value or null. */
export function nullable<T>(schema: Schema<T>): Schema<T | null> {
  function read(
    value: unknown,
    at: string,
    faults: Fault[],
  ): T | null | undefined {
    return value === null ? null : schema.read(value, at, faults);
  }
  return {
    read,
    json: orNull(schema.json),
    definitions: definitionsOf([schema]),
  };
}

/**
 * A value of one of several kinds. A predicate tells which kind is meant, so
 * that the faults told are those of that kind alone.
 */
export function oneOf<const Cases extends readonly Alternative<unknown>[]>(
  cases: Cases,
  options: OneOfOptions,
): Schema<ValueOf<Cases[number]["schema"]>> {
  function read(
    value: unknown,
    at: string,
    faults: Fault[],
  ): ValueOf<Cases[number]["schema"]> | undefined {
    for (const { when, schema } of cases) {
      if (!when(value)) continue;
      // What one of the cases reads is what the type says.
      return schema.read(value, at, faults) as
        | ValueOf<Cases[number]["schema"]>
        | undefined;
    }
    return report(faults, {
      pointer: at,
      code: "wrong_type",
      detail: cannotTake(`it is neither ${options.mustBe}`),
    });
  }
  const schemas = cases.map((one) => one.schema);
  return {
    read,
    json: { anyOf: schemas.map((schema) => schema.json) },
    definitions: definitionsOf(schemas),
  };
}

function orNull(json: JsonSchema): JsonSchema {
  const { type } = json;
  const isPlain = typeof type === "string" && json.enum === undefined &&
    json.const === undefined && json.$ref === undefined;
  return isPlain
    ? { ...json, type: type === "null" ? type : [type, "null"] }
    : { anyOf: [json, { type: "null" }] };
}
