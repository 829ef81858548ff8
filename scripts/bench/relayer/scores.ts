/**
 * Scores how well retrieval found the memories that answer questions.
 *
 * @module
 */

/** What was found for one question. */
export interface Found {
  /** The namespace that was searched. */
  readonly namespace: string;
  /** The kind of the question. */
  readonly category: string;
  /** The ids of the memories that answer the question. */
  readonly gold: readonly string[];
  /** The ids of the memories that were found, the best first. */
  readonly ranked: readonly string[];
}

/** Scores of questions, each from 0 to 1. */
export interface RetrievalScore {
  /** Number of questions. */
  readonly questions: number;
  /**
   * For each cut k: the share of questions with at least one of their answers
   * among the first k results.
   */
  readonly anyAt: Readonly<Record<number, number>>;
  /**
   * For each cut k: the share of a question's answers that are among the first
   * k results, averaged over the questions.
   */
  readonly recallAt: Readonly<Record<number, number>>;
  /**
   * The mean reciprocal rank: 1 divided by the rank of the first answer, or 0
   * when no answer was found, averaged over the questions.
   */
  readonly meanReciprocalRank: number;
}

/** The cuts: how many of the first results are counted. */
export const CUTS = [1, 5, 10, 20] as const;

/** Computes the scores of a list of questions. */
export function computeScore(found: readonly Found[]): RetrievalScore {
  const mean = (of: (one: Found) => number): number =>
    found.length === 0
      ? 0
      : found.reduce((sum, one) => sum + of(one), 0) / found.length;
  const atCuts = (of: (hits: number, gold: number) => number) =>
    Object.fromEntries(CUTS.map((cut) => [
      cut,
      mean(({ gold, ranked }) => {
        const first = new Set(ranked.slice(0, cut));
        return of(gold.filter((id) => first.has(id)).length, gold.length);
      }),
    ]));
  return {
    questions: found.length,
    anyAt: atCuts((hits) => hits > 0 ? 1 : 0),
    recallAt: atCuts((hits, gold) => hits / gold),
    meanReciprocalRank: mean(({ gold, ranked }) => {
      const place = ranked.findIndex((id) => gold.includes(id));
      return place < 0 ? 0 : 1 / (place + 1);
    }),
  };
}

/**
 * Computes the scores of each category, or of each namespace, in the order of
 * their names.
 */
export function scoresBy(
  group: "category" | "namespace",
  found: readonly Found[],
): ReadonlyMap<string, RetrievalScore> {
  const names = [...new Set(found.map((one) => one[group]))].sort();
  return new Map(
    names.map((name) => [
      name,
      computeScore(found.filter((one) => one[group] === name)),
    ]),
  );
}
