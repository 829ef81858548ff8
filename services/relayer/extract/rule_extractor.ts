/**
 * The built-in extractor: rules for English sentences. It needs no model and no
 * network, and never writes a word that the text has not, but for dates.
 *
 * @module
 */

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

/** Finds facts by rules. */
export class RuleExtractor implements Extractor {
  /** Says that no model is at work. */
  readonly name = "rules";

  /** Sentences that state a lasting fact; see {@linkcode extractByRules}. */
  extract(
    text: string,
    options: ExtractOptions,
  ): Promise<{ readonly kind: "ok"; readonly facts: readonly Fact[] }> {
    return Promise.resolve({
      kind: "ok",
      facts: extractByRules(text, options),
    });
  }
}

/**
 * The sentences of a text that state a lasting fact, in their order. Where there
 * are more than fit, those that matter less are left out first.
 */
export function extractByRules(
  text: string,
  options: Pick<ExtractOptions, "occurredAtMs" | "known" | "nowMs">,
): readonly Fact[] {
  const { occurredAtMs, known, nowMs } = options;
  const distinct = new DistinctTexts(known);
  const candidates: Fact[] = [];
  for (const { text: sentence, speaker } of sentencesOf(text)) {
    const importance = factImportance(sentence);
    if (importance === undefined) continue;
    const dated = anchorDates(sentence, occurredAtMs ?? nowMs);
    const fact = speaker === undefined ? dated : `${speaker}: ${dated}`;
    candidates.push({ text: fact, importance });
  }
  const kept = new Set<Fact>();
  for (const fact of candidates.toSorted(byImportance)) {
    if (kept.size === MAX_FACTS) break;
    if (distinct.add(fact.text)) kept.add(fact);
  }
  return candidates.filter((fact) => kept.has(fact));
}

function byImportance(left: Fact, right: Fact): number {
  return right.importance - left.importance;
}
