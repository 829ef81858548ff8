/**
 * Where the head of an HTTP/1.1 message ends.
 *
 * @module
 */

const TAB = 0x09;
const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;
const SPACE = 0x20;
const DELETE = 0x7f;

/** The head has not come in whole yet. */
export const HEAD_UNFINISHED: number = -1;

/** The head holds bytes that none may hold. */
export const HEAD_MALFORMED: number = -2;

/**
 * Finds the end of a head: the length up to and with its empty line,
 * {@linkcode HEAD_UNFINISHED} or {@linkcode HEAD_MALFORMED}.
 *
 * Lines end with CR LF and nothing else. RFC 9112, 2.2 would allow a bare line
 * feed, but programs that disagree about the end of a line can be made to
 * disagree about where a request ends.
 *
 * @param from How many bytes an earlier call has seen and found unfinished.
 */
export function findHeadEnd(bytes: Uint8Array, from: number): number {
  // One byte back: what follows a carriage return decides about it.
  for (let index = Math.max(0, from - 1); index < bytes.length; index++) {
    const byte = bytes[index]!;
    if (byte >= SPACE && byte !== DELETE) continue;
    if (byte === TAB) continue;
    if (byte === CARRIAGE_RETURN) {
      const next = bytes[index + 1];
      if (next !== undefined && next !== LINE_FEED) return HEAD_MALFORMED;
      continue;
    }
    if (byte !== LINE_FEED || bytes[index - 1] !== CARRIAGE_RETURN) {
      return HEAD_MALFORMED;
    }
    if (bytes[index - 2] === LINE_FEED) return index + 1;
  }
  return HEAD_UNFINISHED;
}
