/**
 * The body of an answer, no larger than its reader allows.
 *
 * @module
 */

/**
 * Reads the body of an answer.
 *
 * @returns `undefined` when it is larger than allowed, which ends the transfer
 * @throws when the transfer breaks off
 */
export async function boundedBytes(
  response: Pick<Response, "body">,
  maxBytes: number,
): Promise<Uint8Array | undefined> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  // Leaving the loop early cancels the body.
  for await (const chunk of response.body ?? []) {
    length += chunk.byteLength;
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

/** The same as text; what is no UTF-8 becomes U+FFFD. */
export async function boundedText(
  response: Pick<Response, "body">,
  maxBytes: number,
): Promise<string | undefined> {
  const bytes = await boundedBytes(response, maxBytes);
  return bytes && new TextDecoder().decode(bytes);
}
