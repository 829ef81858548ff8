/**
 * What may be said of a text beside where it belongs.
 *
 * @module
 */

import { isObject } from "./answer_reader.ts";
import { describe, optionalName, optionalNumber } from "./arguments.ts";
import type { MemoryNotes, Metadata } from "./remember_types.ts";

/** {@linkcode MemoryNotes} that were checked, as they are sent. */
export interface CheckedNotes {
  /** See {@linkcode MemoryNotes.metadata}. */
  readonly metadata: Metadata | undefined;
  /** See {@linkcode MemoryNotes.supersedes}. */
  readonly supersedes: string | undefined;
  /** See {@linkcode MemoryNotes.importance}. */
  readonly importance: number | undefined;
}

/**
 * Checks what is said of a text, and copies it.
 *
 * @param prefix goes before the names in messages
 * @throws {TypeError} When something is not what it must be.
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

/** Notes as a text that is the same for the same notes; empty for none. */
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
