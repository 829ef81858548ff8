/**
 * The built-in extractor: rules for English sentences. It needs no model and no
 * network, and never writes a word that the text has not, but for dates.
 *
 * @module
 */

import { NEVER_PAUSING } from "../../shared/slices.ts";
import { finish, finishInSlices, type Steps } from "../embed/steps.ts";
import { anchorDates } from "./date_anchor.ts";
import {
  type ExtractOptions,
  type Extractor,
  type Fact,
  MAX_FACTS,
} from "./extractor.ts";
import { factImportance } from "./fact_rules.ts";
import { DistinctTexts } from "./same_text.ts";
import { sentencesOf } from "./sentences.ts";

/** What of the options the rules look at. */
export type ReadOptions = Pick<
  ExtractOptions,
  "occurredAtMs" | "known" | "nowMs"
>;

/** Sentences between two steps. */
const SENTENCES_PER_STEP = 16;

/** Finds facts by rules. */
export class RuleExtractor implements Extractor {
  /** Says that no model is at work. */
  readonly name = "rules";

  /** Sentences that state a lasting fact; see {@linkcode extractByRules}. */
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
 * The sentences of a text that state a lasting fact, in their order. Where there
 * are more than fit, those that matter less are left out first.
 */
export function extractByRules(
  text: string,
  options: ReadOptions,
): readonly Fact[] {
  return finish(extractingSteps(text, options));
}

/** The steps to what `extractByRules()` gives. */
function* extractingSteps(
  text: string,
  options: ReadOptions,
): Steps<readonly Fact[]> {
  const { occurredAtMs, known, nowMs } = options;
  const distinct = new DistinctTexts(known);
  const candidates: Fact[] = [];
  const sentences = yield* sentencesOf(text);
  for (const [at, { text: sentence, speaker }] of sentences.entries()) {
    if (at % SENTENCES_PER_STEP === 0) yield;
    const importance = factImportance(sentence);
    if (importance === undefined) continue;
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
