/**
 * Terms of memories that a word of a question is close to, where no memory has the word
 * itself: misspelt names, words that are joined in one place and apart in another, and
 * words of one family.
 *
 * @module
 */

/** Shorter words are close to too many. */
const MIN_MISSPELT_CHARS = 4;
/** From this length on a word may have two faults. */
const MIN_TWICE_MISSPELT_CHARS = 8;
/** The shortest part of a joined word. */
const MIN_PART_CHARS = 4;
/** So much at least related words have in common. */
const MIN_RELATED_CHARS = 5;
/** The share of the longer one that related words begin with. */
const RELATED_SHARE = 0.6;
/** More terms say nothing. */
const MAX_NEAR = 8;
const NO_LETTER = /[^\p{L}]/u;

/** Options of {@linkcode nearTerms}. */
interface NearTermsOptions {
  /**
   * Whether words of the language are joined, as in German.
   *
   * @default {false}
   */
  readonly areJoined?: boolean | undefined;
  /**
   * Whether misspelt words are looked for.
   *
   * @default {true}
   */
  readonly areMisspelt?: boolean | undefined;
}

/**
 * The terms of a vocabulary that a term which is not in it stands for, if any: first
 * those that it is spelt like, with one fault, or two in a long word; else, where words
 * are joined, those that it is a part of or that are parts of it; else those that begin
 * like it.
 */
export function nearTerms(
  term: string,
  vocabulary: Iterable<string>,
  { areJoined = false, areMisspelt = true }: NearTermsOptions = {},
): readonly string[] {
  // Numbers and identifiers that differ are others.
  if (NO_LETTER.test(term) || term.length < MIN_MISSPELT_CHARS) return [];
  const faults = !areMisspelt
    ? 0
    : term.length < MIN_TWICE_MISSPELT_CHARS
    ? 1
    : 2;
  const bySpelling: string[][] = [[], []];
  const joined: string[] = [];
  const related: string[] = [];
  for (const other of vocabulary) {
    if (other === term) continue;
    if (Math.abs(other.length - term.length) <= faults) {
      const distance = editDistance(term, other, faults);
      if (distance !== undefined) bySpelling[distance - 1]?.push(other);
    }
    if (areJoined && isJoined(term, other)) joined.push(other);
    else if (areMisspelt && isRelated(term, other)) related.push(other);
  }
  const closest = [...bySpelling, joined, related]
    .find((terms) => terms.length > 0);
  return closest?.slice(0, MAX_NEAR) ?? [];
}

/** Whether they begin alike, and end as forms of one word may. */
function isRelated(one: string, other: string): boolean {
  const longer = Math.max(one.length, other.length);
  const least = Math.max(MIN_RELATED_CHARS, RELATED_SHARE * longer);
  if (Math.min(one.length, other.length) < least) return false;
  for (let at = 0; at < least; at++) {
    if (one[at] !== other[at]) return false;
  }
  return true;
}

/** Whether one begins or ends with the other, and both are words. */
function isJoined(one: string, other: string): boolean {
  const [short, long] = one.length < other.length ? [one, other] : [other, one];
  return short.length >= MIN_PART_CHARS &&
    (long.startsWith(short) || long.endsWith(short));
}

/**
 * How many letters have to be changed, left out, put in or swapped with their
 * neighbour; undefined when that is more than `most`, or 0.
 */
function editDistance(
  one: string,
  other: string,
  most: number,
): number | undefined {
  // Few misspell how a word begins.
  if (one[0] !== other[0] && one[1] !== other[1]) return undefined;
  let beforeLast: number[] = [];
  let last = Array.from({ length: other.length + 1 }, (_, at) => at);
  for (let row = 1; row <= one.length; row++) {
    const current = [row];
    let least = row;
    for (let column = 1; column <= other.length; column++) {
      const isSame = one[row - 1] === other[column - 1];
      let cost = Math.min(
        (last[column - 1] ?? 0) + (isSame ? 0 : 1),
        (last[column] ?? 0) + 1,
        (current[column - 1] ?? 0) + 1,
      );
      if (
        row > 1 && column > 1 && one[row - 1] === other[column - 2] &&
        one[row - 2] === other[column - 1]
      ) cost = Math.min(cost, (beforeLast[column - 2] ?? 0) + 1);
      current.push(cost);
      if (cost < least) least = cost;
    }
    if (least > most) return undefined;
    [beforeLast, last] = [last, current];
  }
  const distance = last[other.length] ?? 0;
  return distance === 0 || distance > most ? undefined : distance;
}
