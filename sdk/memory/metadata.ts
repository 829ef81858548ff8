/**
 * Checks what an application says of a memory.
 *
 * @module
 */

import { describe } from "./arguments.ts";
import type { Metadata } from "./remember_types.ts";

/**
 * Metadata that JSON keeps as it is, or undefined.
 *
 * @param name what it is called where it was passed
 * @throws {TypeError} When it is no object, or a member is neither a text nor a
 * finite number nor true or false.
 */
export function checkMetadata(
  value: unknown,
  name: string,
): Metadata | undefined {
  if (value === undefined) return undefined;
  if (!isObject(value)) {
    throw new TypeError(
      `Cannot use ${name}: it is ${describe(value)} instead of an object`,
    );
  }
  const members = Object.entries(value).map(([key, member]) => {
    if (isScalar(member)) return [key, member] as const;
    throw new TypeError(
      `Cannot use ${name}: "${key}" is ${describe(member)} instead of a ` +
        `string, a finite number or a boolean`,
    );
  });
  // Unlike assignment, this takes every name, "__proto__" among them.
  return Object.fromEntries(members);
}

/**
 * Metadata of an answer: members that are none are left out, and nothing left is
 * undefined.
 */
export function readMetadata(value: unknown): Metadata | undefined {
  if (!isObject(value)) return undefined;
  const members = Object.entries(value).filter(([, member]) =>
    isScalar(member)
  ) as [string, string | number | boolean][];
  return members.length === 0 ? undefined : Object.fromEntries(members);
}

function isScalar(value: unknown): value is string | number | boolean {
  return typeof value === "string" || typeof value === "boolean" ||
    (typeof value === "number" && Number.isFinite(value));
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
