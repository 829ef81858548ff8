/**
 * How long to wait before a server is dialled again.
 *
 * @module
 */

const FIRST_MS = 50;
const MAX_MS = 2_000;

/**
 * Milliseconds to wait after so many failures in a row: twice as long each
 * time up to two seconds, of which a random half is left out, so that many
 * clients do not all come back in the same moment.
 *
 * @param failures Failed attempts in a row, at least 1.
 * @param random Gives a number from 0 up to, not including, 1.
 */
export function redialDelayMs(failures: number, random: () => number): number {
  const ceiling = Math.min(FIRST_MS * 2 ** Math.min(failures - 1, 16), MAX_MS);
  return ceiling / 2 + random() * ceiling / 2;
}
