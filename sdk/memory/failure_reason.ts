/**
 * Why a request had no answer, in the words of what failed.
 *
 * @module
 */

/** The message of the innermost cause, which says most: `fetch failed` names none. */
export function reasonOf(error: unknown): string {
  let reason = String(error);
  for (let at: unknown = error; at instanceof Error; at = at.cause) {
    reason = at.message || reason;
  }
  return reason;
}
