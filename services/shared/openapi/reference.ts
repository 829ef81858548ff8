/**
 * References within a document.
 *
 * @module
 */

import type { OpenApiDocument, OpenApiReference } from "./document.ts";

/**
 * The value itself, or what it refers to.
 *
 * @throws {TypeError} when it refers to what is not there
 */
export function resolved<T extends object>(
  document: OpenApiDocument,
  value: T | OpenApiReference,
): T {
  if (!isReference(value)) return value;
  let found: unknown = document;
  for (const name of value.$ref.replace(/^#\//, "").split("/")) {
    found = (found as Readonly<Record<string, unknown>> | undefined)?.[name];
  }
  if (found === undefined) {
    throw new TypeError(`Cannot find ${value.$ref}: it is not in the document`);
  }
  return found as T;
}

function isReference(value: object): value is OpenApiReference {
  return "$ref" in value && typeof value.$ref === "string";
}
