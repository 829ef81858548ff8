/**
 * Finds the word that was probably meant, for messages about unknown names.
 *
 * @module
 */

/** Longer words are not compared, so that no input makes this slow. */
const MAX_WORD_LENGTH = 64;

/**
 * Finds the candidate closest to `word`: the fewest inserted, removed, replaced
 * or swapped letters, upper and lower case being the same. The first of equals
 * wins. At most `maxMistakes` letters may differ, whatever the length.
 *
 * @returns The candidate as it is written in `candidates`, or `undefined` when
 * none is close: more than a third of the letters differ (one letter is always
 * forgiven in words of three and more), or the word is longer than 64.
 */
export function nearest(
  word: string,
  candidates: Iterable<string>,
  { maxMistakes = Infinity }: { readonly maxMistakes?: number } = {},
): string | undefined {
  if (word.length === 0 || word.length > MAX_WORD_LENGTH) return undefined;
  const wanted = word.toLowerCase();
  let bestDistance = Math.min(Math.floor(word.length / 3), maxMistakes) + 1;
  let best: string | undefined;
  for (const candidate of candidates) {
    if (Math.abs(candidate.length - word.length) >= bestDistance) continue;
    const distance = editDistance(wanted, {
      to: candidate.toLowerCase(),
      most: bestDistance - 1,
    });
    if (distance < bestDistance) {
      bestDistance = distance;
      best = candidate;
    }
  }
  return best;
}

/**
 * How many letters have to be changed, left out, put in or swapped with their
 * neighbour (optimal string alignment); Infinity, or any number above `most`,
 * when there are more. Words have at most 255 letters.
 */
export function editDistance(
  left: string,
  { to: right, most }: { readonly to: string; readonly most: number },
): number {
  const width = right.length + 1;
  // Three rows in turn: this one, the last one, and the one before that.
  const rows = new Uint8Array(3 * width);
  for (let j = 0; j < width; j++) rows[j] = j;
  for (let i = 1; i <= left.length; i++) {
    const row = i % 3 * width;
    const last = (i - 1) % 3 * width;
    const beforeLast = (i - 2) % 3 * width;
    const letter = left.charCodeAt(i - 1);
    let least = rows[row] = i;
    for (let j = 1; j < width; j++) {
      const isSame = letter === right.charCodeAt(j - 1);
      let steps = rows[last + j - 1]! + (isSame ? 0 : 1);
      if (rows[last + j]! < steps) steps = rows[last + j]! + 1;
      if (rows[row + j - 1]! < steps) steps = rows[row + j - 1]! + 1;
      const isSwapped = i > 1 && j > 1 &&
        letter === right.charCodeAt(j - 2) &&
        left.charCodeAt(i - 2) === right.charCodeAt(j - 1);
      if (isSwapped && rows[beforeLast + j - 2]! < steps) {
        steps = rows[beforeLast + j - 2]! + 1;
      }
      rows[row + j] = steps;
      if (steps < least) least = steps;
    }
    // A swap reaches over a row, but costs no less than a step into it.
    if (least > most) return Infinity;
  }
  return rows[left.length % 3 * width + right.length]!;
}
