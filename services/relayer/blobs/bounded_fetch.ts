/**
 * What is taken in of an answer, and what is said when there is none.
 *
 * @module
 */

/** The body; undefined when it is larger than allowed, which ends the transfer. */
export async function boundedBytes(
  response: Response,
  maxBytes: number,
): Promise<Uint8Array | undefined> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of response.body ?? []) {
    length += chunk.length;
    // Leaving the loop cancels the body.
    if (length > maxBytes) return undefined;
    chunks.push(chunk);
  }
  const bytes = new Uint8Array(length);
  let at = 0;
  for (const chunk of chunks) {
    bytes.set(chunk, at);
    at += chunk.length;
  }
  return bytes;
}

/** What is said of a call that failed; whole sentences of runtimes hold addresses. */
export function fetchFault(error: unknown): string {
  const isAborted = error instanceof DOMException &&
    (error.name === "AbortError" || error.name === "TimeoutError");
  return isAborted
    ? "took too long, or the call was ended"
    : "cannot be reached, or broke off";
}
