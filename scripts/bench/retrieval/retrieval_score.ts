/**
 * How well memories were found, against what should have been.
 *
 * @module
 */

/** What was found for a question. */
export interface Found {
  /** Where it was looked for. */
  readonly namespace: string;
  /** What kind of question it is. */
  readonly category: string;
  /** The memories that answer it. */
  readonly gold: readonly string[];
  /** The memories that were found, the best first. */
  readonly ranked: readonly string[];
}

/** Scores of questions, each from 0 to 1. */
export interface RetrievalScore {
  /** How many questions. */
  readonly questions: number;
  /** The share of questions with any gold among the first k. */
  readonly anyAt: Readonly<Record<number, number>>;
  /** The share of gold among the first k, as the mean of the questions. */
  readonly recallAt: Readonly<Record<number, number>>;
  /** The mean of 1 by the place of the first gold; 0 where none was found. */
  readonly meanReciprocalRank: number;
}

/** The numbers of memories that are looked at. */
export const CUTS = [1, 5, 10, 20] as const;

/** Scores what was found. */
export function scoreOf(found: readonly Found[]): RetrievalScore {
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

/** Scores of what has the same category, or namespace, in the order of their names. */
export function scoresBy(
  group: "category" | "namespace",
  found: readonly Found[],
): ReadonlyMap<string, RetrievalScore> {
  const names = [...new Set(found.map((one) => one[group]))].sort();
  return new Map(
    names.map((name) => [
      name,
      scoreOf(found.filter((one) => one[group] === name)),
    ]),
  );
}
