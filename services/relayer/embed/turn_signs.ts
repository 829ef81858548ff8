/**
 * The signs of a turn in a conversation: who speaks, what is said, whether it
 * asks something or tells a time; and whether a question asks for a time.
 *
 * @module
 */

/** What a text shows without its words being looked up. */
export interface TurnSigns {
  /** Who speaks, where a name and a colon begin the text. */
  readonly speaker: string | undefined;
  /** The text behind the speaker's name; without a name all of it. */
  readonly said: string;
  /** Whether what is said ends in a question. */
  readonly isQuestion: boolean;
  /** Whether what is said tells when something happens. */
  readonly tellsTime: boolean;
  /** Whether it says that something is no longer as it was. */
  readonly tellsChange: boolean;
  /**
   * Whether it is said by someone to someone, as far as can be told: it has "I"
   * or "you", greets, answers with a yes, asks, or is in a script whose words
   * for that are not known. Notes say "we" and "our" as well.
   */
  readonly isPersonal: boolean;
}

const MAX_HEAD_CHARS = 120;
/**
 * The colon that ends a speaker's name: a blank or the end of the line follows
 * it, unlike one within a time.
 */
const HEAD_END = /:(?:\*\*)?\s/;
const NAME =
  /^\p{Lu}[\p{L}\p{M}'’.-]{0,39}(?: \p{Lu}[\p{L}\p{M}'’.-]{0,39}){0,2}$/u;
/** In chats of programs names are often in lower case, and marked. */
const MARKED_NAME = /^(?:@|<)([\p{L}\p{M}\p{N}_.-]{1,40})>?$/u;
/** A name as people write it who use no capitals; a label looks the same. */
const LOWER_NAME = /^\p{Ll}[\p{L}\p{M}]{1,19}$/u;
const NICK_HEAD = /^<[\p{L}\p{M}\p{N}_.-]{1,40}>\s/u;
const ROLES = new Set(
  "user assistant human ai bot agent system customer client support".split(" "),
);
/** The time at the beginning of a message, as exports of chats have it. */
const STAMP =
  /^(?:\[[^[\]]{0,60}\]|\([^()]{0,60}\)|\d{1,4}[-./:]\d[\dT:.,/+Z -]{0,36}(?:[ap]\.?m\.?)?)[\s,|–-]*/iu;
const NOTE = / (?:\([^()]{0,80}\)|\[[^[\]]{0,80}\])$/;
/**
 * Words that begin notes as a name begins turns; names of people are not among
 * them.
 */
const LABELS = new Set(
  [
    "note notes todo to-do task tasks idea fact preference project reminder meeting",
    "decision question answer summary update warning tip topic subject title date time",
    "place address name email phone goal event rule result error info context background",
    "problem solution action work home family health food hobby travel recipe important",
    "notiz aufgabe idee frage antwort hinweis termin projekt thema ziel fehler erinnerung",
    "betreff rezept arbeit familie gesundheit reise wichtig vorliebe entscheidung problem",
    "tâche idée réponse rappel projet sujet but recette travail famille santé voyage",
    "nota tarea pregunta respuesta recordatorio proyecto tema objetivo receta trabajo",
    "familia salud viaje préférence preferencia décision decisión",
    "planning done fix feat chore docs test refactor re ps fyi tldr source url http https",
    "example step version input output return usage default key value name cause effect",
    "monday tuesday wednesday thursday friday saturday sunday weekend",
    "january february march july september october november december",
    "montag dienstag mittwoch donnerstag freitag samstag sonntag wochenende",
    "januar februar märz juni juli september oktober november dezember",
    "lundi mardi mercredi jeudi vendredi samedi dimanche",
    "janvier février mars avril juin juillet août septembre octobre novembre décembre",
    "lunes martes miércoles jueves viernes sábado domingo",
    "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre",
    "diciembre",
  ].join(" ").split(" "),
);
/** Characters of what is said that are searched for a time. */
const MAX_TIME_CHARS = 4_096;
const TELLS_TIME = new RegExp(
  "(?<![\\p{L}\\p{N}])(?:" + [
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
  ].join("|") + ")s?(?![\\p{L}\\p{N}])",
  "iu",
);
/**
 * A question mark at the end; what is in brackets behind it is no part of what
 * is said.
 */
const ENDS_ASKING = /\?["'”’)\s]{0,8}(?:\([^()]{0,2000}\)\s*)?$/;
/** How much of the end is looked at for a question mark. */
const MAX_END_CHARS = 2_100;

const ASKS_TIME = new RegExp(
  "^[\\s¿]*(?:" + [
    "when|how long|since when|(?:what|which) (?:year|month|day|date|time)",
    "wann|seit wann|bis wann|wie lange|(?:in )?welche[mnrs]? (?:jahr|monat|tag|datum)",
    "quand|depuis quand|combien de temps|(?:en )?quelle? (?:année|mois|jour|date)",
    "cuándo|cuando|desde cuándo|cuánto tiempo|(?:en )?qué (?:año|mes|día|fecha)",
  ].join("|") + ")(?![\\p{L}\\p{N}])",
  "iu",
);

const TELLS_CHANGE = anyOf([
  "now|nowadays|actually|since|instead|anymore|no longer|as of|from now on",
  "moved|changed|switched|replaced|renamed|became|correction|new",
  "jetzt|nun|inzwischen|mittlerweile|seit|stattdessen|nicht mehr|eigentlich|ab sofort",
  "umgezogen|gezogen|gewechselt|geändert|ersetzt|umbenannt|neue[mnrs]?",
  "maintenant|désormais|depuis|en fait|ne .{1,30} plus|déménagé|changé|remplacé|nouve(?:au|l|lle)",
  "ahora|actualmente|desde|en realidad|ya no|mudado|mudó|mudé|cambió|cambié|cambiado|nuev[oa]",
]);
const IS_PERSONAL = anyOf([
  "i|i['’]?m|i['’]?ve|i['’]?ll|i['’]?d|me|you|u|your|yours|you['’]re|let['’]?s|thanks|thx|hey|hi|lol|yes|yeah|no|ok|okay",
  "ich|mir|mich|du|dir|dich|dein(?:e[mnrs]?)?|euch|danke|hallo|ja|nein|nee|ok",
  "je|j['’].{1,20}|moi|tu|toi|vous|votre|vos|merci|salut|oui|non",
  "yo|mí|tú|te|gracias|hola|sí",
]);
const LATIN_LETTER = /\p{Script=Latin}/u;

/** Matches any of the words, whole and in any case. */
function anyOf(words: readonly string[]): RegExp {
  return new RegExp(
    `(?<![\\p{L}\\p{N}])(?:${words.join("|")})(?![\\p{L}\\p{N}])`,
    "iu",
  );
}

/** The signs of a text. */
export function turnSignsOf(text: string): TurnSigns {
  const { speaker, said } = partsOf(text);
  const isQuestion = ENDS_ASKING.test(said.slice(-MAX_END_CHARS));
  const beginning = said.slice(0, MAX_TIME_CHARS);
  return {
    ...{ speaker, said, isQuestion },
    tellsTime: TELLS_TIME.test(beginning),
    tellsChange: TELLS_CHANGE.test(beginning),
    isPersonal: isQuestion || IS_PERSONAL.test(beginning) ||
      !LATIN_LETTER.test(beginning),
  };
}

/** Whether a question asks when or how long. */
export function asksTime(question: string): boolean {
  return ASKS_TIME.test(question);
}

/**
 * The name before the colon that begins a text, and what is said after it;
 * without a name all of the text. A time may stand before the name or in
 * brackets after it, as in `[12/05/2031, 18:02] Ann: hello`, `8 May, Ann (by
 * phone): hello`, `<ann> hello` and `user: hello`.
 */
function partsOf(text: string): {
  readonly speaker: string | undefined;
  readonly said: string;
} {
  const begin = text.slice(0, MAX_HEAD_CHARS);
  const rest = begin.replace(STAMP, "");
  const nick = NICK_HEAD.exec(rest)?.[0];
  const end = HEAD_END.exec(rest);
  const head = nick ?? (end === null ? undefined : rest.slice(0, end.index));
  const speaker = head === undefined ? undefined : nameOf(head);
  if (head === undefined || speaker === undefined) {
    return { speaker: undefined, said: text };
  }
  const headChars = nick?.length ?? head.length + (end?.[0].length ?? 0);
  const stampChars = begin.length - rest.length;
  return { speaker, said: text.slice(stampChars + headChars) };
}

/** The name that a head ends in; undefined where that is no name. */
function nameOf(head: string): string | undefined {
  const bare = head.replace(NOTE, "");
  const name = bare.slice(bare.lastIndexOf(",") + 1).trim()
    .replace(/^\*\*/, "").replace(/\*\*$/, "");
  const marked = MARKED_NAME.exec(name)?.[1];
  const lower = name.toLowerCase();
  if (marked !== undefined) return marked;
  if (ROLES.has(lower)) return lower;
  if (LABELS.has(lower)) return undefined;
  return NAME.test(name) || LOWER_NAME.test(name) ? name : undefined;
}
