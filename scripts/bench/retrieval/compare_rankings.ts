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
   * Which bars the set is judged by: `own` and `chats` are sets made for this
   * project, `conversations` is read from a file.
   */
  readonly kind: "own" | "chats" | "conversations";
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
/** How much more than BM25 sets made for this project have to find. */
const ABOVE_BM25 = {
  own: { recall: 0.1, first: 0.05 },
  chats: { recall: 0.06, first: 0.03 },
} as const;
const NAME_WIDTH = 18;
const CELL_WIDTH = 7;

/** Returns the results of the questions that have an answer. */
export function answerable(found: readonly Found[]): readonly Found[] {
  return found.filter(({ category }) => category !== UNANSWERABLE);
}

/**
 * Returns the bars of a set. For its own sets the project requires that words
 * and vectors together find more than BM25 does overall, and not much less in
 * any namespace.
 */
export function barsOf(set: ComparedSet): readonly Bar[] {
  const fused = set.measured.get("fused");
  if (fused === undefined) return [];
  const score = scoreOf(answerable(fused.found));
  const bars = set.kind === "conversations"
    ? conversationBars(set, fused.found)
    : madeBars(set, score);
  const random = set.measured.get("random");
  return random === undefined ? bars : [...bars, {
    ...bar("recall@10 beside an endpoint of random vectors: change", set),
    atLeast: -0.02,
    value: rounded(recallOf(random.found) - recallOf(fused.found)),
  }];
}

function madeBars(
  set: ComparedSet,
  score: RetrievalScore,
): readonly Bar[] {
  const words = set.measured.get("words");
  const fused = set.measured.get("fused");
  if (words === undefined || fused === undefined) return [];
  const base = scoreOf(answerable(words.found));
  const baseOf = scoresBy("namespace", words.found);
  const [worst, worstGain] = [...scoresBy("namespace", fused.found)]
    .map(([name, { recallAt }]) =>
      [name, at(recallAt) - at(baseOf.get(name)?.recallAt)] as const
    )
    .reduce((one, other) => other[1] < one[1] ? other : one);
  const first = (recallAt: RetrievalScore["recallAt"]) => recallAt[1] ?? 0;
  const atLeast = ABOVE_BM25[set.kind === "chats" ? "chats" : "own"];
  return [
    {
      ...bar("recall@10 above BM25", set),
      atLeast: atLeast.recall,
      value: rounded(at(score.recallAt) - at(base.recallAt)),
      note: `${shareOf(at(score.recallAt))} and ${shareOf(at(base.recallAt))}`,
    },
    {
      ...bar("the same in the worst namespace", set),
      atLeast: 0,
      value: rounded(worstGain),
      note: worst,
    },
    {
      ...bar("recall@1 above BM25", set),
      atLeast: atLeast.first,
      value: rounded(first(score.recallAt) - first(base.recallAt)),
      note: `${shareOf(first(score.recallAt))} and ` +
        shareOf(first(base.recallAt)),
    },
    {
      ...bar("MRR above BM25", set),
      atLeast: atLeast.first,
      value: rounded(score.meanReciprocalRank - base.meanReciprocalRank),
      note: `${shareOf(score.meanReciprocalRank)} and ` +
        shareOf(base.meanReciprocalRank),
    },
  ];
}

function conversationBars(
  { measured }: ComparedSet,
  found: readonly Found[],
): readonly Bar[] {
  const score = scoreOf(answerable(found));
  const set = { name: "conversations" };
  const vectors = measured.get("vectors");
  const adversarial = found.filter(({ category }) => category === UNANSWERABLE);
  return [
    {
      ...bar("recall@10 of questions with an answer", set),
      atLeast: 0.81,
      value: rounded(at(score.recallAt)),
    },
    {
      ...bar("MRR of questions with an answer", set),
      atLeast: 0.655,
      value: rounded(score.meanReciprocalRank),
    },
    ...vectors === undefined ? [] : [{
      ...bar("recall@10 of built-in vectors alone", set),
      atLeast: 0.6,
      value: rounded(recallOf(vectors.found)),
    }],
    ...adversarial.length === 0 ? [] : [{
      ...bar("recall@10 of category 5", set),
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
