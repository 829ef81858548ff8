/**
 * Texts of answers, of which no more is read than allowed.
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
  if (response.body === null) return "";
  const reader = response.body.getReader();
  const decoder = new TextDecoder();
  let text = "";
  let bytes = 0;
  while (true) {
    const { done, value } = await reader.read();
    if (done) return text + decoder.decode();
    bytes += value.length;
    if (bytes > maxBytes) {
      await reader.cancel();
      return undefined;
    }
    text += decoder.decode(value, { stream: true });
  }
}
