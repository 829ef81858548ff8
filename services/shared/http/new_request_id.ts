/**
 * What ties an answer to log lines where the client has given no id.
 *
 * @module
 */

/** A request id that was never used before. */
export function newRequestId(): string {
  return `req_${crypto.randomUUID().replaceAll("-", "")}`;
}
