/**
 * Reads the body of an HTTP response up to a size limit.
 *
 * @module
 */

/**
 * Reads the body of an HTTP response.
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

/** Does the same and decodes UTF-8; invalid bytes become U+FFFD. */
export async function boundedText(
  response: Pick<Response, "body">,
  maxBytes: number,
): Promise<string | undefined> {
  const bytes = await boundedBytes(response, maxBytes);
  return bytes && new TextDecoder().decode(bytes);
}
