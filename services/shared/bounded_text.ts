/**
 * The body of an answer as text, no larger than its reader allows.
 *
 * @module
 */

/**
 * Reads the body of an answer; what is no UTF-8 becomes U+FFFD.
 *
 * @returns `undefined` when it is larger than allowed, which ends the transfer
 * @throws when the transfer breaks off
 */
export async function boundedText(
  response: Pick<Response, "body">,
  maxBytes: number,
): Promise<string | undefined> {
  const decoder = new TextDecoder();
  let text = "";
  let length = 0;
  // Leaving the loop early cancels the body.
  for await (const chunk of response.body ?? []) {
    length += chunk.byteLength;
    if (length > maxBytes) return undefined;
    text += decoder.decode(chunk, { stream: true });
  }
  return text + decoder.decode();
}
