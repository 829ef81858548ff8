/**
 * Tells whether a value fits a JSON Schema, for tests: an evaluator of the
 * keywords that the schemas here are written in (JSON Schema 2020-12,
 * validation), apart from the readers it is compared with.
 *
 * @module
 */

import {
  type Definitions,
  DEFINITIONS_POINTER,
  isJsonObject,
  type JsonSchema,
  type JsonType,
  type Shape,
} from "../schema.ts";
import { jsonEquals } from "../read_only.ts";

/** Every keyword that the evaluator knows; annotations are among them. */
const KEYWORDS: ReadonlySet<string> = new Set(
  [
    "$ref",
    "type",
    "enum",
    "const",
    "anyOf",
    "minLength",
    "maxLength",
    "pattern",
    "format",
    "minimum",
    "maximum",
    "properties",
    "required",
    "patternProperties",
    "additionalProperties",
    "propertyNames",
    "minProperties",
    "maxProperties",
    "items",
    "minItems",
    "maxItems",
    "uniqueItems",
    "title",
    "description",
    "default",
    "examples",
    "readOnly",
    "writeOnly",
    "deprecated",
  ] satisfies (keyof JsonSchema)[],
);

/**
 * What keeps a value from fitting a schema, as lines of `pointer: fault`; none
 * when it fits.
 *
 * @throws {TypeError} when the schema has a keyword that is not known, or
 * refers to a schema that is not there
 */
export function misfits(value: unknown, shape: Shape): readonly string[] {
  const evaluator = new Evaluator(shape.definitions);
  return evaluator.misfits({ value, at: "" }, shape.json);
}

interface Spot<Value> {
  readonly value: Value;
  readonly at: string;
}

class Evaluator {
  readonly #definitions: Definitions;

  constructor(definitions: Definitions) {
    this.#definitions = definitions;
  }

  misfits(spot: Spot<unknown>, schema: JsonSchema): string[] {
    for (const keyword of Object.keys(schema)) {
      if (!KEYWORDS.has(keyword)) {
        throw new TypeError(`Cannot evaluate keyword "${keyword}"`);
      }
    }
    const { value, at } = spot;
    const found = this.#reference(spot, schema);
    for (const plain of [general, textual, numeric]) {
      found.push(...plain(value, schema).map((fault) => `${at}: ${fault}`));
    }
    if (Array.isArray(value)) {
      found.push(...this.#list({ value, at }, schema));
    } else if (isJsonObject(value)) {
      found.push(...this.#object({ value, at }, schema));
    }
    return found;
  }

  #reference(spot: Spot<unknown>, schema: JsonSchema): string[] {
    const found: string[] = [];
    if (schema.$ref !== undefined) {
      const name = schema.$ref.replace(DEFINITIONS_POINTER, "");
      const target = this.#definitions.get(name);
      if (target === undefined) {
        throw new TypeError(`Cannot find schema "${schema.$ref}"`);
      }
      found.push(...this.misfits(spot, target));
    }
    if (schema.anyOf !== undefined) {
      const each = schema.anyOf.map((one) => this.misfits(spot, one));
      if (each.every((faults) => faults.length > 0)) {
        found.push(
          `${spot.at}: fits none of anyOf (${each.flat().join("; ")})`,
        );
      }
    }
    return found;
  }

  #list(
    { value, at }: Spot<readonly unknown[]>,
    schema: JsonSchema,
  ): string[] {
    const found: string[] = [];
    const { items, minItems = 0, maxItems = Infinity } = schema;
    if (value.length < minItems || value.length > maxItems) {
      found.push(`${at}: has ${value.length} items`);
    }
    if (schema.uniqueItems === true && hasEquals(value)) {
      found.push(`${at}: has equal items`);
    }
    if (items === undefined) return found;
    for (const [index, item] of value.entries()) {
      found.push(...this.misfits({ value: item, at: `${at}/${index}` }, items));
    }
    return found;
  }

  #object(
    { value, at }: Spot<Readonly<Record<string, unknown>>>,
    schema: JsonSchema,
  ): string[] {
    const found: string[] = [];
    const { minProperties = 0, maxProperties = Infinity } = schema;
    const names = Object.keys(value).filter((name) =>
      value[name] !== undefined
    );
    if (names.length < minProperties || names.length > maxProperties) {
      found.push(`${at}: has ${names.length} members`);
    }
    for (const name of schema.required ?? []) {
      if (!names.includes(name)) found.push(`${at}: lacks "${name}"`);
    }
    for (const name of names) {
      const within = `${at}/${name}`;
      if (schema.propertyNames !== undefined) {
        const spot = { value: name, at: within };
        found.push(...this.misfits(spot, schema.propertyNames));
      }
      const parts = schemasOf(name, schema);
      if (parts === undefined) found.push(`${within}: is not allowed`);
      for (const part of parts ?? []) {
        found.push(...this.misfits({ value: value[name], at: within }, part));
      }
    }
    return found;
  }
}

function hasEquals(items: readonly unknown[]): boolean {
  return items.some((one, index) =>
    items.slice(0, index).some((other) => jsonEquals(one, other))
  );
}

/** The schemas that a member has to fit; `undefined` when it must not be. */
function schemasOf(
  name: string,
  schema: JsonSchema,
): readonly JsonSchema[] | undefined {
  const found: JsonSchema[] = [];
  if (Object.hasOwn(schema.properties ?? {}, name)) {
    const property = schema.properties?.[name];
    if (property !== undefined) found.push(property);
  }
  for (
    const [pattern, part] of Object.entries(schema.patternProperties ?? {})
  ) {
    if (new RegExp(pattern, "u").test(name)) found.push(part);
  }
  if (found.length > 0) return found;
  const rest = schema.additionalProperties ?? true;
  if (rest === false) return undefined;
  return rest === true ? [] : [rest];
}

function general(value: unknown, schema: JsonSchema): string[] {
  const found: string[] = [];
  const types = schema.type === undefined ? [] : [schema.type].flat();
  if (types.length > 0 && !types.some((type) => isOfType(value, type))) {
    found.push(`is not of type ${types.join(" or ")}`);
  }
  if (
    schema.enum !== undefined &&
    !schema.enum.some((one) => isSame(one, value))
  ) {
    found.push(`is none of ${JSON.stringify(schema.enum)}`);
  }
  if (schema.const !== undefined && !isSame(schema.const, value)) {
    found.push(`is not ${JSON.stringify(schema.const)}`);
  }
  return found;
}

function isSame(wanted: unknown, value: unknown): boolean {
  return value !== undefined && jsonEquals(wanted, value);
}

function isOfType(value: unknown, type: JsonType): boolean {
  switch (type) {
    case "null":
      return value === null;
    case "array":
      return Array.isArray(value);
    case "object":
      return isJsonObject(value);
    case "integer":
      return Number.isInteger(value);
    case "number":
      return typeof value === "number";
    case "boolean":
      return typeof value === "boolean";
    default:
      return typeof value === "string";
  }
}

function textual(value: unknown, schema: JsonSchema): string[] {
  if (typeof value !== "string") return [];
  const found: string[] = [];
  const { minLength = 0, maxLength = Infinity, pattern } = schema;
  const length = [...value].length;
  if (length < minLength || length > maxLength) {
    found.push(`has ${length} characters`);
  }
  if (pattern !== undefined && !new RegExp(pattern, "u").test(value)) {
    found.push(`does not match ${pattern}`);
  }
  if (schema.format === "date-time" && Number.isNaN(Date.parse(value))) {
    found.push("is no date and time");
  }
  return found;
}

function numeric(value: unknown, schema: JsonSchema): string[] {
  if (typeof value !== "number") return [];
  const { minimum = -Infinity, maximum = Infinity } = schema;
  return value < minimum || value > maximum
    ? [`${value} is out of bounds`]
    : [];
}
