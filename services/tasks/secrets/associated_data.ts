/**
 * What a sealed text is bound to, as bytes.
 *
 * @module
 */

/**
 * Encodes texts so that no two lists of them give the same bytes: each as its
 * length (32 bits, big endian) and its UTF-8.
 *
 * @throws {TypeError} When a text holds half a surrogate pair, which UTF-8 can't
 * tell from another.
 */
export function associatedData(parts: readonly string[]): Uint8Array {
  const encoder = new TextEncoder();
  const encoded = parts.map((part) => {
    if (!part.isWellFormed()) {
      throw new TypeError(
        "Cannot bind sealed text: a part of its place is no valid Unicode",
      );
    }
    return encoder.encode(part);
  });
  const bytes = new Uint8Array(
    encoded.reduce((sum, part) => sum + 4 + part.length, 0),
  );
  const view = new DataView(bytes.buffer);
  let offset = 0;
  for (const part of encoded) {
    view.setUint32(offset, part.length);
    bytes.set(part, offset + 4);
    offset += 4 + part.length;
  }
  return bytes;
}
