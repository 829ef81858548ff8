/**
 * Finds the reason why a request got no answer.
 *
 * @module
 */

/**
 * Returns the message of the innermost cause. It is the most specific one: the
 * outer `fetch failed` gives no reason.
 */
export function findReason(error: unknown): string {
  let reason = String(error);
  for (let at: unknown = error; at instanceof Error; at = at.cause) {
    reason = at.message || reason;
  }
  return reason;
}
