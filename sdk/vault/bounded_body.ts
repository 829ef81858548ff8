/**
 * Reads bodies of requests and answers up to a limit of bytes.
 *
 * @module
 */

import { joinBytes, readableUtf8 } from "../memory/encodings.ts";

/**
 * Returns the text of an answer; undefined when the answer has more than
 * `maxBytes`. The rest is not read then.
 *
 * @throws {unknown} When the answer breaks off.
 */
export async function readText(
  response: Response,
  maxBytes: number,
): Promise<string | undefined> {
  const bytes = await readBytes(response, maxBytes);
  return bytes && readableUtf8(bytes);
}

/**
 * Returns the bytes of a body; undefined when the body has more than
 * `maxBytes`. The rest is not read then.
 *
 * @throws {unknown} When the body breaks off.
 */
export async function readBytes(
  response: Pick<Response, "body" | "arrayBuffer">,
  maxBytes: number,
): Promise<Uint8Array | undefined> {
  const { body } = response;
  if (body === undefined) {
    // React Native has no streams.
    const whole = new Uint8Array(await response.arrayBuffer());
    return whole.length > maxBytes ? undefined : whole;
  }
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
  return joinBytes(chunks, length);
}

/** Returns a member of an answer in JSON; undefined of what has no members. */
export function getMember(value: unknown, name: string): unknown {
  return typeof value === "object" && value !== null && name in value
    ? (value as Readonly<Record<string, unknown>>)[name]
    : undefined;
}
