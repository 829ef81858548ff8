/**
 * JSON merge patch (RFC 7396).
 *
 * @module
 */

import { defineMember } from "../../http/json_reader.ts";
import type { Pausing } from "../../../shared/slices.ts";
import { isJsonObject } from "../../../shared/schema/schema.ts";

/**
 * Applies a patch: members of objects are merged, null removes one, anything
 * else takes the place of what was there. The target is changed itself.
 */
export async function mergePatch(
  target: unknown,
  patch: unknown,
  pausing: Pausing,
): Promise<unknown> {
  if (!isJsonObject(patch)) return patch;
  // What was parsed from JSON is the caller's own.
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

/** What members a patch of an object changes; see {@linkcode patchedMembers}. */
export interface PatchedMembersOptions {
  /** The patch. */
  readonly patch: Readonly<Record<string, unknown>>;
  /** Gives a member of the object that may be changed; undefined when it has none. */
  readonly memberOf: (name: string) => Promise<unknown> | unknown;
  /** Gives way while there is much to merge. */
  readonly pausing: Pausing;
}

/**
 * The members that a patch of an object changes, each as it is to be: null where
 * it is removed.
 */
export async function patchedMembers(
  { patch, memberOf, pausing }: PatchedMembersOptions,
): Promise<Readonly<Record<string, unknown>>> {
  const members: [string, unknown][] = [];
  for (const [name, value] of Object.entries(patch)) {
    const target = isJsonObject(value) ? await memberOf(name) : undefined;
    members.push([name, await mergePatch(target, value, pausing)]);
    const pause = pausing.pause();
    if (pause !== undefined) await pause;
  }
  return Object.fromEntries(members);
}
