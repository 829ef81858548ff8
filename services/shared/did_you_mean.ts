/**
 * The word that was probably meant, for messages about unknown names.
 *
 * @module
 */

/** Longer words are not compared, so that no input makes this slow. */
const MAX_WORD_LENGTH = 64;

/**
 * Finds the candidate closest to `word`: the fewest inserted, removed,
 * replaced or swapped letters, upper and lower case being the same. The first
 * of equals wins. At most `maxMistakes` letters may differ, whatever the length.
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
    const distance = editDistance(wanted, candidate.toLowerCase());
    if (distance < bestDistance) {
      bestDistance = distance;
      best = candidate;
    }
  }
  return best;
}

/** Optimal string alignment: a swap of neighbours counts as one step. */
function editDistance(left: string, right: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: right.length + 1 }, (_, index) => index);
  for (let i = 1; i <= left.length; i++) {
    const row = [i];
    for (let j = 1; j <= right.length; j++) {
      const cost = left[i - 1] === right[j - 1] ? 0 : 1;
      let steps = Math.min(
        at(last, j) + 1,
        at(row, j - 1) + 1,
        at(last, j - 1) + cost,
      );
      const swapped = i > 1 && j > 1 && left[i - 1] === right[j - 2] &&
        left[i - 2] === right[j - 1];
      if (swapped) steps = Math.min(steps, at(beforeLast, j - 2) + 1);
      row.push(steps);
    }
    beforeLast = last;
    last = row;
  }
  return at(last, right.length);
}

function at(row: readonly number[], index: number): number {
  return row[index] ?? Infinity;
}
