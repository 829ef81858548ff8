/**
 * Checks the metadata, replaced memory and importance that an application
 * stores with a text.
 *
 * @module
 */

import { isObject } from "./answer_reader.ts";
import { describe, optionalName, optionalNumber } from "./arguments.ts";
import type { MemoryNotes, Metadata } from "./remember_types.ts";

/** Notes that were checked, in the form in which they are sent. */
export type CheckedNotes = Required<MemoryNotes>;

/**
 * Checks the notes of a text and copies them.
 *
 * @param prefix text before the names in error messages
 * @throws {TypeError} When a value is not valid.
 */
export function checkNotes(
  notes: { readonly [Name in keyof MemoryNotes]?: unknown },
  prefix: string = "",
): CheckedNotes {
  return {
    metadata: checkMetadata(notes.metadata, `${prefix}metadata`),
    supersedes: optionalName(notes.supersedes, `${prefix}supersedes`),
    importance: optionalNumber(notes.importance, `${prefix}importance`),
  };
}

/** Returns a text that is equal for equal notes, and empty for no notes. */
export function textOfNotes(
  { metadata, supersedes, importance }: CheckedNotes,
): string {
  const isEmpty = metadata === undefined && supersedes === undefined &&
    importance === undefined;
  if (isEmpty) return "";
  const members = Object.entries(metadata ?? {})
    .sort(([a], [b]) => a < b ? -1 : 1);
  return JSON.stringify([members, supersedes ?? null, importance ?? null]);
}

/**
 * Returns a copy of metadata that JSON can hold, or undefined.
 *
 * @param name the argument's name in error messages
 * @throws {TypeError} When it is not an object, or a member is not a text, a
 * finite number or a boolean.
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
  // Unlike an assignment, this can set every name, even `__proto__`.
  return Object.fromEntries(members);
}

/**
 * Reads metadata of an answer. Members that are not valid metadata are left
 * out; returns undefined when no member is left.
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
