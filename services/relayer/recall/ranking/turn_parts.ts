/**
 * The parts of a turn in a conversation: who speaks, and what is said.
 *
 * @module
 */

/** The parts of a text. */
interface TurnParts {
  /** Who speaks, where a name and a colon begin the text. */
  readonly speaker: string | undefined;
  /** The text behind the speaker's name; without a name all of it. */
  readonly said: string;
}

/** Who speaks in chats of programs, whatever is said. */
export const ROLES: ReadonlySet<string> = new Set(
  "user assistant human ai bot agent system customer client support".split(" "),
);
const MAX_HEAD_CHARS = 120;
/**
 * The colon that ends a speaker's name: a blank or the end of the line follows
 * it, unlike one within a time.
 */
const HEAD_END = /:(?:\*\*)?\s/;
const NAME =
  /^\p{L}[\p{L}\p{M}'’._-]{0,39}(?:(?<=\p{L})\p{N}{1,4})?(?: \p{L}[\p{L}\p{M}'’.-]{0,39}){0,2}$/u;
/** In chats of programs names are often in lower case, and marked. */
const MARKED_NAME = /^(?:@|<)([\p{L}\p{M}\p{N}_.-]{1,40})>?$/u;
const NICK_HEAD = /^<[\p{L}\p{M}\p{N}_.-]{1,40}>\s/u;
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

/**
 * The name before the colon that begins a text, and what is said after it;
 * without a name all of the text. A time may stand before the name or in
 * brackets after it, as in `[12/05/2031, 18:02] Ann: hello`, `8 May, Ann (by
 * phone): hello`, `<ann> hello` and `user: hello`.
 */
export function splitTurn(text: string): TurnParts {
  const begin = text.slice(0, MAX_HEAD_CHARS);
  const rest = begin.replace(STAMP, "");
  const nick = NICK_HEAD.exec(rest)?.[0];
  const end = HEAD_END.exec(rest);
  const head = nick ?? (end === null ? undefined : rest.slice(0, end.index));
  const speaker = head === undefined ? undefined : parseName(head);
  if (head === undefined || speaker === undefined) {
    return { speaker: undefined, said: text };
  }
  const headChars = nick?.length ?? head.length + (end?.[0].length ?? 0);
  const stampChars = begin.length - rest.length;
  return { speaker, said: text.slice(stampChars + headChars) };
}

/** The name that a head ends in; undefined where that is no name. */
function parseName(head: string): string | undefined {
  const bare = head.replace(NOTE, "");
  const name = bare.slice(bare.lastIndexOf(",") + 1).trim()
    .replace(/^\*\*/, "").replace(/\*\*$/, "");
  const marked = MARKED_NAME.exec(name)?.[1];
  const lower = name.toLowerCase();
  if (marked !== undefined) return marked;
  if (ROLES.has(lower)) return lower;
  return NAME.test(name) && !LABELS.has(lower) ? name : undefined;
}
