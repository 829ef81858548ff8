/**
 * The time at which a credential ends, as clients write it.
 *
 * @module
 */

/** RFC 3339, section 5.6: a date, a time and a zone. */
const DATE_TIME =
  /^\d{4}-\d{2}-\d{2}[Tt ]\d{2}:\d{2}:\d{2}(?:\.\d{1,9})?(?:[Zz]|[+-]\d{2}:\d{2})$/;

/**
 * Reads a date and time of RFC 3339. A leap second counts as the second before
 * it.
 *
 * @returns Milliseconds since the epoch, whole ones (a part of one is left out),
 * or `undefined` when it is none or no such day exists.
 */
export function parseExpiry(text: string): number | undefined {
  if (!DATE_TIME.test(text)) return undefined;
  try {
    return Temporal.Instant.from(text.toUpperCase()).epochMilliseconds;
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}
