/**
 * JSON merge patch (RFC 7396).
 *
 * @module
 */

import { isJsonObject } from "../../schema/json_schema.ts";

/**
 * Applies a patch: members of objects are merged, null removes one, anything
 * else takes the place of what was there.
 */
export function mergePatch(target: unknown, patch: unknown): unknown {
  if (!isJsonObject(patch)) return patch;
  // A map, so that a member called "__proto__" is one like any other.
  const merged = new Map(isJsonObject(target) ? Object.entries(target) : []);
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) merged.delete(name);
    else merged.set(name, mergePatch(merged.get(name), value));
  }
  return Object.fromEntries(merged);
}

/**
 * The members that a patch of an object changes, each as it is to be: null where
 * it is removed.
 */
export function patchedMembers(
  target: Readonly<Record<string, unknown>>,
  patch: Readonly<Record<string, unknown>>,
): Readonly<Record<string, unknown>> {
  return Object.fromEntries(
    Object.entries(patch).map(([name, value]) => [
      name,
      mergePatch(Object.hasOwn(target, name) ? target[name] : undefined, value),
    ]),
  );
}
