/**
 * Bodies of requests and answers, of which no more is read than allowed.
 *
 * @module
 */

/**
 * The text of an answer; undefined when it has more than `maxBytes`, and then it is not
 * read on.
 *
 * @throws {unknown} When the answer breaks off.
 */
export async function readText(
  response: Response,
  maxBytes: number,
): Promise<string | undefined> {
  const bytes = await readBytes(response, maxBytes);
  return bytes && new TextDecoder().decode(bytes);
}

/**
 * The bytes of a body; undefined when it has more than `maxBytes`, and then it is not
 * read on.
 *
 * @throws {unknown} When the body breaks off.
 */
export async function readBytes(
  { body }: Pick<Response, "body">,
  maxBytes: number,
): Promise<Uint8Array | undefined> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  if (body !== null) {
    const reader = body.getReader();
    while (true) {
      const { done, value } = await reader.read();
      if (done) break;
      length += value.length;
      if (length > maxBytes) {
        await reader.cancel();
        return undefined;
      }
      chunks.push(value);
    }
  }
  const bytes = new Uint8Array(length);
  let at = 0;
  for (const chunk of chunks) {
    bytes.set(chunk, at);
    at += chunk.length;
  }
  return bytes;
}
