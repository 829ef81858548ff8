/**
 * Merge patches (RFC 7396).
 *
 * @module
 */

import { isJsonObject } from "../../../shared/schema/schema.ts";

/**
 * Applies a merge patch: members of objects are merged, null removes one,
 * anything else takes the place of what was there.
 */
export function mergePatch(target: unknown, patch: unknown): unknown {
  if (!isJsonObject(patch)) return patch;
  const merged = new Map<string, unknown>(
    isJsonObject(target) ? Object.entries(target) : [],
  );
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) merged.delete(name);
    else merged.set(name, mergePatch(merged.get(name), value));
  }
  return Object.fromEntries(merged);
}

/**
 * Turns a merge patch of an object into the members that are to be set: each is
 * whole, and null where the patch removes it.
 */
export function membersOfPatch(
  current: Readonly<Record<string, unknown>>,
  patch: unknown,
): unknown {
  if (!isJsonObject(patch)) return patch;
  return Object.fromEntries(
    Object.entries(patch).map(([name, value]) => [
      name,
      // What all objects have is no member of the current one.
      mergePatch(Object.hasOwn(current, name) ? current[name] : null, value),
    ]),
  );
}
