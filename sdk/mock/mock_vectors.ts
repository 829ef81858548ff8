/**
 * Vectors of words, by which the mock finds memories: texts that share words, endings
 * aside, are close. They are the same in every runtime.
 *
 * @module
 */

/** How many numbers a vector has; as many as those of the real relayer. */
export const VECTOR_WIDTH = 1_536;

const WORD = /[\p{L}\p{N}\p{M}]+/gu;
/** Scripts that set no spaces between words: each character stands for one. */
const UNSPACED =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}]/u;
/** "drinks" and "drinking" share as much. */
const BEGINNING_CHARS = 4;
const STOP_WORD_WEIGHT = 0.1;
const STOP_WORDS: ReadonlySet<string> = new Set(
  ("a an and are as at be by did do does for from has have he her his how i in is " +
    "it me my of on or our she so that the their they this to was we were what " +
    "when where which who why with you your").split(" "),
);

/** A vector of length 1; for a text without words it is made of its characters. */
export function vectorOf(text: string): readonly number[] {
  const features = featuresOf(plainOf(text));
  const vector = Array<number>(VECTOR_WIDTH).fill(0);
  for (const [feature, weight] of features) {
    const place = hashOf(feature) % VECTOR_WIDTH;
    vector[place] = (vector[place] ?? 0) + weight;
  }
  return unitOf(vector);
}

/** A vector of the same direction and of length 1. */
export function unitOf(vector: readonly number[]): readonly number[] {
  // Divided by the largest first, so that no square is out of bounds.
  const largest = vector.reduce((max, one) => Math.max(max, Math.abs(one)), 0);
  if (largest === 0) return vector;
  const squares = vector.reduce((sum, one) => sum + (one / largest) ** 2, 0);
  const length = Math.sqrt(squares);
  return vector.map((one) => one / largest / length);
}

/** Cosine distance of two vectors of length 1, 0 to 2. */
export function distanceOf(
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
 * The words of a text that say something, with what words that are the same but for
 * their endings have in common; single characters, where a script sets no spaces.
 */
export function beginningsOf(
  text: string,
): ReadonlyMap<string, readonly string[]> {
  const words = plainOf(text).match(WORD) ?? [];
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

function plainOf(text: string): string {
  return text.normalize("NFKC").toLowerCase();
}

function featuresOf(text: string): ReadonlyMap<string, number> {
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

/** FNV-1a over UTF-16 units, with a last step that mixes the bits. */
function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < text.length; at++) {
    hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  }
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  return (hash ^ (hash >>> 13)) >>> 0;
}
