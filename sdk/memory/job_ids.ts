/**
 * What an id of a job looks like.
 *
 * @module
 */

/** Whether it has nothing but letters, digits, `_` and `-`. */
export function isJobId(id: unknown): id is string {
  return typeof id === "string" && /^[A-Za-z0-9_-]+$/.test(id);
}

/**
 * Whether it can be asked for: it is a text that is not empty, has neither
 * whitespace nor `/`, `?`, `#`, is no path segment with a meaning of its own,
 * and can be written in a URL.
 */
export function canAskForJob(id: unknown): id is string {
  return typeof id === "string" && id !== "" && !/[\s/?#]/.test(id) &&
    id !== "." && id !== ".." && isWellFormed(id);
}

/** Half of a surrogate pair has no UTF-8 form. */
function isWellFormed(text: string): boolean {
  return !/\p{Surrogate}/u.test(text);
}
