/**
 * Times as the wire has them.
 *
 * @module
 */

/** An instant as RFC 3339 text in UTC, with milliseconds. */
export function wireTime(ms: number): string {
  return new Date(ms).toISOString();
}
