/**
 * English words that say little of what a text is about.
 *
 * @module
 */

const WORDS =
  "a about after again all also am an and any are as at be because " +
  "been before being but by can could did do does doing down during each few " +
  "for from further had has have having he her here hers him his how i if in " +
  "into is it its just me more most my no nor not of off on once only or other " +
  "our out over own same she should so some such than that the their them then " +
  "there these they this those through to too under until up very was we were " +
  "what when where which while who whom why will with would you your " +
  "im ive id ill youre youve dont doesnt didnt isnt wasnt cant couldnt wont " +
  "thats whats theyre weve were hes shes lets";

const STOP_WORDS: ReadonlySet<string> = new Set(WORDS.split(" "));

/** Whether a word in lower case and without apostrophes says little. */
export function isStopWord(word: string): boolean {
  return STOP_WORDS.has(word);
}
