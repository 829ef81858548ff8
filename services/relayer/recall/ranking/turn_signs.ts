/**
 * Signs of what is said in a memory, beside its words: that it asks, talks to
 * a listener, tells a time, or tells that something has changed; and whether a
 * question asks for a time. Stored words have them: a change of them needs another
 * version of words.
 *
 * @module
 */

/** The signs of a text. */
export interface Signs {
  /** Whether it asks, with a question mark at its end or without. */
  readonly isQuestion: boolean;
  /**
   * Whether it is said to a listener: it asks, or has words for who listens, as
   * notes of facts seldom have. Words for who writes are in notes, too.
   */
  readonly isTalk: boolean;
  /** Whether it says when something happens. */
  readonly tellsTime: boolean;
  /** Whether it has a word for who speaks as its subject. */
  readonly isOfSelf: boolean;
  /** Whether it has a number. */
  readonly tellsNumber: boolean;
  /** Whether it says where something is. */
  readonly tellsPlace: boolean;
  /** Whether it says that something is no longer as it was. */
  readonly tellsChange: boolean;
}

/**
 * A question mark at the end; what is in brackets behind it is no part of what
 * is said.
 */
const ENDS_ASKING = /[?？]["'”’)\s]{0,8}(?:\([^()]{0,2000}\)\s*)?$/;
/** How much of the end is looked at for a question mark. */
const MAX_END_CHARS = 2_100;
/** Characters of what is said that are searched for the other signs. */
const MAX_SEARCHED_CHARS = 4_096;

const TELLS_TIME = anyOf(
  [
    "yesterday|today|tomorrow|tonight|ago|last|next|since|weekend|week|month|year",
    "(?:mon|tues|wednes|thurs|fri|satur|sun)day",
    "january|february|march|april|june|july|august|september|october|november|december",
    "gestern|heute|morgen|vorgestern|übermorgen|seit|letzte[nrs]?|nächste[nrs]?|woche|monat|jahr",
    "montag|dienstag|mittwoch|donnerstag|freitag|samstag|sonntag",
    "januar|februar|märz|mai|juni|juli|oktober|dezember",
    "hier|aujourd['’]hui|demain|depuis|dernière?|prochaine?|semaine|mois|année",
    "lundi|mardi|mercredi|jeudi|vendredi|samedi|dimanche",
    "janvier|février|mars|avril|juin|juillet|août|septembre|octobre|novembre|décembre",
    "ayer|hoy|mañana|desde|pasad[oa]|próxim[oa]|semana|mes|año",
    "lunes|martes|miércoles|jueves|viernes|sábado|domingo",
    "enero|febrero|marzo|abril|mayo|junio|julio|agosto|septiembre|octubre|noviembre|diciembre",
  ].map((line) => `(?:${line})s?`),
);

/**
 * What people begin questions with that they end without a mark, in short
 * messages; little words and names may stand before it.
 */
const BEGINS_ASKING = new RegExp(
  "^(?:(?:ok|okay|so|and|but|btw|hey|hi|yo|oh|um|wait|also|cool|guys|und|aber|also|sag mal|hm+|ach|y|et|e|pero|mais)[\\s,.]+){0,3}(?:" +
    [
      "who(?:s|['’]s)?|whose|whom|what(?:s|['’]s)?(?! an? )|when(?:s|['’]s)?|where(?:s|['’]s)?|why|which|how(?:s|['’]s)?|since when|till when|any(?:one|body)|any (?:idea|news)",
      "(?:do|does|did|can|could|will|would|shall|should|is|are|was|were|have|has|had|may|am|arent|isnt|dont|doesnt|didnt|cant|wont)(?:n['’]t)? (?:u|you|ya|i|we|he|she|it|they|the|that|this|there|my|your|ur|our|any(?:one|body)?|some(?:one|body)|\\p{L}+ (?:still|already|have|know|want|need|coming|going))",
      "wer|wen|wem|wessen|was|wann|wo|wohin|woher|warum|wieso|weshalb|wie|welche[mnrs]?|seit wann|bis wann|um wie ?viel",
      "(?:hast|bist|kannst|willst|sollst|musst|magst|weißt|kommst|gehst|machst|nimmst|bringst|brauchst|fährst|holst|kennst) du|(?:habt|seid|könnt|wollt|kommt|geht|macht) ihr|(?:hat|ist|sind|kann|kommt|soll|sollen|wollen|haben|können|machen|gehen) (?:wir|wer|jemand|jmd|das|die|der|es|sie|er|noch|schon)",
      "qui|que|quoi|quand|où|pourquoi|comment|combien|quel(?:le)?s?|est-ce qu|t['’]as|tu (?:as|es|peux|veux|viens)",
      "quién(?:es)?|qué|cuándo|dónde|por qué|cómo|cuánt[oa]s?|cuál(?:es)?|chi|cosa|quando|dove|perché|come|quanto|quale|quem|onde|por que|como|qual",
      "кто|что|когда|где|куда|почему|зачем|как|сколько|какой|wie|wat|wanneer|waar|waarom|hoe|welke",
    ].join("|") + ")(?![\\p{L}\\p{M}\\p{N}'’])",
  "iu",
);
/** The same in languages whose questions are told by their middle or end. */
const ASKS_WITHIN =
  /(?:언제|어디|누가|누구|뭐|뭘|무슨|왜|어떻게|어때|얼마|몇)|[가-힣](?:까|냐|니|나요|가요|을래|할래|갈래|실래)$|[吗呢]$|(?:谁|什么|哪|怎么|几点)|(?:ですか|ますか|かな|の)$|(?:誰|何時|どこ|いつ|なぜ)/u;
/** A longer text without a mark may begin like a question, and be none. */
const MAX_UNMARKED_CHARS = 90;
const ENDS_ASSERTING = /[.!…:]\s*$/u;

/** Words for who speaks, as subjects. */
const OF_SELF = anyOf([
  "i|i['’](?:m|ll|ve|d)|im|ive|we|we['’](?:re|ve|ll)|ich|wir|je|j['’]\\p{L}+|nous|yo|nosotr[oa]s|io|noi|eu|nós",
  "ik|wij|jag|vi|jeg|minä|én|ben|я|мы|εγώ|나|난|나는|내가|저는|제가|우리는?",
]);

const TALKS = anyOf([
  "you|your|yours|u|ur|ya|lol|haha+|thanks|thx|ty|pls|please|hi|hey|hello|yes|yeah|yep|no|nope|ok|okay|oh|sorry|congrats",
  "du|dir|dich|dein(?:e[mnrs]?)?|euch|ihr|danke|hallo|hi|moin|ja|nein|nee?|jo|ach|bitte|oh|na",
  "toi|tu|te|t['’]\\p{L}+|vous|merci|salut|bonjour|mdr|oui|non|ah|d['’]accord",
  "tú|te|ti|vosotros|usted|gracias|hola|jaja+|sí|vale|claro|voi|grazie|ciao|sì|você|vocês|obrigad[oa]|sim|não",
  "jij|je|jou|jouw|jullie|bedankt|ja|nee|hoi|dig|tack|hej|deg|takk|tak|nej|nei",
  "sinä|sinun|kiitos|joo|te|köszi|igen|nem|tu|ție|da|mulțumesc|sen|sana|siz|teşekkürler|evet|hayır",
  "ты|тебе|тебя|вы|вам|спасибо|привет|да|нет|ага|εσύ|σου|ευχαριστώ|ναι|όχι",
  "(?:너|네|니|당신)(?:는|가|도|를|한테|랑|의|만)?|넌|네가|니가|응|아니|그래|헐|와",
]);
/**
 * Signs of talk without blanks around them: laughter, faces, and what ends
 * spoken sentences in Korean, Japanese and Chinese.
 */
const TALKS_WITHIN =
  /\p{Extended_Pictographic}|[ㅋㅎㅠㅜㅇㄱ]{2}|[가-힣](?:야|어|아|지|까|네|래|자|게|요|냐)(?=[\s.!~]|$)|君|[ねよ](?=[。！\s]|$)|[你您咱]|[吗吧呢啊](?=[。！\s]|$)|[:;]-?[)(D]/u;

/** Dates and times in numbers, as in chats, and words for them in Korean. */
const TELLS_CLOCK =
  /\d{1,2}[:.]\d{2}|\d(?:st|nd|rd|th|\.(?=\s|$))|\d ?(?:am|pm|uhr|h)(?![\p{L}])|(?<![\p{L}])(?:at|by|until|till|from|um|ab|bis|am) \d|\d ?[시일월년분]|[월화수목금토일]요일|[토일]욜|오늘|내일|어제|모레|지난|다음|주말|[今昨明]日|[年月]|(?<![\p{L}])(?:mon|tue|wed|thu|fri|sat|mo|di|mi|do|fr|sa|tmrw|tmr|tonite)(?![\p{L}])/iu;
const TELLS_NUMBER =
  /\p{N}|(?<![\p{L}])(?:two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|dozen|half|hundred|thousand|zwei|drei|vier|fünf|sechs|sieben|acht|neun|zehn|elf|zwölf|hundert|tausend|deux|trois|quatre|cinq|sept|huit|neuf|dix|cent|mille|dos|tres|cuatro|cinco|seis|siete|ocho|nueve|diez)(?![\p{L}])/iu;
const TELLS_PLACE = anyOf([
  "at|in|on|by|near|under|behind|beside|inside|outside|next to|across|between|to|from|here|there|home",
  "bei|im|beim|am|unter|unterm|hinter|neben|auf|aus|nach|zu|zum|zur|hier|dort|daheim",
  "à|au|aux|chez|dans|sous|sur|derrière|près|ici|en|bajo|sobre|detrás|junto|cerca|aquí|nel(?:la|lo)?|sotto|dietro|vicino|na|no|em",
  "в|на|под|у|за|около|op|naar|achter|onder|naast",
]);
const TELLS_PLACE_WITHIN =
  /[가-힣](?:에|에서|으로|집|역|동|앞|뒤|옆)(?=\s|$)|[在里]|[でに]/u;

const TELLS_CHANGE = anyOf([
  "now|nowadays|currently|moved|since|actually|no longer|any ?more|instead|changed|switched",
  "from now on|these days|by now|became|has become|replaced|new",
  "jetzt|nun|inzwischen|mittlerweile|umgezogen|(?:ge|um)zogen|seit|seitdem|nicht mehr|kein\\p{L}{0,2} mehr",
  "stattdessen|ab sofort|gewechselt|geändert|neue[nrsm]?|neuerdings|wurde zu",
  "maintenant|désormais|dorénavant|déménagé|depuis|en fait|plus d[eu']|n['’e]\\p{L}* plus|actuellement|changé|nouve(?:au|lle)",
  "ahora|actualmente|ya no|desde|en realidad|en vez|mud(?:é|ó|ado|aron)|cambi(?:é|ó|ado)|nuev[oa]",
  "ora|adesso|ormai|non più|trasferit[oaie]|da quando|invece|cambiato|nuov[oa]",
  "agora|atualmente|já não|não mais|mud(?:ei|ou)|desde|na verdade|nov[oa]",
  "nu|tegenwoordig|verhuisd|sinds|niet meer|geen \\p{L}+ meer|nieuwe?|numera|flyttade|flyttat|inte längre|flyttet|ikke lenger|ikke længere",
  "nykyään|muutti|enää|most már|költözött|már nem|acum|mutat|nu mai|artık|şimdi|taşındı",
  "теперь|сейчас|переехал[аи]?|больше не|сменил[аи]?|нов(?:ый|ая|ое)|τώρα|πλέον|μετακόμισ\\p{L}+",
]);
const TELLS_CHANGE_WITHIN =
  /이제|지금은|요즘|이사|더 ?이상|대신|바꿨|바뀌|사실은|부터는|引っ越し|今は|もう|変わ|搬[到家]|现在|現在|不再|改[成为]|换/u;

const ASKS_TIME = new RegExp(
  "^[\\s¿]*(?:" + [
    "when|how long|since when|(?:what|which) (?:year|month|day|date|time)",
    "wann|seit wann|bis wann|wie lange|(?:in )?welche[mnrs]? (?:jahr|monat|tag|datum)",
    "quand|depuis quand|combien de temps|(?:en )?quelle? (?:année|mois|jour|date)",
    "cuándo|cuando|desde cuándo|cuánto tiempo|(?:en )?qué (?:año|mes|día|fecha)",
  ].join("|") + ")(?![\\p{L}\\p{N}])",
  "iu",
);

/** The signs of what is said. */
export function detectSigns(said: string): Signs {
  const searched = said.slice(0, MAX_SEARCHED_CHARS);
  const isQuestion = ENDS_ASKING.test(said.slice(-MAX_END_CHARS)) ||
    asksUnmarked(said.trim());
  return {
    isQuestion,
    isTalk: isQuestion || TALKS.test(searched) || TALKS_WITHIN.test(searched),
    tellsTime: TELLS_TIME.test(searched) || TELLS_CLOCK.test(searched),
    isOfSelf: isOfSelf(searched),
    tellsNumber: TELLS_NUMBER.test(searched),
    tellsPlace: TELLS_PLACE.test(searched) || TELLS_PLACE_WITHIN.test(searched),
    tellsChange: TELLS_CHANGE.test(searched) ||
      TELLS_CHANGE_WITHIN.test(searched),
  };
}

function asksUnmarked(said: string): boolean {
  return said.length <= MAX_UNMARKED_CHARS && !ENDS_ASSERTING.test(said) &&
    (BEGINS_ASKING.test(said) || ASKS_WITHIN.test(said));
}

/** Whether a text has a word for who speaks, or who asks, as its subject. */
export function isOfSelf(text: string): boolean {
  return OF_SELF.test(text);
}

/** Whether a question asks when something happens, or for how long. */
export function asksTime(question: string): boolean {
  return ASKS_TIME.test(question);
}

/** A pattern that finds any of so many lists of words, whole. */
export function anyOf(lists: readonly string[]): RegExp {
  return new RegExp(
    `(?<![\\p{L}\\p{M}\\p{N}])(?:${lists.join("|")})(?![\\p{L}\\p{M}\\p{N}])`,
    "iu",
  );
}
