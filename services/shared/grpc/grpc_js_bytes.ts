/**
 * Bytes on their way between the seam and the gRPC library, never copied.
 *
 * @module
 */

import { Buffer } from "node:buffer";

/** Plain bytes of the library's buffer, whose `slice` would mean a view. */
export function bytesOf(buffer: Buffer): Uint8Array {
  return new Uint8Array(buffer.buffer, buffer.byteOffset, buffer.byteLength);
}

/** A buffer over `bytes`, as the library wants it. */
export function bufferOf(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
