/**
 * Reads members of the JSON files of a model. They may hold anything: what has
 * another form than expected is named and refused.
 *
 * @module
 */

import { quote } from "../../../shared/quote.ts";

/** A file of a model that cannot be used. */
export class ModelFileError extends Error {
  /** The error's name. */
  override readonly name = "ModelFileError";
}

/** A JSON object. */
export type JsonObject = Readonly<Record<string, unknown>>;

/**
 * Parses the bytes of a JSON object.
 *
 * @throws {ModelFileError} when they are something else
 */
export function parseObject(bytes: Uint8Array): JsonObject {
  let value: unknown;
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    value = JSON.parse(text);
  } catch {
    throw new ModelFileError("it is not JSON in UTF-8");
  }
  return toObject(value, "the whole");
}

/** The value as an object; `what` names it in the error. */
export function toObject(value: unknown, what: string): JsonObject {
  if (typeof value === "object" && value !== null && !Array.isArray(value)) {
    return value as JsonObject;
  }
  throw new ModelFileError(`${what} is not an object`);
}

/** The value as a list; `what` names it in the error. */
export function toList(value: unknown, what: string): readonly unknown[] {
  if (Array.isArray(value)) return value;
  throw new ModelFileError(`${what} is not a list`);
}

/** A text without half a surrogate pair. */
export function toText(value: unknown, what: string): string {
  if (typeof value === "string" && value.isWellFormed()) return value;
  throw new ModelFileError(`${what} is not a text`);
}

/** A member that is true or false; `otherwise` where it is absent or null. */
export function readFlag(
  object: JsonObject,
  name: string,
  otherwise: boolean,
): boolean {
  const value = object[name] ?? otherwise;
  if (typeof value === "boolean") return value;
  throw new ModelFileError(`${quote(name)} is not true or false`);
}

/** A whole number from 0 to `most`. */
export function toCount(
  value: unknown,
  what: string,
  most: number = Number.MAX_SAFE_INTEGER,
): number {
  if (
    typeof value === "number" && Number.isInteger(value) && value >= 0 &&
    value <= most
  ) return value;
  throw new ModelFileError(`${what} is not a whole number from 0 to ${most}`);
}

/** The name of a type, as the tokenizer's parts have one. */
export function typeOf(object: JsonObject): string {
  return typeof object.type === "string" ? object.type : "";
}

/** The error for a part of a type that is not known here. */
export function unknownType(
  what: string,
  object: JsonObject,
  known: readonly string[],
): ModelFileError {
  return new ModelFileError(
    `the ${what} is of the type ${quote(typeOf(object), { maxChars: 40 })}; ` +
      `known are ${known.join(", ")}`,
  );
}
