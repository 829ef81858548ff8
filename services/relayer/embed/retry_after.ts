/**
 * When an endpoint says it is worth asking again (RFC 9110, section 10.2.3).
 *
 * @module
 */

/** Nobody waits longer than this for an endpoint, whatever it says. */
const MAX_RETRY_AFTER_MS = 3_600_000;

/** The form of a date that RFC 9110 lets servers write. */
const HTTP_DATE =
  /^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d\d (?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) \d{4} \d\d:\d\d:\d\d GMT$/;

/**
 * The milliseconds to wait, from seconds or a date; at least 0, at most an hour.
 * `undefined` when the text is neither.
 */
export function retryAfterMs(
  text: string | null,
  nowMs: number,
): number | undefined {
  const trimmed = text?.trim() ?? "";
  const waitMs = /^\d{1,9}(?:\.\d{1,9})?$/.test(trimmed)
    ? Number(trimmed) * 1_000
    : HTTP_DATE.test(trimmed)
    ? Date.parse(trimmed) - nowMs
    : NaN;
  if (Number.isNaN(waitMs)) return undefined;
  return Math.min(Math.max(0, Math.ceil(waitMs)), MAX_RETRY_AFTER_MS);
}
