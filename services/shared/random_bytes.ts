/**
 * Random bytes without Node's cryptography, which takes a process 30 ms to
 * load.
 *
 * @module
 */

/**
 * Gives random bytes that are fit for keys.
 *
 * @throws {DOMException} When `length` is above 65,536 (Web Cryptography,
 * 10.1.1).
 */
export function randomBytes(length: number): Uint8Array<ArrayBuffer> {
  return crypto.getRandomValues(new Uint8Array(length));
}
