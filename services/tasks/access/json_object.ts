/**
 * JSON objects from strangers, read without surprises.
 *
 * @module
 */

/** An object of unknown members, without a prototype. */
export type JsonObject = Readonly<Record<string, unknown>>;

/**
 * Reads JSON text that has to be an object. It gets no prototype, so a member
 * that is not there is `undefined` whatever its name. Of members of the same
 * name the last one counts, as RFC 7515, 4 allows.
 *
 * @returns `undefined` when it is no JSON or no object.
 */
export function parseJsonObject(text: string): JsonObject | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    // Not JSON; the parser has no other way to tell.
    return undefined;
  }
  return asJsonObject(value);
}

/** A parsed value as an object; `undefined` when it is none. */
export function asJsonObject(value: unknown): JsonObject | undefined {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    return undefined;
  }
  const members: Record<string, unknown> = Object.create(null);
  for (const [name, member] of Object.entries(value)) members[name] = member;
  return members;
}
