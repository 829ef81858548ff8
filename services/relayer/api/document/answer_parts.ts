/**
 * Parts of the JSON schemas of the relayer's answers, for its OpenAPI document.
 *
 * @module
 */

import { type JsonSchema, said } from "../../../shared/schema/schema.ts";

/** A text. */
export const TEXT: JsonSchema = { type: "string" };

/** A number of things. */
export const COUNT: JsonSchema = { type: "integer", minimum: 0 };

/** Makes the schema of a list. */
export function listOf(items: JsonSchema): JsonSchema {
  return { type: "array", items };
}

/**
 * Makes the schema of an object with these members and no others; `required`
 * names those that are always there.
 */
export function view(
  required: string,
  properties: Readonly<Record<string, JsonSchema>>,
): JsonSchema {
  return {
    type: "object",
    required: required === "" ? [] : required.split(" "),
    properties,
    additionalProperties: false,
  };
}

/** An instant (RFC 3339). */
export const TIME: JsonSchema = { type: "string", format: "date-time" };

/** The ledger address of the owner. */
export const OWNER: JsonSchema = said("The owner's address");

/** What names a memory. */
export const MEMORY_ID: JsonSchema = said(
  "By which a memory is deleted and its blob is read",
);

/** The blob of a memory. */
export const BLOB_ID: JsonSchema = said("The id of the blob that holds it");

/** The time at which a memory was taken in. */
export const CREATED_AT: JsonSchema = said(
  "When the memory was taken in",
  TIME,
);

/** The weight that a writer gave a memory. */
export const IMPORTANCE: JsonSchema = said(
  "How much the memory matters, from 0 to 1; null when its writer did not say",
  { type: ["number", "null"] },
);
