/**
 * Schema of objects with known members.
 *
 * @module
 */

import { quote } from "../quote.ts";
import { hint } from "./choice.ts";
import {
  type Fault,
  MAX_FAULTS,
  pointerTo,
  report,
  reportKind,
} from "./fault.ts";
import type { Field, Fields, ObjectOf } from "./field.ts";
import { isJsonObject, type JsonSchema } from "./json_schema.ts";
import { definitionsOf, type Schema, type Shape } from "./schema.ts";

/** One member, made ready for reading. */
interface Member {
  readonly name: string;
  readonly suffix: string;
  readonly isRequired: boolean;
  /** Absent for members that are taken whatever they are. */
  readonly schema: Schema<unknown> | undefined;
}

/** Most of a client's name that a message repeats. */
const SHOWN_CHARS = 64;

/**
 * An object of these members and no others: an unknown one is a fault, since it
 * is most often a misspelt known one. Members are read on their own, so names
 * such as `__proto__` in what a client sends are unknown names like others.
 *
 * @throws {TypeError} when a member has the name of something all objects have
 */
export function object<F extends Fields>(fields: F): Schema<ObjectOf<F>> {
  const members = new Map(
    Object.entries(fields).map((
      [name, field],
    ) => [name, memberOf(name, field)]),
  );
  const required = [...members.values()].filter((member) => member.isRequired)
    .map((member) => member.name);
  const writable = [...members.values()].filter((member) =>
    member.schema !== undefined
  ).map((member) => member.name);
  const defaults = defaultsOf(fields);

  function read(
    value: unknown,
    at: string,
    faults: Fault[],
  ): ObjectOf<F> | undefined {
    if (!isJsonObject(value)) {
      return reportKind(value, { at, faults, wanted: "an object" });
    }
    // Beginning with the defaults gives all results the same look in memory.
    const result: Record<string, unknown> = { ...defaults };
    let isGood = true;
    for (const name of Object.keys(value)) {
      // Nothing that follows could be reported.
      if (!isGood && faults.length >= MAX_FAULTS) return undefined;
      const member = members.get(name);
      const given = value[name];
      if (given === undefined) continue;
      if (member === undefined) {
        isGood = reportUnknown(name, { at, faults, writable });
        continue;
      }
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
  }

  return {
    read,
    json: jsonOf(fields),
    definitions: definitionsOf(Object.values(fields).map(shapeOf)),
  };
}

/** What a member looks like. */
export function shapeOf(field: Field): Shape {
  if (!("kind" in field)) return field;
  return field.kind === "read_only" ? field.shape : field.schema;
}

function memberOf(name: string, field: Field): Member {
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

interface Place {
  readonly at: string;
  readonly faults: Fault[];
}

function reportMissing(name: string, { at, faults }: Place): false {
  report(faults, {
    pointer: pointerTo(at, name),
    code: "required",
    detail: `Cannot do without field "${name}": it is missing`,
  });
  return false;
}

function reportUnknown(
  name: string,
  { at, faults, writable }: Place & { readonly writable: readonly string[] },
): false {
  // Looking for the nearest name is work that nobody would see the fruit of.
  if (faults.length >= MAX_FAULTS) return false;
  const shown = quote(name, { maxChars: SHOWN_CHARS });
  report(faults, {
    pointer: pointerTo(at, name.slice(0, 256)),
    code: "unknown_field",
    detail: `Cannot take field ${shown}: it is not known, ${
      hint(name, writable)
    }`,
  });
  return false;
}

function defaultsOf(fields: Fields): Readonly<Record<string, unknown>> {
  const defaults: [string, unknown][] = [];
  for (const [name, field] of Object.entries(fields)) {
    if ("kind" in field && field.kind === "default") {
      defaults.push([name, field.fallback]);
    }
  }
  return Object.fromEntries(defaults);
}

function jsonOf(fields: Fields): JsonSchema {
  const properties: [string, JsonSchema][] = [];
  const required: string[] = [];
  for (const [name, field] of Object.entries(fields)) {
    const { json } = shapeOf(field);
    if (!("kind" in field)) {
      required.push(name);
      properties.push([name, json]);
    } else if (field.kind === "default") {
      properties.push([name, { ...json, default: field.shown }]);
    } else if (field.kind === "read_only") {
      properties.push([name, { ...json, readOnly: true }]);
    } else {
      properties.push([name, json]);
    }
  }
  return {
    type: "object",
    properties: Object.fromEntries(properties),
    ...required.length === 0 ? {} : { required },
    additionalProperties: false,
  };
}
