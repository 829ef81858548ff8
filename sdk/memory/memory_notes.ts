/**
 * What may be said of a text beside where it belongs.
 *
 * @module
 */

import { optionalName, optionalNumber } from "./arguments.ts";
import { checkMetadata } from "./metadata.ts";
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
