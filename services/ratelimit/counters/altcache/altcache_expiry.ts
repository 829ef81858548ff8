/**
 * When memcached forgets a counter.
 *
 * @module
 */

/** Longest time to live that is one; memcached takes more for a date. */
const MAX_RELATIVE_SECONDS = 2_592_000;
/** Latest date that memcached can read (32 bits with a sign). */
const MAX_DATE = 0x7fffffff;

/**
 * A time to live as memcached reads it (protocol.txt, "Expiration times"): up
 * to 30 days as it is, above that as the date it ends, and 0, which is never,
 * when that date is out of reach. So a counter of a month or a year is not
 * taken for one that ended in 1970.
 */
export function altcacheExpiry(
  timeToLiveSeconds: number,
  nowSeconds: number,
): number {
  if (timeToLiveSeconds <= MAX_RELATIVE_SECONDS) return timeToLiveSeconds;
  const date = nowSeconds + timeToLiveSeconds;
  return date <= MAX_DATE ? date : 0;
}
