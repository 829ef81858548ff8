/**
 * Facts as a model writes them: one in a line, a word for how much it matters, a
 * tab, the fact.
 *
 * @module
 */

import { type Fact, MAX_FACTS } from "./extractor.ts";
import { IMPORTANCE } from "./fact_rules.ts";
import { DistinctTexts } from "./same_text.ts";

/** The words for how much a fact matters. */
export const BUCKETS = {
  core: IMPORTANCE.high,
  useful: IMPORTANCE.middle,
  minor: IMPORTANCE.low,
} as const;

/** What a model says when there are no facts. */
export const NONE = "NONE";

/** Options of {@linkcode parseFactLines}. */
export interface ParseFactLinesOptions {
  /** Texts that are remembered already. */
  readonly known: readonly string[];
  /** Whether the last line may have been cut off. */
  readonly isCut: boolean;
}

/** Many times what a model is asked for. */
const MAX_ANSWER_CHARS = 65_536;
const MAX_FACT_CHARS = 1_000;
/** Longer lines are none of ours. */
const MAX_LINE_CHARS = 2_000;
const LINE_END = /\r\n|[\n\r\u2028\u2029]/;
/** A list mark, the word with whatever stands around it, a separator, the fact. */
const LINE =
  /^[\s>]*(?:(?:[-*•]|\d{1,3}[.)])\s*)?["'`*[(]*(core|useful|minor)["'`*\])]*(?:\\t|[\s:|–—-])+(\S.*)$/i;
const NOTHING = /^["'`*]*none["'`*.]*$/i;

/**
 * The facts of an answer, without those that say what an earlier one or a known one
 * says; `undefined` when the answer is not of that form at all.
 */
export function parseFactLines(
  answer: string,
  options: ParseFactLinesOptions,
): readonly Fact[] | undefined {
  const lines = answer.slice(0, MAX_ANSWER_CHARS).split(LINE_END);
  const isCut = options.isCut || answer.length > MAX_ANSWER_CHARS;
  if (isCut && lines.length > 1) lines.pop();
  const found = lines.flatMap(factOf);
  const saysNone = lines.some((line) => NOTHING.test(line.trim()));
  if (found.length === 0 && !saysNone) return undefined;
  const distinct = new DistinctTexts(options.known);
  const facts: Fact[] = [];
  for (const fact of found) {
    // Each is compared with all before it, so there is an end to them.
    if (facts.length === MAX_FACTS) break;
    if (distinct.add(fact.text)) facts.push(fact);
  }
  return facts;
}

function factOf(line: string): readonly Fact[] {
  const match = line.length > MAX_LINE_CHARS ? null : LINE.exec(line);
  if (match === null) return [];
  const [, word = "", rest = ""] = match;
  const text = rest.trim();
  const importance = Object.entries(BUCKETS)
    .find(([bucket]) => bucket === word.toLowerCase())?.[1];
  const fits = text.length > 0 && text.length <= MAX_FACT_CHARS;
  return importance === undefined || !fits ? [] : [{ text, importance }];
}
