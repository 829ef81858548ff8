/**
 * Parses the `Retry-After` header (RFC 9110, section 10.2.3).
 *
 * @module
 */

const MONTHS = "Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec";
const TIME = String.raw`(\d\d):(\d\d):(\d\d)`;

/** `Sun, 06 Nov 1994 08:49:37 GMT`. */
const FIXED_DATE = new RegExp(
  String.raw`^[A-Z][a-z]{2}, (\d\d) (${MONTHS}) (\d{4}) ${TIME} GMT$`,
);
/** `Sunday, 06-Nov-94 08:49:37 GMT`. */
const RFC_850_DATE = new RegExp(
  String.raw`^[A-Z][a-z]{5,8}, (\d\d)-(${MONTHS})-(\d\d) ${TIME} GMT$`,
);
/** `Sun Nov  6 08:49:37 1994`. */
const ASCTIME_DATE = new RegExp(
  String.raw`^[A-Z][a-z]{2} (${MONTHS}) ([ \d]\d) ${TIME} (\d{4})$`,
);

const WEEK_MS = 7 * 86_400_000;
const HALF_CENTURY = 50;

/** Options of {@linkcode parseRetryAfter}. */
interface RetryAfterOptions {
  /** The present, in milliseconds since the epoch. */
  readonly nowMs: number;
  /**
   * Longest wait in milliseconds; a longer one is cut to it.
   *
   * @default {604800000}
   */
  readonly maxMs?: number;
}

/**
 * The milliseconds to wait, from seconds or any of the three forms of an HTTP
 * date; at least 0. `undefined` when the text is neither.
 */
export function parseRetryAfter(
  text: string,
  options: RetryAfterOptions,
): number | undefined {
  const { nowMs, maxMs = WEEK_MS } = options;
  const trimmed = text.trim();
  const waitMs = /^\d{1,15}$/.test(trimmed)
    ? Number(trimmed) * 1_000
    : (dateMs(trimmed, nowMs) ?? NaN) - nowMs;
  if (Number.isNaN(waitMs)) return undefined;
  return Math.min(Math.max(0, waitMs), maxMs);
}

function dateMs(text: string, nowMs: number): number | undefined {
  const fixed = FIXED_DATE.exec(text);
  if (fixed !== null) {
    const [, day, month, year, ...time] = fixed;
    return instant({ year: Number(year), month, day, time });
  }
  const rfc850 = RFC_850_DATE.exec(text);
  if (rfc850 !== null) {
    const [, day, month, year, ...time] = rfc850;
    return instant({ year: fullYear(Number(year), nowMs), month, day, time });
  }
  const asctime = ASCTIME_DATE.exec(text);
  if (asctime === null) return undefined;
  const [, month, day, hours, minutes, seconds, year] = asctime;
  const time = [hours, minutes, seconds];
  return instant({ year: Number(year), month, day, time });
}

/** Two digits never mean more than 50 years ahead (RFC 9110, section 5.6.7). */
function fullYear(digits: number, nowMs: number): number {
  const now = new Date(nowMs).getUTCFullYear();
  const year = now - now % 100 + digits;
  return year > now + HALF_CENTURY ? year - 100 : year;
}

interface DateParts {
  readonly year: number;
  readonly month: string | undefined;
  readonly day: string | undefined;
  readonly time: readonly (string | undefined)[];
}

/** The instant; `undefined` for a date that no calendar has. */
function instant({ year, month, day, time }: DateParts): number | undefined {
  const monthIndex = MONTHS.split("|").indexOf(month ?? "");
  const [hours = NaN, minutes = NaN, seconds = NaN] = time.map(Number);
  if (hours > 23 || minutes > 59 || seconds > 60) return undefined;
  const date = Date.UTC(year, monthIndex, Number(day));
  if (new Date(date).getUTCMonth() !== monthIndex) return undefined;
  return date + ((hours * 60 + minutes) * 60 + seconds) * 1_000;
}
