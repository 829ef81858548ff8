/**
 * What a question asks for: a time, a number, a place; what holds now, or what
 * held once.
 *
 * @module
 */

import { listAccentedWords } from "../../embed/words.ts";
import { detectLanguage, type Language } from "./languages.ts";
import { anyOf, asksTime, type Signs } from "./turn_signs.ts";

const ASKS_NUMBER = anyOf([
  "how (?:much|many|old|big|long|high|heavy|far|tall|often)",
  "what (?:size|number|price|time|amount)",
  "wie ?(?:viele?|alt|groß|lang|hoch|schwer|weit|teuer|oft)|was kostet|welche (?:nummer|größe)",
  "combien|quel (?:âge|prix|numéro)|cuánt[oa]s?|qué (?:precio|número|edad)",
  "quant[oiae]s?|hoeveel|сколько",
]);
const ASKS_NUMBER_WITHIN = /얼마|몇|多少|几|いくら|何[人時歳]/u;
const ASKS_PLACE = anyOf([
  "where|wo|wohin|woher|où|d['’]où|dónde|adónde|dove|onde|где|куда|откуда",
  "waar|var|hvor",
]);
const ASKS_PLACE_WITHIN = /어디|哪|どこ/u;

/** What asks for the past, by language: German has "was" for another word. */
const ASKS_PAST: Readonly<Partial<Record<Language, RegExp>>> = {
  en: anyOf([
    "was|were|did|had|used to|before|previously|formerly|originally|earlier|ago",
  ]),
  de: anyOf(["war|waren|hatte|hatten|früher|vorher|zuvor|ursprünglich|damals"]),
  fr: anyOf(["était|étaient|avait|avaient|avant|autrefois"]),
  es: anyOf(["era|eran|estaba|estaban|tenía|tenían|antes|solía"]),
};

/**
 * Words of a question that say no more than that it asks for what holds now; in
 * Korean and Japanese also those that say what is asked for, which other
 * languages have among their little words.
 */
const ONLY_ASKS = anyOf([
  "now|nowadays|currently",
  "jetzt|nun|inzwischen|mittlerweile|derzeit|aktuell|momentan|gerade",
  "maintenant|actuellement|désormais|ahora|actualmente",
  "ora|adesso|agora|nu|이제|지금|요즘|теперь|сейчас|今|现在|現在",
  "어디|언제|누구|누가|뭐|뭐야|무엇|무슨|왜|어떻|어떻게|얼마|몇|いつ|どこ|誰|何",
]);

/** What a question asks for. */
export interface Asked {
  /** Signs that the answer has. */
  readonly signs: Readonly<
    Pick<Signs, "tellsTime" | "tellsNumber" | "tellsPlace">
  >;
  /** Whether it asks for what held once. */
  readonly isPast: boolean;
  /** Whether it asks for what holds now. */
  readonly isNow: boolean;
}

/** Tells what a question asks for. */
export function askedBy(question: string): Asked {
  const language = detectLanguage(
    listAccentedWords(question).map(({ text }) => text),
  );
  const isPast = ASKS_PAST[language ?? "en"]?.test(question) === true;
  const tellsTime = asksTime(question);
  return {
    signs: {
      tellsTime,
      tellsNumber: ASKS_NUMBER.test(question) ||
        ASKS_NUMBER_WITHIN.test(question),
      tellsPlace: ASKS_PLACE.test(question) || ASKS_PLACE_WITHIN.test(question),
    },
    isPast,
    isNow: !isPast && !tellsTime,
  };
}

/** Whether a word of a question says only that it asks, or asks for now. */
export function onlyAsks(word: string): boolean {
  return ONLY_ASKS.test(word);
}
