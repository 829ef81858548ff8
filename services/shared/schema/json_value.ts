/**
 * Schemas that accept any JSON value, the limits of any JSON (size, depth and
 * numbers), and the comparison of two values.
 *
 * @module
 */

import { Buffer } from "node:buffer";
import { cannotTake, type Place, pointerTo, refuse, report } from "./fault.ts";
import { createSchema, type JsonValue, type Schema } from "./schema.ts";

/** The bounds of any JSON. */
interface AnyJsonOptions {
  /** Most bytes of its shortest JSON text in UTF-8. */
  readonly maxBytes: number;
  /**
   * Most lists and objects within each other.
   * @default {64}
   */
  readonly maxDepth?: number;
}

/** Why a value that was parsed from JSON is not taken. */
interface JsonFault {
  /** The kind of fault. */
  readonly code: "too_deep" | "number_too_large";
  /** The outermost member or item it is in, as pointer; empty for the whole. */
  readonly pointer: string;
}

/** Most lists and objects within each other that a body may have. */
export const MAX_DEPTH = 64;

/** Any JSON value. */
export function anyJson(options: AnyJsonOptions): Schema<JsonValue> {
  return createSchema(
    {},
    (value, at, faults) =>
      toJsonText(value, { at, faults, ...options }) === undefined
        ? undefined
        // A value with a JSON text is a JSON value.
        : value as JsonValue,
  );
}

/** Any JSON value, read as its shortest JSON text. */
export function jsonText(options: AnyJsonOptions): Schema<string> {
  return createSchema(
    {},
    (value, at, faults) => toJsonText(value, { at, faults, ...options }),
  );
}

/** Bytes of a text in UTF-8. */
export function byteLength(text: string): number {
  return Buffer.byteLength(text, "utf8");
}

/**
 * Finds what makes parsed JSON unfit to be kept: more than `maxDepth` lists and
 * objects within each other, and numbers such as 1e999, which are infinite once
 * parsed and would become null.
 */
export function jsonFault(
  value: unknown,
  maxDepth = MAX_DEPTH,
): JsonFault | undefined {
  if (typeof value !== "object" || value === null) {
    const code = faultWithin(value, maxDepth);
    return code && { code, pointer: "" };
  }
  if (maxDepth < 1) return { code: "too_deep", pointer: "" };
  for (const key of Array.isArray(value) ? value.keys() : Object.keys(value)) {
    // The keys are those of this very value.
    const member = (value as Readonly<Record<string | number, unknown>>)[key];
    const code = faultWithin(member, maxDepth - 1);
    if (code === undefined) continue;
    const token = typeof key === "string" ? key.slice(0, 256) : key;
    return { code, pointer: pointerTo("", token) };
  }
  return undefined;
}

/** The message of a {@linkcode JsonFault}. */
export function jsonFaultDetail(
  code: JsonFault["code"],
  maxDepth: number,
): string {
  return cannotTake(
    code === "too_deep"
      ? `it has more than ${maxDepth} lists and objects within each other`
      : "it holds a number that is too large for JSON readers (2^1024)",
  );
}

function toJsonText(
  value: unknown,
  { maxBytes, maxDepth = MAX_DEPTH, ...place }: Place & AnyJsonOptions,
): string | undefined {
  const tooLong = () =>
    refuse(
      place,
      "too_many_bytes",
      `it has more than ${maxBytes} bytes as JSON text`,
    );
  // Refuse a value that is much too long before it is turned into text.
  if (leastChars(value, maxBytes + 1) > maxBytes) return tooLong();
  const fault = jsonFault(value, maxDepth);
  if (fault !== undefined) {
    return report(place.faults, {
      pointer: place.at + fault.pointer,
      code: fault.code,
      detail: jsonFaultDetail(fault.code, maxDepth),
    });
  }
  const text: string | undefined = JSON.stringify(value);
  if (text === undefined) {
    return refuse(place, "wrong_type", "it is not JSON value");
  }
  // A character has three bytes at most, so most texts need no counting.
  if (text.length * 3 <= maxBytes || byteLength(text) <= maxBytes) return text;
  return tooLong();
}

/**
 * The least number of characters that the JSON text of a value has; stops
 * counting soon after `limit`.
 */
function leastChars(value: unknown, limit: number): number {
  if (typeof value === "string") return value.length + 2;
  if (typeof value !== "object" || value === null) return 1;
  let chars = 1;
  const isList = Array.isArray(value);
  for (const name of isList ? value.keys() : Object.keys(value)) {
    if (chars >= limit) break;
    // The name is one of its own; a comma or a bracket follows.
    const member = (value as Readonly<Record<string | number, unknown>>)[name];
    chars += 1 + (typeof name === "string" ? name.length + 3 : 0) +
      leastChars(member, limit - chars);
  }
  return Math.max(2, chars);
}

function faultWithin(
  value: unknown,
  maxDepth: number,
): JsonFault["code"] | undefined {
  if (typeof value === "number") {
    return Number.isFinite(value) ? undefined : "number_too_large";
  }
  if (typeof value !== "object" || value === null) return undefined;
  if (maxDepth < 1) return "too_deep";
  // A list's items and an object's members, in both cases its own values.
  const members: readonly unknown[] = Array.isArray(value)
    ? value
    : Object.values(value);
  for (const member of members) {
    const code = faultWithin(member, maxDepth - 1);
    if (code !== undefined) return code;
  }
  return undefined;
}

/**
 * Tells whether two JSON values are equal, whatever the order of members.
 * An absent value equals null.
 */
export function jsonEquals(left: unknown, right: unknown): boolean {
  if (left === right) return true;
  if (left === undefined || left === null) {
    return right === undefined || right === null;
  }
  if (typeof left !== "object" || typeof right !== "object") return false;
  if (right === null || Array.isArray(left) !== Array.isArray(right)) {
    return false;
  }
  if (Array.isArray(left) && Array.isArray(right)) {
    return left.length === right.length &&
      left.every((item, index) => jsonEquals(item, right[index]));
  }
  return areMembersEqual(left, right);
}

function areMembersEqual(left: object, right: object): boolean {
  for (const name of Object.keys(left)) {
    if (!jsonEquals(ownMember(left, name), ownMember(right, name))) {
      return false;
    }
  }
  for (const name of Object.keys(right)) {
    const isOther = !Object.hasOwn(left, name) &&
      !jsonEquals(undefined, ownMember(right, name));
    if (isOther) return false;
  }
  return true;
}

/** An own member of an object; not an inherited one such as `constructor`. */
function ownMember(value: object, name: string): unknown {
  return Object.hasOwn(value, name)
    ? (value as Readonly<Record<string, unknown>>)[name]
    : undefined;
}
