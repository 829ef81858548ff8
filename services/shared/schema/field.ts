/**
 * How a member of an object is treated: whether it has to be there, what its
 * absence means, whether the client decides it at all.
 *
 * @module
 */

import { nullable } from "./alternatives.ts";
import type { JsonValue } from "./json_schema.ts";
import { readWhole, type Schema, type Shape } from "./schema.ts";

/** A member that may be absent. */
export interface OptionalField<T> {
  /** What it is. */
  readonly kind: "optional";
  /** Reads it. */
  readonly schema: Schema<T>;
}

/** A member whose absence means a value. */
export interface DefaultField<T> {
  /** What it is. */
  readonly kind: "default";
  /** Reads it. */
  readonly schema: Schema<T>;
  /** What absence means. */
  readonly fallback: T;
  /** The same as a client would write it. */
  readonly shown: JsonValue;
}

/**
 * A member that the service alone decides. It is taken whatever it is, so that
 * what was read can be sent back; {@linkcode readOnlyFaults} compares it.
 */
export interface ReadOnlyField {
  /** What it is. */
  readonly kind: "read_only";
  /** What it looks like. */
  readonly shape: Shape;
}

/** A member of an object; a schema alone is a member that has to be there. */
export type Field =
  | Schema<unknown>
  | OptionalField<unknown>
  | DefaultField<unknown>
  | ReadOnlyField;

/** The members of an object, by name. */
export type Fields = Readonly<Record<string, Field>>;

/** What a member reads. */
export type FieldValue<F> = F extends OptionalField<infer T> ? T
  : F extends DefaultField<infer T> ? T
  : F extends ReadOnlyField ? JsonValue
  : F extends Schema<infer T> ? T
  : never;

/** Whether a member may be absent once it was read. */
export type MayLack<F> = F extends OptionalField<unknown> | ReadOnlyField ? true
  : false;

/** The same members in one type, for readable messages of the compiler. */
export type Simplified<T> = { readonly [Name in keyof T]: T[Name] };

/** What is read of members. */
export type ObjectOf<F extends Fields> = Simplified<
  & {
    [Name in keyof F as MayLack<F[Name]> extends true ? never : Name]:
      FieldValue<F[Name]>;
  }
  & {
    [Name in keyof F as MayLack<F[Name]> extends true ? Name : never]?:
      FieldValue<F[Name]>;
  }
>;

/** The members of a change: each may be absent, and null where there is a default. */
export type ChangesOf<F extends Fields> = {
  readonly [Name in keyof F]: F[Name] extends ReadOnlyField ? ReadOnlyField
    : F[Name] extends OptionalField<infer T> ? OptionalField<T | null>
    : F[Name] extends DefaultField<infer T> ? OptionalField<T | null>
    : F[Name] extends Schema<infer T> ? OptionalField<T>
    : never;
};

/** A member that may be absent. */
export function optional<T>(schema: Schema<T>): OptionalField<T> {
  return { kind: "optional", schema };
}

/**
 * A member whose absence means `shown`, which is written as clients write it.
 *
 * @throws {TypeError} when the schema does not take that value
 */
export function withDefault<T>(
  schema: Schema<T>,
  shown: JsonValue,
): DefaultField<T> {
  const outcome = readWhole(schema, shown);
  if (outcome.kind === "ok") {
    return { kind: "default", schema, fallback: outcome.value, shown };
  }
  const details = outcome.faults.map((fault) => fault.detail).join("; ");
  throw new TypeError(
    `Cannot use default ${JSON.stringify(shown)}: ${details}`,
  );
}

/** A member that the service alone decides. */
export function readOnly(shape: Shape): ReadOnlyField {
  return { kind: "read_only", shape };
}

/**
 * The members of a change to an object of these members: what is absent stays,
 * and null resets a member that may be absent when the object is made.
 */
export function changesOf<F extends Fields>(fields: F): ChangesOf<F> {
  const changes = Object.entries(fields).map(([name, field]) =>
    [name, changeOf(field)] as const
  );
  // The type says of each member what changeOf() does to it.
  return Object.fromEntries(changes) as ChangesOf<F>;
}

function changeOf(field: Field): Field {
  if (!("kind" in field)) return optional(field);
  return field.kind === "read_only" ? field : optional(nullable(field.schema));
}
