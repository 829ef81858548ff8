/**
 * Finds sentences whose subject is a clause, such as "What is long is parsed in
 * slices". They are hard to read; a named subject says the same: "Long bodies
 * are parsed in slices".
 *
 * @module
 */

/** The words that begin a clause which may stand as a subject. */
const FIRST = /^(?:What|Who|Whoever|Whatever|Whichever|Which|Whether|How)\s/;

/** Finite verbs that are hardly ever nouns. */
const VERB = new RegExp(
  "^(?:is|are|was|were|has|have|had|can|cannot|can't|may|must|does|do|did|" +
    "will|would|should|isn't|aren't|doesn't|don't|needs|gets|takes|goes|" +
    "stays|becomes|comes|tells|fails|begins|keeps|makes|gives|says|stands|" +
    "follows|arrives|belongs|happens)$",
);

/** Further verbs, when they follow "What" or "Who". */
const FIRST_VERB = new RegExp(
  "^(?:costs|differs|exists|expires|fits|hangs|holds|matters|reads|remains|" +
    "repeats|runs|sends|serves|waits|wants|writes|[a-z]{3,}ed)$",
);

/** Words after which a verb belongs to them, or is an infinitive. */
const BEFORE_VERB = new RegExp(
  "^(?:to|can|cannot|can't|may|must|will|would|should|has|have|not|still)$",
);

/** Words after which a further clause, with a verb of its own, follows. */
const FURTHER = new RegExp(
  "^(?:that|which|who|whom|whose|what|how|when|where|if|as|because|before|" +
    "after|until|while|than|whether|although|and|or|nor|but|since|unless|" +
    "so|though|once|whatever|however|it|they|we|you)$",
  "i",
);

/**
 * Returns the sentences of `text` whose subject is a clause. An empty line, a
 * cell of a table and an item of a list end a sentence; code in backquotes and
 * the targets of links do not count as words.
 */
export function findClauseSubjects(text: string): string[] {
  return text.split(/\n\s*\n|\n(?=\s*(?:[-*@|#]|\d+\.)\s)|\|/)
    .flatMap(findInParagraph);
}

function findInParagraph(paragraph: string): string[] {
  return paragraph
    .replaceAll(/`[^`]*`/g, "X")
    .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, "$1")
    .replaceAll(/\s+/g, " ")
    .split(/(?<=[.;:?!])\s+/)
    .map((sentence) => sentence.replace(/^[\s*_\-–"'(]+/, ""))
    .filter(hasClauseSubject);
}

/**
 * A clause that is a subject has a verb, and the sentence another one. Each
 * conjunction or pronoun accounts for one verb more.
 */
function hasClauseSubject(sentence: string): boolean {
  if (!FIRST.test(sentence) || sentence.endsWith("?")) return false;
  const words = sentence.replaceAll(/[,.;:!()*_"]/g, " ").trim().split(/\s+/);
  const isFirst = /^Wh(?:at|o)/.test(sentence);
  let surplus = -1;
  for (let at = 1; at < words.length; at++) {
    const word = words[at] ?? "";
    if (FURTHER.test(word)) surplus--;
    const isVerb = VERB.test(word) && !BEFORE_VERB.test(words[at - 1] ?? "");
    if (isVerb || isFirst && at === 1 && FIRST_VERB.test(word)) surplus++;
    if (surplus > 0) return true;
  }
  return false;
}
