/**
 * Computes vectors from words, by which the mock finds memories: texts that
 * share words, whatever the words' endings, have close vectors. The vectors are
 * the same in every runtime.
 *
 * @module
 */

/** The number of dimensions of a vector, as in the real relayer. */
export const VECTOR_WIDTH = 1_536;

const WORD = /[\p{L}\p{N}\p{M}]+/gu;
/**
 * Matches characters of scripts without spaces between words; each such
 * character counts as a word.
 */
const UNSPACED =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}]/u;
/**
 * How many letters at the beginning of a word are compared: "drinks" and
 * "drinking" share them.
 */
const BEGINNING_CHARS = 4;
const STOP_WORD_WEIGHT = 0.1;
const STOP_WORDS: ReadonlySet<string> = new Set(
  ("a an and are as at be by did do does for from has have he her his how i in is " +
    "it me my of on or our she so that the their they this to was we were what " +
    "when where which who why with you your").split(" "),
);

/**
 * Returns a vector of length 1. For a text without words it is computed from
 * the characters.
 */
export function computeVector(text: string): readonly number[] {
  const features = extractFeatures(toPlain(text));
  const vector = Array<number>(VECTOR_WIDTH).fill(0);
  for (const [feature, weight] of features) {
    const place = hashText(feature) % VECTOR_WIDTH;
    vector[place] = (vector[place] ?? 0) + weight;
  }
  return toUnitVector(vector);
}

/** Returns a vector of length 1 with the same direction. */
export function toUnitVector(vector: readonly number[]): readonly number[] {
  // The numbers are divided by the largest first, so that no square overflows.
  const largest = vector.reduce((max, one) => Math.max(max, Math.abs(one)), 0);
  if (largest === 0) return vector;
  const squares = vector.reduce((sum, one) => sum + (one / largest) ** 2, 0);
  const length = Math.sqrt(squares);
  return vector.map((one) => one / largest / length);
}

/** Returns the cosine distance, 0 to 2, of two vectors of length 1. */
export function computeDistance(
  left: readonly number[],
  right: readonly number[],
): number {
  const product = left.reduce(
    (sum, one, at) => sum + one * (right[at] ?? 0),
    0,
  );
  return Math.max(0, 1 - product);
}

/**
 * Returns the significant words of a text, each with the beginnings that it
 * shares with words of other endings; where a script has no spaces, single
 * characters.
 */
export function listBeginnings(
  text: string,
): ReadonlyMap<string, readonly string[]> {
  const words = toPlain(text).match(WORD) ?? [];
  return new Map(
    words.filter((word) => !STOP_WORDS.has(word))
      .map((word) => [word, beginningsOfWord(word)]),
  );
}

function beginningsOfWord(word: string): readonly string[] {
  const letters = [...word];
  return UNSPACED.test(word)
    ? letters
    : [letters.slice(0, BEGINNING_CHARS).join("")];
}

function toPlain(text: string): string {
  return text.normalize("NFKC").toLowerCase();
}

function extractFeatures(text: string): ReadonlyMap<string, number> {
  const features = new Map<string, number>();
  for (const word of text.match(WORD) ?? []) {
    const weight = STOP_WORDS.has(word) ? STOP_WORD_WEIGHT : 1;
    features.set(`w ${word}`, weight);
    const kind = UNSPACED.test(word) ? "c" : "b";
    if (kind === "b" && weight < 1) continue;
    for (const part of beginningsOfWord(word)) {
      features.set(`${kind} ${part}`, 1);
    }
  }
  if (features.size > 0) return features;
  for (const character of text.trim()) features.set(`c ${character}`, 1);
  return features.size > 0 ? features : new Map([["blank", 1]]);
}

/** Computes FNV-1a over UTF-16 units, with a last step that mixes the bits. */
function hashText(text: string): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < text.length; at++) {
    hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  }
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  return (hash ^ (hash >>> 13)) >>> 0;
}
