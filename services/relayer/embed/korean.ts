/**
 * Stems of Korean words. Particles and endings stand right behind a word, as in
 * 서울에서 ("in Seoul"), and an ending may melt into the last syllable of a
 * verb, as in 갔다 ("went") from 가다 ("go").
 *
 * A stem need not be a word: what looks like a particle is taken off wherever a
 * word ends in it, in memories and in questions alike.
 *
 * @module
 */

/**
 * Syllables by their place in Unicode: first letter × 588 + vowel × 28 + last
 * letter (The Unicode Standard, section 3.12).
 */
const FIRST_SYLLABLE = 0xac00;
const LAST_SYLLABLE = 0xd7a3;
const VOWELS = 21;
const LAST_LETTERS = 28;
/** The last letter that makes a past tense, ㅆ. */
const SS = 20;
/** The last letter that makes a polite form before 니, ㅂ. */
const B = 17;
const H = 18;
const A = 0;
const AE = 1;
const YEO = 6;
const WEO = 14;
const U = 13;
const I = 20;

/** The longest first, so that none hides within another. */
const ENDINGS = [
  "으로부터 에서부터 에서는 에서도 에게서 이라고 입니다 입니까 습니다 습니까 이에요 이었다",
  "으로 에서 에게 에는 에도 한테 까지 부터 처럼 보다 하고 이랑 라고 니다 니까 어요 아요 예요 에요 이요",
  "나요 까요 세요 네요 군요 지만 는데 은데 인데 려고 어서 아서 면서 으면 었다 았다 있다",
  "은 는 이 가 을 를 의 에 와 과 도 만 로 랑 께 요 다 까 면 던 었 았 고 며 지 서",
].flatMap((line) => line.split(" "));
/** Endings that are taken off one after another, as in 집에서는도. */
const MAX_ENDINGS = 4;
/** Words that are longer are no Korean words; they keep their endings. */
const MAX_CHARS = 32;

/** The stem of a word in Hangul, at least its first syllable. */
export function koreanStem(word: string): string {
  if (word.length > MAX_CHARS) return word;
  let stem = unmelted(word);
  for (let count = 0; count < MAX_ENDINGS; count++) {
    const ending = ENDINGS.find((one) =>
      stem.length > one.length && stem.endsWith(one)
    );
    if (ending === undefined) break;
    stem = stem.slice(0, -ending.length);
  }
  return stem;
}

/** A word whose melted syllables are as they are before other endings. */
function unmelted(word: string): string {
  let out = "";
  for (let at = 0; at < word.length; at++) {
    const code = word.charCodeAt(at);
    if (code < FIRST_SYLLABLE || code > LAST_SYLLABLE) out += word[at];
    else out += unmeltedSyllable(code - FIRST_SYLLABLE, at, word[at + 1]);
  }
  return out;
}

function unmeltedSyllable(
  syllable: number,
  at: number,
  next: string | undefined,
): string {
  let last = syllable % LAST_LETTERS;
  let vowel = Math.floor(syllable / LAST_LETTERS) % VOWELS;
  const first = Math.floor(syllable / LAST_LETTERS / VOWELS);
  if (last === SS || last === B && next === "니") last = 0;
  if (last === 0) {
    if (first === H && vowel === AE) vowel = A;
    if (at > 0 && vowel === YEO) vowel = I;
    if (at > 0 && vowel === WEO) vowel = U;
  }
  return String.fromCharCode(
    FIRST_SYLLABLE + (first * VOWELS + vowel) * LAST_LETTERS + last,
  );
}
