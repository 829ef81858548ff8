/**
 * When API keys end: at the time they were made to, or sooner where another key
 * was put in their place.
 *
 * @module
 */

import type { ApiKey } from "../domain/records.ts";

/** What of a key says when it ends. */
export type EndingKey = Pick<ApiKey, "expiresAtMs" | "replacedUntilMs">;

/** When a key stops working; undefined when never. */
export function endOfKey(
  { expiresAtMs, replacedUntilMs }: EndingKey,
): number | undefined {
  const endMs = Math.min(expiresAtMs ?? Infinity, replacedUntilMs ?? Infinity);
  return endMs === Infinity ? undefined : endMs;
}

/** Tells whether a key has stopped working. */
export function hasEnded(key: EndingKey, nowMs: number): boolean {
  return (endOfKey(key) ?? Infinity) <= nowMs;
}
