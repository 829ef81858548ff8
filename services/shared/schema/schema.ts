/**
 * The type of a schema: it validates and reads a value, and describes that
 * value in JSON Schema (2020-12), as OpenAPI 3.1 uses it.
 *
 * @module
 */

import type { Fault } from "./fault.ts";

/** Schemas with a name, by it. */
export type Definitions = ReadonlyMap<string, JsonSchema>;

/** The look of a value, for documents. */
export interface Shape {
  /** The JSON Schema; may refer to {@linkcode definitions}. */
  readonly json: JsonSchema;
  /**
   * All named schemas that `json` and these themselves refer to. Only a
   * document asks for them, so that a start needn't put them together.
   *
   * @throws {TypeError} when two different schemas have the same name
   */
  readonly definitions: () => Definitions;
}

/** Reads values and tells what they look like. */
export interface Schema<T> extends Shape {
  /**
   * Reads a value that came as JSON, and adds what is wrong with it to
   * `faults`; of many faults only the first are kept. `at` is the pointer of
   * the value within the body.
   *
   * @returns `undefined` exactly when something was wrong; a valid value is
   * never `undefined`.
   */
  read(value: unknown, at: string, faults: Fault[]): T | undefined;
}

/** What a schema reads. */
export type ValueOf<S> = S extends Schema<infer T> ? T : never;

/** The outcome of reading a whole value. */
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
export function mergeDefinitions(shapes: Iterable<Shape>): Definitions {
  let all: Map<string, JsonSchema> | undefined;
  for (const { definitions } of shapes) {
    for (const [name, json] of definitions()) {
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

/** Any JSON value. */
export type JsonValue =
  | null
  | boolean
  | number
  | string
  | readonly JsonValue[]
  | JsonObject;

/** A JSON object. */
export interface JsonObject {
  /** A member. */
  readonly [name: string]: JsonValue;
}

/** A name of a kind of value in JSON Schema. */
type JsonType =
  | "array"
  | "boolean"
  | "integer"
  | "null"
  | "number"
  | "object"
  | "string";

/** A schema, of the keywords that are used here. */
export interface JsonSchema {
  /** A schema elsewhere that holds as well. */
  readonly $ref?: string;
  /** The kind of value, or several kinds. */
  readonly type?: JsonType | readonly JsonType[];
  /** The only values. */
  readonly enum?: readonly JsonValue[];
  /** The only value. */
  readonly const?: JsonValue;
  /** Schemas of which at least one holds. */
  readonly anyOf?: readonly JsonSchema[];
  /** Fewest characters. */
  readonly minLength?: number;
  /** Most characters. */
  readonly maxLength?: number;
  /** A regular expression that finds something in the text. */
  readonly pattern?: string;
  /** What the text means; says nothing about what is valid. */
  readonly format?: string;
  /** The least number. */
  readonly minimum?: number;
  /** The greatest number. */
  readonly maximum?: number;
  /** The members with a schema of their own. */
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  /** The members that are always there. */
  readonly required?: readonly string[];
  /** The schema of members whose name a pattern finds something in. */
  readonly patternProperties?: Readonly<Record<string, JsonSchema>>;
  /** The schema of all other members, or whether there may be any. */
  readonly additionalProperties?: JsonSchema | boolean;
  /** The schema of members' names. */
  readonly propertyNames?: JsonSchema;
  /** Fewest members. */
  readonly minProperties?: number;
  /** Most members. */
  readonly maxProperties?: number;
  /** The schema of a list's items. */
  readonly items?: JsonSchema;
  /** Fewest items. */
  readonly minItems?: number;
  /** Most items. */
  readonly maxItems?: number;
  /** Whether no two items are equal. */
  readonly uniqueItems?: boolean;
  /** A short name. */
  readonly title?: string;
  /** What the value is for. */
  readonly description?: string;
  /** What absence means. */
  readonly default?: JsonValue;
  /** Good values. */
  readonly examples?: readonly JsonValue[];
  /** Whether the service alone decides the value. */
  readonly readOnly?: boolean;
  /** Whether the value is never told. */
  readonly writeOnly?: boolean;
}

/** Tells whether a value is an object in the sense of JSON. */
export function isJsonObject(
  value: unknown,
): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Words about a value. */
type Annotations = Pick<JsonSchema, "description" | "examples" | "writeOnly">;

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

/** A JSON Schema with words about it; one of a text unless it is given. */
export function said(
  description: string,
  schema: JsonSchema = { type: "string" },
): JsonSchema {
  return { ...schema, description };
}

/**
 * The same value as a component of the document that others refer to, with
 * words about it.
 *
 * @throws {TypeError} when the name is not good for a component
 */
export function named<S extends Shape>(
  name: string,
  schema: S,
  annotations: string | Annotations = {},
): S {
  if (!/^[A-Za-z][A-Za-z0-9]*$/.test(name)) {
    throw new TypeError(
      `Cannot name schema "${name}": letters and digits are all a name has`,
    );
  }
  const { json } = described(schema, annotations);
  const own = { json: {}, definitions: () => new Map([[name, json]]) };
  return {
    ...schema,
    json: { $ref: `${DEFINITIONS_POINTER}${name}` },
    definitions: definedBy([schema, own]),
  };
}

/** The first example of a schema or of the schema it refers to, if any. */
export function findExample(
  { json, definitions }: Shape,
): JsonValue | undefined {
  const [example] = json.examples ?? [];
  if (example !== undefined || json.$ref === undefined) return example;
  const name = json.$ref.slice(DEFINITIONS_POINTER.length);
  return definitions().get(name)?.examples?.[0];
}

/** Keywords as they are put together; an undefined one is left out. */
type Keywords = { readonly [K in keyof JsonSchema]: JsonSchema[K] | undefined };

/** A schema of these keywords, which may refer to those of its parts. */
export function createSchema<T>(
  keywords: Keywords,
  read: Schema<T>["read"],
  parts: Iterable<Shape> = [],
): Schema<T> {
  const json: JsonSchema = Object.fromEntries(
    Object.entries(keywords).filter(([, value]) => value !== undefined),
  );
  return { read, ...shape(json, parts) };
}

/** A shape from a JSON Schema, only for documents: it reads no values. */
export function shape(
  json: JsonSchema,
  parts: Iterable<Shape> = [],
): Shape {
  return { json, definitions: definedBy(parts) };
}

/**
 * The named schemas of several shapes, put together when they are asked for.
 */
export function definedBy(shapes: Iterable<Shape>): Shape["definitions"] {
  let all: Definitions | undefined;
  return () => all ??= mergeDefinitions(shapes);
}

/**
 * The JSON Schema of an object in responses: it has these members and no
 * others; those in `mayLack` may be absent.
 */
export function shownObject(
  properties: Readonly<Record<string, JsonSchema>>,
  mayLack: readonly string[] = [],
): JsonSchema {
  return {
    type: "object",
    properties,
    required: Object.keys(properties).filter((name) => !mayLack.includes(name)),
    additionalProperties: false,
  };
}
