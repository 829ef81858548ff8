/**
 * Keys of 256 bits as settings and files hold them.
 *
 * @module
 */

const BASE64_OF_KEY = /^[A-Za-z0-9+/_-]{43}=?$/;

/**
 * Reads base64 of 32 bytes, in the usual alphabet or that of URLs (RFC 4648),
 * with or without its padding; `undefined` when it is anything else.
 */
export function parseBase64Key(
  text: string,
): Uint8Array<ArrayBuffer> | undefined {
  if (!BASE64_OF_KEY.test(text)) return undefined;
  const standard = text.replaceAll("-", "+").replaceAll("_", "/");
  try {
    return Uint8Array.fromBase64(`${standard.replace(/=$/, "")}=`, {
      lastChunkHandling: "strict",
    });
  } catch (error) {
    // Bits beyond the last byte: a mistyped key rather than another spelling.
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}
