/**
 * JSON merge patch (RFC 7396).
 *
 * @module
 */

import { defineMember } from "./json_reader.ts";
import type { Pausing } from "../../shared/slices.ts";
import { isJsonObject } from "../../shared/schema/schema.ts";

/**
 * Applies a patch: members of objects are merged, null removes a member, and
 * any other value replaces the old one. The target itself is changed.
 */
export async function mergePatch(
  target: unknown,
  patch: unknown,
  pausing: Pausing,
): Promise<unknown> {
  if (!isJsonObject(patch)) return patch;
  // Values parsed from JSON belong to the caller, so they may be changed.
  const merged = isJsonObject(target) ? target as Record<string, unknown> : {};
  for (const name of Object.keys(patch)) {
    const value = patch[name];
    if (value === null) delete merged[name];
    else {
      const before = Object.hasOwn(merged, name) ? merged[name] : undefined;
      const after = isJsonObject(value)
        ? await mergePatch(before, value, pausing)
        : value;
      defineMember(merged, name, after);
    }
    const pause = pausing.pause();
    if (pause !== undefined) await pause;
  }
  return merged;
}

/** Options of {@linkcode patchedMembers}. */
interface PatchedMembersOptions {
  /** Gives a copy of a member of the object; undefined when it has none. */
  readonly copyMember: (name: string) => Promise<unknown> | unknown;
  /** Lets other requests go first while there is much to merge. */
  readonly pausing: Pausing;
}

/**
 * Turns a patch of an object into the members to set: each with its whole
 * merged value, or null where the patch removes it. A patch that is not an
 * object is returned as it is.
 */
export async function patchedMembers(
  patch: unknown,
  { copyMember, pausing }: PatchedMembersOptions,
): Promise<unknown> {
  if (!isJsonObject(patch)) return patch;
  const members: [string, unknown][] = [];
  for (const [name, value] of Object.entries(patch)) {
    const target = isJsonObject(value) ? await copyMember(name) : undefined;
    members.push([name, await mergePatch(target, value, pausing)]);
    const pause = pausing.pause();
    if (pause !== undefined) await pause;
  }
  return Object.fromEntries(members);
}

/** A copy of an object's own member, for {@linkcode patchedMembers}. */
export function copiedMember(
  object: Readonly<Record<string, unknown>>,
  name: string,
): unknown {
  return Object.hasOwn(object, name)
    ? structuredClone(object[name])
    : undefined;
}
