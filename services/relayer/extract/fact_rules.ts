/**
 * The rules that tell lasting facts from small talk, for English. They look at words,
 * not at meaning: they miss facts that are put in other words, and take some
 * sentences for facts that are none.
 *
 * @module
 */

/** How much facts of a class matter. */
export const IMPORTANCE = { high: 0.9, middle: 0.5, low: 0.2 } as const;

const MIN_WORDS = 3;
const MAX_CHARS = 1_000;

const QUESTION =
  /\?["'”’)\]]*$|^(?:who|what|when|where|why|how|which|can you|could you|would you|will you|do you|does|did|is there|are there|shall|should we)\b/i;
const REQUEST =
  /^(?:please|tell me|show me|give me|write|explain|help me|let me know|remind me|ignore)\b/i;
const SMALL_TALK =
  /^(?:hi|hello|hey|thanks|thank you|ok|okay|sure|great|cool|nice|wow|bye|goodbye|good (?:morning|evening|night|luck|to)|see you|sounds good|no problem|you['’]?re welcome|haha|lol|how are you|i see|got it|of course|sorry)\b/i;
/** A greeting before a sentence that may hold a fact. */
const SHORT_SMALL_TALK_WORDS = 6;
const PASSING_MOOD =
  /\b(?:i['’]m|i am|we['’]re|we are|(?:he|she|they)(?:['’](?:s|re)| is| are)) (?:so |very |really |just |a bit |not )*(?:tired|hungry|thirsty|fine|good|ok|okay|sorry|happy|sad|bored|busy|here|back|glad|sure|ready|late|done|excited|afraid|looking forward)\b/i;
const OPINION =
  /^(?:i think|i guess|i feel|i hope|i wonder|i suppose|maybe|perhaps)\b/i;

/** Somebody whom a fact can be about. */
const PERSON =
  /\b(?:I|I['’](?:m|ve|d|ll)|me|my|mine|we|we['’](?:re|ve|d|ll)|us|our|he|she|they|his|her|their|him|them)\b/i;
/** A name at the beginning, and not a word that only stands there. */
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
 * How much a sentence matters as a fact: 0.9 for who somebody is, 0.5 for what
 * somebody likes, has, plans or decided, 0.2 for what somebody did; `undefined`
 * when it is none.
 */
export function factImportance(sentence: string): number | undefined {
  const words = sentence.split(/\s+/).length;
  if (words < MIN_WORDS || sentence.length > MAX_CHARS) return undefined;
  if (QUESTION.test(sentence) || REQUEST.test(sentence)) return undefined;
  if (SMALL_TALK.test(sentence) && words <= SHORT_SMALL_TALK_WORDS) {
    return undefined;
  }
  if (!PERSON.test(sentence) && !NAME.test(sentence)) return undefined;
  const matches = (rules: readonly RegExp[]) =>
    rules.some((rule) => rule.test(sentence));
  if (matches(HIGH)) return IMPORTANCE.high;
  if (PASSING_MOOD.test(sentence) || OPINION.test(sentence)) return undefined;
  if (matches(MIDDLE)) return IMPORTANCE.middle;
  return matches(LOW) ? IMPORTANCE.low : undefined;
}
