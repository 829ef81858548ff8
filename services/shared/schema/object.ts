/**
 * Schemas of objects with known members, and how each member is treated:
 * whether it is required, what its absence means, whether the client decides
 * it.
 *
 * @module
 */

import { quote } from "../quote.ts";
import { nullable } from "./composite.ts";
import {
  MAX_FAULTS,
  type Place,
  pointerTo,
  report,
  reportKind,
} from "./fault.ts";
import {
  createSchema,
  described,
  isJsonObject,
  type JsonSchema,
  type JsonValue,
  named,
  readWhole,
  type Schema,
  type Shape,
} from "./schema.ts";
import { hint } from "./values.ts";

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
type FieldValue<F> = F extends OptionalField<infer T> ? T
  : F extends DefaultField<infer T> ? T
  : F extends ReadOnlyField ? JsonValue
  : F extends Schema<infer T> ? T
  : never;

/** Whether a member may be absent once it was read. */
type MayLack<F> = F extends OptionalField<unknown> | ReadOnlyField ? true
  : false;

/** The same members in one type, for readable messages of the compiler. */
type Simplified<T> = { readonly [Name in keyof T]: T[Name] };

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

/**
 * The members of a change: each may be absent, and null where there is a
 * default.
 */
export type ChangesOf<F extends Fields> = {
  readonly [Name in keyof F]: F[Name] extends ReadOnlyField ? ReadOnlyField
    : F[Name] extends OptionalField<infer T> ? OptionalField<T | null>
    : F[Name] extends DefaultField<infer T> ? OptionalField<T | null>
    : F[Name] extends Schema<infer T> ? OptionalField<T>
    : never;
};

/** A member that may be absent; the description is for documents. */
export function optional<T>(
  schema: Schema<T>,
  description?: string,
): OptionalField<T> {
  return { kind: "optional", schema: about(schema, description) };
}

/** A member that may be absent or null; null resets it in a change. */
export function settable<T>(
  schema: Schema<T>,
  description?: string,
): OptionalField<T | null> {
  return optional(nullable(about(schema, description)));
}

function about<S extends Shape>(
  schema: S,
  description: string | undefined,
): S {
  return description === undefined ? schema : described(schema, description);
}

/**
 * A member whose absence means `shown`, which is written as clients write it;
 * the description is for documents.
 *
 * @throws {TypeError} when the schema does not take that value
 */
export function withDefault<T>(
  schema: Schema<T>,
  shown: JsonValue,
  description?: string,
): DefaultField<T> {
  const outcome = readWhole(schema, shown);
  if (outcome.kind === "ok") {
    const { value: fallback } = outcome;
    const kind = "default";
    return { kind, schema: about(schema, description), fallback, shown };
  }
  const details = outcome.faults.map((fault) => fault.detail).join("; ");
  throw new TypeError(
    `Cannot use default ${JSON.stringify(shown)}: ${details}`,
  );
}

/**
 * A member that the service alone decides; the description is for documents.
 */
export function readOnly(shape: Shape, description?: string): ReadOnlyField {
  return { kind: "read_only", shape: about(shape, description) };
}

/**
 * The members of a change to an object of these members: what is absent stays,
 * and null resets a member that may be absent when the object is made.
 */
export function toChanges<F extends Fields>(fields: F): ChangesOf<F> {
  const changes = Object.entries(fields).map(([name, field]) =>
    [name, toChange(field)] as const
  );
  // The type says of each member what toChange() does to it.
  return Object.fromEntries(changes) as ChangesOf<F>;
}

function toChange(field: Field): Field {
  if (!("kind" in field)) return optional(field);
  return field.kind === "read_only" ? field : settable(field.schema);
}

/** One member, made ready for reading. */
interface Member {
  readonly name: string;
  readonly suffix: string;
  readonly isRequired: boolean;
  /** Absent for members that are accepted whatever they are. */
  readonly schema: Schema<unknown> | undefined;
}

/** Most of a client's name that a message repeats. */
const SHOWN_CHARS = 64;

/** How tolerant an object is; see {@linkcode object}. */
interface ObjectOptions {
  /**
   * Whether unknown members are left alone, for clients newer than the service.
   * @default {false} they are faults
   */
  readonly isOpen?: boolean;
  /**
   * Whether null means absence for members that may be absent, as clients in
   * other languages send it.
   * @default {false} the member's schema reads null
   */
  readonly isNullAbsent?: boolean;
}

/**
 * An object of these members and, unless it is open, no others: an unknown one
 * is a fault, since it is most often a misspelt known one. Members are read on
 * their own, so names such as `__proto__` in what a client sends are unknown
 * names like others.
 *
 * @throws {TypeError} when a member has the name of something all objects have
 */
export function object<F extends Fields>(
  fields: F,
  { isOpen = false, isNullAbsent = false }: ObjectOptions = {},
): Schema<ObjectOf<F>> {
  const all = Object.entries(fields)
    .map(([name, field]) => toMember(name, field));
  const members = new Map(all.map((member) => [member.name, member]));
  const required = all.filter((member) => member.isRequired)
    .map((member) => member.name);
  const writable = all.filter((member) => member.schema !== undefined)
    .map((member) => member.name);
  const defaults = collectDefaults(fields);
  const json = { ...buildKeywords(fields), additionalProperties: isOpen };
  return createSchema(json, (value, at, faults) => {
    if (!isJsonObject(value)) {
      return reportKind(value, { at, faults, wanted: "an object" });
    }
    // Start with the defaults: all results then share one hidden class.
    const result: Record<string, unknown> = { ...defaults };
    let isGood = true;
    for (const name of Object.keys(value)) {
      // Stop: further faults could not be reported.
      if (!isGood && faults.length >= MAX_FAULTS) return undefined;
      const member = members.get(name);
      const given = value[name];
      if (given === undefined) continue;
      if (member === undefined) {
        if (isOpen) continue;
        isGood = reportUnknown(name, { at, faults, writable });
        continue;
      }
      if (given === null && isNullAbsent && !member.isRequired) continue;
      const { schema } = member;
      const taken = schema === undefined
        ? given
        : schema.read(given, at + member.suffix, faults);
      if (taken === undefined) isGood = false;
      else result[name] = taken;
    }
    for (const name of required) {
      if (result[name] !== undefined || value[name] !== undefined) continue;
      isGood = reportMissing(name, { at, faults });
    }
    // Every member that ObjectOf promises was read or had its default.
    return isGood ? result as ObjectOf<F> : undefined;
  }, Object.values(fields).map(toShape));
}

/** What a member looks like. */
function toShape(field: Field): Shape {
  if (!("kind" in field)) return field;
  return field.kind === "read_only" ? field.shape : field.schema;
}

function toMember(name: string, field: Field): Member {
  if (name in Object.prototype) {
    throw new TypeError(`Cannot have member "${name}": all objects have it`);
  }
  return {
    name,
    suffix: pointerTo("", name),
    isRequired: !("kind" in field),
    schema: "kind" in field
      ? field.kind === "read_only" ? undefined : field.schema
      : field,
  };
}

function reportMissing(name: string, { at, faults }: Place): false {
  report(faults, {
    pointer: pointerTo(at, name),
    code: "required",
    detail: `Cannot continue without field "${name}": it is missing`,
  });
  return false;
}

function reportUnknown(
  name: string,
  { at, faults, writable }: Place & { readonly writable: readonly string[] },
): false {
  // Looking for the nearest name would be work without a result.
  if (faults.length >= MAX_FAULTS) return false;
  const shown = quote(name, { maxChars: SHOWN_CHARS });
  report(faults, {
    pointer: pointerTo(at, name.slice(0, 256)),
    code: "unknown_field",
    detail: `Cannot accept field ${shown}: it is unknown; ` +
      hint(name, writable),
  });
  return false;
}

function collectDefaults(fields: Fields): Readonly<Record<string, unknown>> {
  return Object.fromEntries(
    Object.entries(fields).flatMap(([name, field]) =>
      "kind" in field && field.kind === "default"
        ? [[name, field.fallback]]
        : []
    ),
  );
}

function buildKeywords(fields: Fields): Parameters<typeof createSchema>[0] {
  const properties: [string, JsonSchema][] = [];
  const required: string[] = [];
  for (const [name, field] of Object.entries(fields)) {
    const { json } = toShape(field);
    const kind = "kind" in field ? field.kind : "required";
    if (kind === "required") required.push(name);
    properties.push([
      name,
      "shown" in field
        ? { ...json, default: field.shown }
        : kind === "read_only"
        ? { ...json, readOnly: true }
        : json,
    ]);
  }
  return {
    type: "object",
    properties: Object.fromEntries(properties),
    required: required.length === 0 ? undefined : required,
  };
}

/** An object without fields. */
export const NO_FIELDS: Schema<object> = named("NoFields", object({}), {
  description: "An object without fields",
  examples: [{}],
});
