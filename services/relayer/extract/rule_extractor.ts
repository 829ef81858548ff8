/**
 * The built-in extractor: it finds facts by rules for sentences, in English and,
 * more roughly, in some other languages. It needs no model and no network, and
 * adds no words to those of the text except dates.
 *
 * @module
 */

import { NEVER_PAUSING } from "../../shared/slices.ts";
import { finishInSlices, type Steps } from "../concurrency/bounded_work.ts";
import {
  type ExtractOptions,
  type Extractor,
  type Fact,
  MAX_FACTS,
} from "./extractor.ts";
import { DistinctTexts, splitSentences } from "./sentences.ts";
import { classifySentence } from "./statement_rules.ts";

/** The importance of a fact, by its class. */
export const IMPORTANCE = { high: 0.9, middle: 0.5, low: 0.2 } as const;

const MIN_WORDS = 3;
/** The same for sentences of scripts that have no blanks between words. */
const MIN_CHARS_WITHOUT_BLANKS = 5;
const WITHOUT_BLANKS =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}]/u;
/** What people say before a thing that is to be remembered. */
const REMEMBER =
  /^(?:(?:please|bitte|por favor|per favore|s['’]il te pla[iî]t),? )?(?:(?:remember|note|don['’]?t forget|keep in mind)(?: that\b)?|merk(?:e)? dir,? dass|denk daran,? dass|souviens-toi que|n['’]oublie pas que|recuerda que|no olvides que|ricorda(?:ti)? che|lembr[ae](?:-te|-se)? (?:de )?que|(?:请)?记住|請記住)[:,，：]?\s*/iu;
const MAX_CHARS = 1_000;

const QUESTION =
  /\?["'”’)\]]*$|^(?:who|what|when|where|why|how|which|can you|could you|would you|will you|do you|does|did|is there|are there|shall|should we)\b/i;
const REQUEST =
  /^(?:please|tell me|show me|give me|write|explain|help me|let me know|remind me|ignore)\b/i;
const SMALL_TALK =
  /^(?:hi|hello|hey|thanks|thank you|ok|okay|sure|great|cool|nice|wow|bye|goodbye|good (?:morning|evening|night|luck|to)|see you|sounds good|no problem|you['’]?re welcome|haha|lol|how are you|i see|got it|of course|sorry)\b/i;
/**
 * The most words of a sentence that is dropped for beginning with small talk. A
 * longer one may hold a fact after the greeting.
 */
const SHORT_SMALL_TALK_WORDS = 6;
const PASSING_MOOD =
  /\b(?:i['’]m|i am|we['’]re|we are|(?:he|she|they)(?:['’](?:s|re)| is| are)) (?:so |very |really |just |a bit |not )*(?:tired|hungry|thirsty|fine|good|ok|okay|sorry|happy|sad|bored|busy|here|back|glad|sure|ready|late|done|excited|afraid|looking forward)\b/i;
const OPINION =
  /^(?:i think|i guess|i feel|i hope|i wonder|i suppose|maybe|perhaps)\b/i;

/** A pronoun that shows that a sentence is about a person. */
const PERSON =
  /\b(?:I|I['’](?:m|ve|d|ll)|me|my|mine|we|we['’](?:re|ve|d|ll)|us|our|he|she|they|his|her|their|him|them)\b/i;
/**
 * A name at the beginning of a sentence, not a word that is only capitalized
 * there.
 */
const NAME =
  /^(?!(?:The|This|That|These|Those|There|It|Its|A|An|In|On|At|If|And|But|So|Then|When|While|Today|Yesterday|Tomorrow|Yes|No|Not|Now|Here)\b)(?:(?:Mr|Mrs|Ms|Dr|Prof)\.? )?\p{Lu}[\p{L}'’-]+(?: (?:and )?\p{Lu}[\p{L}'’-]+)* \p{Ll}/u;

const KIN =
  "wife|husband|partner|girlfriend|boyfriend|fianc[eé]e?|son|daughter|child|children|kids?|mother|father|mom|mum|dad|parents?|sister|brother|siblings?|grand\\w+|aunt|uncle|cousin|dog|cat|pet";

const HIGH: readonly RegExp[] = [
  /\b(?:name|birthday|age|phone number|email|address|job|profession|nationality) (?:is|was)\b/i,
  /\b(?:call me|goes by|known as)\b/i,
  /\b(?:i['’]m|i am|am|is|are) (?:an? |the )?(?:\p{L}+ ){0,2}(?:allerg\w+|vegan|vegetarian|diabetic|married|divorced|engaged|pregnant|retired|engineer|teacher|doctor|nurse|student|designer|developer|manager|lawyer|artist|writer|founder|ceo|cto)\b/iu,
  /\b(?:i['’]m|i am|is|are|comes?|came) from \p{Lu}/iu,
  /\b(?:allerg(?:y|ic)|intoleran(?:t|ce)|diagnosed|medication|blood type)\b/i,
  /\b(?:live[sd]?|living|moved|moving|relocat\w+|resides?|settled|grew up) (?:in|to|at|near|from|with|here|there)\b/i,
  /\bborn (?:in|on)\b/i,
  /\b(?:work|works|worked|working) (?:at|for|as|in|on|with)\b/i,
  /\b(?:graduated|studies|studied|studying|got (?:a|the) (?:new )?job|hired|promoted|quit|resigned|retired)\b/i,
  new RegExp(`\\b(?:my|his|her|their|our) (?:\\w+ )?(?:${KIN})\\b`, "i"),
  new RegExp(`\\b(?:have|has|had|['’]ve) (?:\\w+ ){0,2}(?:${KIN})s?\\b`, "i"),
  /\b(?:married|engaged to|divorced|adopted|passed away|died)\b/i,
];

const MIDDLE: readonly RegExp[] = [
  /\b(?:my|our) (?:[\p{L}'’-]+ ){1,4}(?:is|are|was|were)\b/iu,
  /\b(?:likes?|liked|loves?|loved|prefers?|preferred|enjoys?|enjoyed|hates?|hated|dislikes?|adores?|can['’]?t stand|favou?rite|fan of|interested in|fond of)\b/i,
  /\b(?:always|never|usually|every (?:day|morning|evening|night|week|weekend|month|year|monday|tuesday|wednesday|thursday|friday|saturday|sunday)|allowed|habit)\b/i,
  /\b(?:don['’]?t|doesn['’]?t|do not|does not) (?:eat|drink|like|want|use|have|own|smoke|speak)\b/i,
  /\b(?:decided|decides|agreed|chose|chosen|settled on|committed|promised|we(?:['’]ll| will) (?:use|go with))\b/i,
  /\b(?:plans?|planned|planning|going to|intends?|aims?|wants? to|hopes? to|will|['’]ll|booked|scheduled|deadline|appointment|meeting|flight|due (?:on|by))\b/i,
  /\b(?:owns?|bought|has|have|had|got|drives?|speaks?|plays?|uses?|learn(?:s|ed|ing)?|goal|project)\b/i,
  /\b(?:started|stopped|began|joined|left) /i,
];

const LOW: readonly RegExp[] = [
  /\b(?:went|visited|met|saw|read|watched|tried|finished|made|cooked|attended|ran|won|lost|found|heard|talked|spoke|told|said|helped|travel(?:l?ed)|wrote|built)\b/i,
];

/**
 * How much a sentence matters as a fact: 0.9 for who a person is, 0.5 for what
 * a person likes, has, plans or decided, 0.2 for what a person did; `undefined`
 * when it is not a fact.
 *
 * The rules tell lasting facts from small talk. They look at words, not at
 * meaning: they miss facts that are put in other words, and accept some
 * sentences that are not facts.
 *
 * @param keep Whether sentences are kept that no rule fits.
 */
function factImportance(
  sentence: string,
  keep: NonNullable<ExtractOptions["keep"]>,
): number | undefined {
  const words = sentence.split(/\s+/).length;
  const isShort = WITHOUT_BLANKS.test(sentence)
    ? [...sentence].length < MIN_CHARS_WITHOUT_BLANKS
    : words < MIN_WORDS;
  if (isShort || sentence.length > MAX_CHARS) return undefined;
  if (QUESTION.test(sentence) || REQUEST.test(sentence)) return undefined;
  if (SMALL_TALK.test(sentence) && words <= SHORT_SMALL_TALK_WORDS) {
    return undefined;
  }
  const english = englishImportance(sentence);
  if (english !== undefined) return english;
  const statement = classifySentence(sentence);
  if (statement === "lasting") return IMPORTANCE.high;
  const isPassing = PASSING_MOOD.test(sentence) || OPINION.test(sentence);
  if (statement === "statement" && !isPassing) return IMPORTANCE.middle;
  return keep === "all" && statement !== "other" ? IMPORTANCE.low : undefined;
}

function englishImportance(sentence: string): number | undefined {
  if (!PERSON.test(sentence) && !NAME.test(sentence)) return undefined;
  const matches = (rules: readonly RegExp[]) =>
    rules.some((rule) => rule.test(sentence));
  if (matches(HIGH)) return IMPORTANCE.high;
  if (PASSING_MOOD.test(sentence) || OPINION.test(sentence)) return undefined;
  if (matches(MIDDLE)) return IMPORTANCE.middle;
  return matches(LOW) ? IMPORTANCE.low : undefined;
}

const DAY_MS = 86_400_000;
const WEEKDAYS = [
  "sunday",
  "monday",
  "tuesday",
  "wednesday",
  "thursday",
  "friday",
  "saturday",
];
const NUMBERS = [
  "zero",
  "one",
  "two",
  "three",
  "four",
  "five",
  "six",
  "seven",
  "eight",
  "nine",
  "ten",
];
const DAY = WEEKDAYS.join("|");
const COUNT = `\\d{1,3}|an?|${NUMBERS.join("|")}`;
const UNIT = "days?|weeks?|months?|years?";

/**
 * Words for a date relative to the present, without a date behind them. The
 * longest come first, as "the day after tomorrow" holds "tomorrow".
 */
const RELATIVE = new RegExp(
  `\\b(?:(?:the )?day (?:after tomorrow|before yesterday)|today|tonight|tomorrow|yesterday` +
    `|(?:last|next|this) (?:${DAY}|week|month|year)` +
    `|in (?:${COUNT}) (?:${UNIT})|(?:${COUNT}) (?:${UNIT}) ago)\\b(?! \\()`,
  "gi",
);

/**
 * Puts dates behind words such as "tomorrow" or "last month", in the form
 * `2026-11-21`, `week of 2026-11-16`, `2026-11` or `2026`, by the UTC calendar.
 *
 * @param atMs When the text was said, in milliseconds since the epoch.
 */
export function anchorDates(text: string, atMs: number): string {
  return text.replace(RELATIVE, (words) => {
    const date = parseDate(words.toLowerCase(), atMs);
    return date === undefined ? words : `${words} (${date})`;
  });
}

function parseDate(words: string, atMs: number): string | undefined {
  const days = FIXED_DAYS.find(([pattern]) => pattern.test(words))?.[1];
  if (days !== undefined) return dayText(atMs + days * DAY_MS);
  const counted = /^(?:in )?(\S+) (day|week|month|year)s?( ago)?$/.exec(words);
  if (counted !== null && /^in | ago$/.test(words)) {
    const [, count = "", unit = "", ago] = counted;
    const sign = ago === undefined ? 1 : -1;
    return shifted(atMs, { unit, by: sign * parseNumber(count) });
  }
  const [direction = "", what = ""] = words.split(" ");
  const by = direction === "last" ? -1 : direction === "next" ? 1 : 0;
  const weekday = WEEKDAYS.indexOf(what);
  if (weekday >= 0) return dayText(weekdayMs(atMs, { weekday, by }));
  return what === "week"
    ? `week of ${dayText(mondayMs(atMs) + by * 7 * DAY_MS)}`
    : shifted(atMs, { unit: what, by });
}

const FIXED_DAYS: readonly (readonly [RegExp, number])[] = [
  [/after tomorrow/, 2],
  [/before yesterday/, -2],
  [/tomorrow/, 1],
  [/yesterday/, -1],
  [/today|tonight/, 0],
];

function parseNumber(word: string): number {
  if (word === "a" || word === "an") return 1;
  const at = NUMBERS.indexOf(word);
  return at >= 0 ? at : Number(word);
}

/**
 * The date that many units away. Counted months and years give
 * `2026-11` or `2026`, as they name no certain day.
 */
function shifted(
  atMs: number,
  options: { readonly unit: string; readonly by: number },
): string | undefined {
  const { unit, by } = options;
  const at = new Date(atMs);
  const year = at.getUTCFullYear();
  if (unit === "day") return dayText(atMs + by * DAY_MS);
  if (unit === "week") return dayText(atMs + by * 7 * DAY_MS);
  const monthMs = Date.UTC(year, at.getUTCMonth() + by, 1);
  return unit === "month" ? dayText(monthMs)?.slice(0, -3) : `${year + by}`;
}

function weekdayMs(
  atMs: number,
  options: { readonly weekday: number; readonly by: number },
): number {
  const { weekday, by } = options;
  const today = new Date(atMs).getUTCDay();
  const ahead = (weekday - today + 7) % 7;
  if (by < 0) return atMs + (ahead - 7) * DAY_MS;
  return atMs + (by > 0 && ahead === 0 ? 7 : ahead) * DAY_MS;
}

function mondayMs(atMs: number): number {
  const today = new Date(atMs).getUTCDay();
  return atMs - ((today + 6) % 7) * DAY_MS;
}

function dayText(atMs: number): string | undefined {
  const date = new Date(atMs);
  return Number.isNaN(date.getTime())
    ? undefined
    : date.toISOString().replace(/T.*/, "");
}

/** The options that the rules use. */
type ReadOptions = Pick<
  ExtractOptions,
  "occurredAtMs" | "known" | "nowMs" | "keep"
>;

/** Number of sentences that are read in one step. */
const SENTENCES_PER_STEP = 16;

/** Finds facts by rules for sentences. */
export class RuleExtractor implements Extractor {
  /** Says that no model is at work. */
  readonly name = "rules";

  /**
   * Returns sentences that state a lasting fact; see
   * {@linkcode extractingSteps}.
   */
  async extract(
    text: string,
    options: ExtractOptions,
  ): Promise<{ readonly kind: "ok"; readonly facts: readonly Fact[] }> {
    const { pausing = NEVER_PAUSING, signal } = options;
    const facts = await finishInSlices(extractingSteps(text, options), {
      pausing,
      signal,
    });
    return { kind: "ok", facts };
  }
}

/**
 * Finds, in steps, the sentences of a text that state a lasting fact, and
 * returns them in the order of the text. Where there are more than
 * {@linkcode MAX_FACTS}, those of least importance are left out.
 */
export function* extractingSteps(
  text: string,
  options: ReadOptions,
): Steps<readonly Fact[]> {
  const { occurredAtMs, known, nowMs, keep = "statements" } = options;
  const distinct = new DistinctTexts(known);
  const candidates: Fact[] = [];
  const sentences = yield* splitSentences(text);
  for (const [at, { text, speaker }] of sentences.entries()) {
    if (at % SENTENCES_PER_STEP === 0) yield;
    const sentence = text.replace(REMEMBER, "");
    const isAsked = sentence !== text && sentence !== "";
    const found = factImportance(sentence, isAsked ? "all" : keep);
    if (found === undefined) continue;
    const importance = isAsked ? Math.max(found, IMPORTANCE.middle) : found;
    const dated = anchorDates(sentence, occurredAtMs ?? nowMs);
    const fact = speaker === undefined ? dated : `${speaker}: ${dated}`;
    candidates.push({ text: fact, importance });
  }
  const kept = new Set<Fact>();
  for (const fact of candidates.toSorted(byImportance)) {
    if (kept.size === MAX_FACTS) break;
    yield;
    if (distinct.add(fact.text)) kept.add(fact);
  }
  return candidates.filter((fact) => kept.has(fact));
}

function byImportance(left: Fact, right: Fact): number {
  return right.importance - left.importance;
}
