/**
 * Compares what several rankings find in one set of memories: as text tables,
 * and as the bars that the ranking of recall has to meet.
 *
 * @module
 */

import type { Bar } from "../tasks/bar.ts";
import { quantile } from "../tasks/load_job.ts";
import type { CorpusNamespace } from "./corpus.ts";
import type { MeasuredRetrieval } from "./measure_retrieval.ts";
import {
  CUTS,
  type Found,
  type RetrievalScore,
  scoreOf,
  scoresBy,
} from "./retrieval_score.ts";

/**
 * The rankings: `words` by plain BM25 alone; `vectors` by their cosine alone;
 * `fused` by both, as recall does it; `random` the same with vectors that carry
 * no meaning.
 */
export type RankingName = "words" | "vectors" | "fused" | "random";

/** A set of memories and questions, and what each ranking found in it. */
export interface ComparedSet {
  /** The name of the set. */
  readonly name: string;
  /**
   * Which bars the set is judged by: `own` is a set made for this project,
   * `chats` one of chats made for it, `changes` one of facts that changed, and
   * `conversations` is read from a file.
   */
  readonly kind: "own" | "chats" | "changes" | "conversations";
  /** The memories and questions of the set. */
  readonly namespaces: readonly CorpusNamespace[];
  /** What each ranking found. */
  readonly measured: ReadonlyMap<RankingName, MeasuredRetrieval>;
}

/**
 * The category of questions whose answer is not in the conversation; they do
 * not count in the headline figures.
 */
const UNANSWERABLE = "5";
/** The number of results that the bars count in. */
const BAR_CUT = 10;
const NAME_WIDTH = 18;
const CELL_WIDTH = 7;

/** Returns the results of the questions that have an answer. */
export function answerable(found: readonly Found[]): readonly Found[] {
  return found.filter(({ category }) => category !== UNANSWERABLE);
}

/**
 * Returns the bars of a set. For its own sets the project requires that words
 * and vectors together find more than BM25 does overall, and no less in any
 * namespace; for facts that changed, that the newest comes first.
 */
export function barsOf(set: ComparedSet): readonly Bar[] {
  const fused = set.measured.get("fused");
  if (fused === undefined) return [];
  const score = scoreOf(answerable(fused.found));
  const bars = {
    own: () => ownBars(set, score),
    chats: () => gainBars(set, score),
    changes: () => changeBars(set, score),
    conversations: () => conversationBars(set, fused.found),
  }[set.kind]();
  const random = set.measured.get("random");
  return random === undefined ? bars : [...bars, {
    ...bar("recall@10 beside an endpoint of random vectors: change", set),
    atLeast: -0.02,
    value: rounded(recallOf(random.found) - recallOf(fused.found)),
  }];
}

/** What a set requires above BM25. */
interface Gains {
  readonly recallAt10: number;
  readonly recallAt1: number;
  readonly meanReciprocalRank: number;
}

const OWN_GAINS: Gains = {
  recallAt10: 0.03,
  recallAt1: 0,
  meanReciprocalRank: 0,
};
const CHAT_GAINS: Gains = {
  recallAt10: 0.06,
  recallAt1: 0.03,
  meanReciprocalRank: 0.03,
};

function ownBars(set: ComparedSet, score: RetrievalScore): readonly Bar[] {
  const baseOf = scoresBy("namespace", set.measured.get("words")?.found ?? []);
  const [worst, worstGain] = [
    ...scoresBy("namespace", set.measured.get("fused")?.found ?? []),
  ].map(([name, { recallAt }]) =>
    [name, at(recallAt) - at(baseOf.get(name)?.recallAt)] as const
  ).reduce((one, other) => other[1] < one[1] ? other : one);
  return [
    {
      ...bar("recall@10", set),
      atLeast: 0.86,
      value: rounded(at(score.recallAt)),
    },
    ...gainBars(set, score, OWN_GAINS),
    {
      ...bar("recall@10 above BM25 in the worst namespace", set),
      atLeast: 0,
      value: rounded(worstGain),
      note: worst,
    },
  ];
}

function gainBars(
  set: ComparedSet,
  score: RetrievalScore,
  gains: Gains = CHAT_GAINS,
): readonly Bar[] {
  const words = set.measured.get("words");
  if (words === undefined) return [];
  const base = scoreOf(answerable(words.found));
  const gain = (
    name: string,
    { atLeast, of }: {
      readonly atLeast: number;
      readonly of: (score: RetrievalScore) => number;
    },
  ): Bar => ({
    ...bar(`${name} above BM25`, set),
    atLeast,
    value: rounded(of(score) - of(base)),
    note: `${shareOf(of(score))} and ${shareOf(of(base))}`,
  });
  return [
    gain("recall@10", {
      atLeast: gains.recallAt10,
      of: ({ recallAt }) => at(recallAt),
    }),
    gain("recall@1", {
      atLeast: gains.recallAt1,
      of: ({ recallAt }) => recallAt[1] ?? 0,
    }),
    gain("MRR", {
      atLeast: gains.meanReciprocalRank,
      of: ({ meanReciprocalRank }) => meanReciprocalRank,
    }),
  ];
}

function changeBars(set: ComparedSet, score: RetrievalScore): readonly Bar[] {
  return [{
    ...bar("recall@1, the newest fact", set),
    atLeast: 0.9,
    value: rounded(score.recallAt[1] ?? 0),
  }];
}

function conversationBars(
  set: ComparedSet,
  found: readonly Found[],
): readonly Bar[] {
  const named = { name: "conversations" };
  const score = scoreOf(answerable(found));
  const adversarial = found.filter(({ category }) => category === UNANSWERABLE);
  const vectors = set.measured.get("vectors");
  return [
    {
      ...bar("recall@10 of questions with an answer", named),
      atLeast: 0.82,
      value: rounded(at(score.recallAt)),
    },
    {
      ...bar("MRR of questions with an answer", named),
      atLeast: 0.665,
      value: rounded(score.meanReciprocalRank),
    },
    ...vectors === undefined ? [] : [{
      ...bar("recall@10 of built-in vectors alone", named),
      atLeast: 0.6,
      value: rounded(at(scoreOf(answerable(vectors.found)).recallAt)),
    }],
    ...adversarial.length === 0 ? [] : [{
      ...bar("recall@10 of category 5", named),
      atLeast: 0.89,
      value: rounded(at(scoreOf(adversarial).recallAt)),
    }],
  ];
}

function bar(
  name: string,
  set: Pick<ComparedSet, "name">,
): Pick<Bar, "name" | "unit" | "digits"> {
  return { name: `${set.name}: ${name}`, unit: "", digits: 3 };
}

/**
 * Returns the report of a set as tables: all questions, each category, each
 * namespace, and times.
 */
export function reportOf(set: ComparedSet): string {
  const { name, namespaces, measured } = set;
  const memories = namespaces.reduce(
    (sum, namespace) => sum + namespace.memories.length,
    0,
  );
  const rankings = [...measured.keys()];
  const found = [...measured.values()].map((one) => one.found);
  const questions = found[0]?.length ?? 0;
  return [
    `${name}: ${namespaces.length} namespaces, ${memories} memories, ` +
    `${questions} questions`,
    "",
    row("all", [
      ...CUTS.map((cut) => `R@${cut}`),
      ...CUTS.map((cut) => `any@${cut}`),
      "MRR",
    ]),
    ...rankings.map((ranking, place) => {
      const score = scoreOf(answerable(found[place] ?? []));
      return row(ranking, [
        ...CUTS.map((cut) => shareOf(score.recallAt[cut])),
        ...CUTS.map((cut) => shareOf(score.anyAt[cut])),
        shareOf(score.meanReciprocalRank),
      ]);
    }),
    ...groupRows("category", { rankings, found }),
    ...groupRows("namespace", { rankings, found }),
    "",
    ...rankings.map((ranking) =>
      `${ranking}: ${timesOf(measured.get(ranking))}`
    ),
  ].join("\n");
}

function groupRows(
  group: "category" | "namespace",
  { rankings, found }: {
    readonly rankings: readonly RankingName[];
    readonly found: readonly (readonly Found[])[];
  },
): readonly string[] {
  const scores = found.map((one) => scoresBy(group, one));
  const names = [...scores[0]?.keys() ?? []];
  const cells =
    (of: (score: RetrievalScore) => number | undefined) =>
    (name: string): readonly string[] =>
      scores.map((byName) => {
        const score = byName.get(name);
        return shareOf(score && of(score));
      });
  const columns = [
    ["R@1", cells(({ recallAt }) => recallAt[1])],
    ["R@10", cells(({ recallAt }) => recallAt[BAR_CUT])],
    ["any@10", cells(({ anyAt }) => anyAt[BAR_CUT])],
    ["MRR", cells(({ meanReciprocalRank }) => meanReciprocalRank)],
  ] as const;
  return [
    "",
    row("", ["", ...columns.flatMap(([head]) => [head, ...blanks(rankings)])]),
    row(group, ["asked", ...columns.flatMap(() => rankings)]),
    ...names.map((name) =>
      row(name, [
        String(scores[0]?.get(name)?.questions ?? 0),
        ...columns.flatMap(([, of]) => of(name)),
      ])
    ),
  ];
}

function blanks(rankings: readonly RankingName[]): readonly string[] {
  return rankings.slice(1).map(() => "");
}

function row(name: string, cells: readonly string[]): string {
  return [
    name.padEnd(NAME_WIDTH),
    ...cells.map((cell) => cell.padStart(CELL_WIDTH)),
  ].join(" ").trimEnd();
}

function timesOf(measured: MeasuredRetrieval | undefined): string {
  if (measured === undefined) return "not measured";
  const { latenciesMs, memoriesPerSecond } = measured;
  const p = (share: number) => quantile(latenciesMs, share).toFixed(2);
  return `a question p50 ${p(0.5)} ms, p95 ${p(0.95)} ms, p99 ${p(0.99)} ms; ` +
    `${memoriesPerSecond.toFixed(0)} memories added a second`;
}

function recallOf(found: readonly Found[]): number {
  return at(scoreOf(answerable(found)).recallAt);
}

function at(shares: Readonly<Record<number, number>> | undefined): number {
  return shares?.[BAR_CUT] ?? 0;
}

/**
 * Rounds to three digits, so that a floating point error does not miss a bar.
 */
function rounded(value: number): number {
  return Math.round(value * 1_000) / 1_000;
}

function shareOf(value: number | undefined): string {
  return (value ?? 0).toFixed(3);
}
