/**
 * What may be sent to change a value by a merge patch (RFC 7396): any of its
 * members, at any depth, and null to remove one.
 *
 * @module
 */

import type { JsonSchema } from "./json_schema.ts";
import { type Definitions, DEFINITIONS_POINTER, type Shape } from "./schema.ts";

/** The JSON Schema of merge patches of what a shape describes. */
export function mergePatchSchema({ json, definitions }: Shape): JsonSchema {
  return patchOf(json, definitions);
}

function patchOf(json: JsonSchema, definitions: Definitions): JsonSchema {
  const { $ref, ...rest } = json;
  if ($ref !== undefined) {
    const found = definitions.get($ref.slice(DEFINITIONS_POINTER.length));
    if (found === undefined || !hasMembers(found)) return json;
    return patchOf({ ...found, ...rest }, definitions);
  }
  const { anyOf, properties, additionalProperties, required: _, ...others } =
    json;
  const member = (schema: JsonSchema): JsonSchema =>
    nullable(patchOf(schema, definitions));
  return {
    ...others,
    ...anyOf === undefined
      ? {}
      : { anyOf: anyOf.map((one) => patchOf(one, definitions)) },
    ...properties === undefined ? {} : {
      properties: Object.fromEntries(
        Object.entries(properties).map(([name, one]) => [name, member(one)]),
      ),
    },
    ...additionalProperties === undefined ? {} : {
      additionalProperties: typeof additionalProperties === "object"
        ? member(additionalProperties)
        : additionalProperties,
    },
  };
}

function hasMembers({ properties, additionalProperties, anyOf }: JsonSchema) {
  return properties !== undefined || anyOf !== undefined ||
    typeof additionalProperties === "object";
}

/** Lets null be as well. */
function nullable(json: JsonSchema): JsonSchema {
  const { type, anyOf } = json;
  const types = typeof type === "string" ? [type] : type;
  const isNullable = types?.includes("null") === true ||
    anyOf?.some((one) => one.type === "null") === true ||
    Object.keys(json).every((name) => name === "description");
  if (isNullable) return json;
  const { description, ...rest } = json;
  return {
    ...description === undefined ? {} : { description },
    anyOf: [rest, { type: "null" }],
  };
}
