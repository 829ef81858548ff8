/**
 * JSON and the part of JSON Schema (2020-12) that the schemas here are written
 * in; OpenAPI 3.1 takes it as it is.
 *
 * @module
 */

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
export type JsonType =
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
  /** Whether it is better not used any more. */
  readonly deprecated?: boolean;
}

/** Tells whether a value is an object in the sense of JSON. */
export function isJsonObject(
  value: unknown,
): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
