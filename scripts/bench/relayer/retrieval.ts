/**
 * Compares what several rankings find in sets of memories: as text tables, and
 * as the bars that the ranking of recall has to meet.
 *
 * @module
 */

import { FileEmbedder } from "../../../services/relayer/embed/file/file_embedder.ts";
import { HashedEmbedder } from "../../../services/relayer/embed/hashed_embedder.ts";
import {
  BUILT_IN_VECTOR_WEIGHT,
  FILE_VECTOR_WEIGHT,
} from "../../../services/relayer/recall/memory_index.ts";
import {
  choiceOption,
  integerOption,
  numberOption,
} from "../../../services/shared/options.ts";
import { print, tell } from "../../terminal.ts";
import type { Bar } from "../kit/bars.ts";
import type { BenchRun } from "../kit/bench_run.ts";
import { quantile } from "../kit/numbers.ts";
import {
  type CorpusNamespace,
  parseConversations,
  readOwnSet,
} from "./corpus.ts";
import { writeRandomModel } from "./random_model.ts";
import { serveRandomVectors } from "./random_vectors.ts";
import {
  type MeasuredRetrieval,
  measureIndex,
  measureWords,
  rememberCorpus,
} from "./rankings.ts";
import {
  computeScore,
  type Found,
  type RetrievalScore,
  scoresBy,
} from "./scores.ts";

/**
 * The rankings: `words` by plain BM25 alone; `vectors` by their cosine alone;
 * `fused` by both, as recall does it; `random` and `file` the same with vectors
 * that carry no meaning, of an endpoint and of a model file.
 */
export type RankingName = "words" | "vectors" | "fused" | "random" | "file";

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
const RANDOM_SEED = 16;

/** The flags of this measure. */
export const RETRIEVAL_FLAGS = {
  through: choiceOption({
    help: "How retrieval asks: the index in this process, or a relayer.",
    values: { index: "index", http: "http" },
    default: "index",
  }),
  set: choiceOption({
    help: "The sets of retrieval: the project's own, the file, or all.",
    values: { own: "own", file: "file", all: "all" },
    default: "all",
  }),
  from: integerOption({
    help: "Leave out the conversations before this one.",
    ...{ default: 1, min: 1 },
  }),
  vectorWeight: numberOption({
    help: "What vectors weigh beside words; in the index only.",
    ...{ default: BUILT_IN_VECTOR_WEIGHT, min: 0 },
  }),
} as const;

type RetrievalRun = BenchRun<typeof RETRIEVAL_FLAGS>;

/**
 * Measures all sets: those of the project, and the conversations of the file
 * that the run names.
 */
export async function measureRetrieval(run: RetrievalRun): Promise<void> {
  const { through, vectorWeight } = run.values;
  const sets: ComparedSet[] = [];
  for (const set of await readSets(run)) {
    const measured = through === "http"
      ? await throughHttp(set)
      : await throughIndex(set, vectorWeight);
    sets.push({ ...set, measured });
    if (!run.values.json) print(`${reportText({ ...set, measured })}\n`);
  }
  run.bars.push(...sets.flatMap(createBars));
  run.details.through = through;
  run.details.sets = sets.map(({ name, measured }) => ({
    name,
    rankings: Object.fromEntries(
      [...measured].map(([ranking, { found, memoriesPerSecond }]) => [ranking, {
        all: computeScore(answerable(found)),
        byCategory: Object.fromEntries(scoresBy("category", found)),
        byNamespace: Object.fromEntries(scoresBy("namespace", found)),
        memoriesPerSecond,
      }]),
    ),
  }));
}

async function readSets(
  run: RetrievalRun,
): Promise<readonly Omit<ComparedSet, "measured">[]> {
  const { set: only, from } = run.values;
  const [path] = run.files;
  if (only === "file" && path === undefined) {
    throw new TypeError("Cannot measure --set=file: no file is named");
  }
  const own = [
    ["own set", "own", "notes"],
    ["chats", "chats", "chats"],
    ["changes", "changes", "changes"],
  ] as const;
  const sets = only === "file" ? [] : await Promise.all(
    own.map(async ([name, kind, file]) => ({
      ...{ name, kind, namespaces: await readOwnSet(file) },
    })),
  );
  const conversations = path === undefined || only === "own"
    ? undefined
    : await readConversations(path);
  if (conversations === undefined) return sets;
  if (from > conversations.length) {
    throw new RangeError(
      `Cannot measure: --from is "${from}", and the file has ` +
        conversations.length,
    );
  }
  const namespaces = conversations.slice(from - 1);
  const name = "conversations";
  return [...sets, { name, kind: name, namespaces }];
}

/**
 * Reads the file of conversations; `undefined` when it is missing, since the
 * file is not part of the project.
 */
async function readConversations(
  path: string,
): Promise<readonly CorpusNamespace[] | undefined> {
  try {
    return parseConversations(await Deno.readTextFile(path));
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
    tell(`Conversations are left out: there is no file "${path}"`);
    return undefined;
  }
}

async function throughIndex(
  { namespaces }: Pick<ComparedSet, "namespaces">,
  vectorWeight: number,
): Promise<ComparedSet["measured"]> {
  const embedder = new HashedEmbedder();
  const texts = namespaces.flatMap(({ memories }) => memories)
    .map(({ text }) => text);
  await using model = await writeRandomModel(texts, { seed: RANDOM_SEED });
  const ofFile = {
    embedder: await FileEmbedder.open(model.folder),
    vectorWeight: FILE_VECTOR_WEIGHT,
  };
  return new Map<RankingName, MeasuredRetrieval>([
    ["words", await measureWords(namespaces)],
    ["vectors", await measureIndex(namespaces, { embedder })],
    ["fused", await measureIndex(namespaces, { embedder, vectorWeight })],
    ["file", await measureIndex(namespaces, ofFile)],
  ]);
}

async function throughHttp(
  { name, namespaces }: Pick<ComparedSet, "name" | "namespaces">,
): Promise<ComparedSet["measured"]> {
  tell(`${name}: remembering and asking over HTTP`);
  const measured = new Map<RankingName, MeasuredRetrieval>();
  measured.set("words", await measureWords(namespaces));
  {
    await using corpus = await rememberCorpus(namespaces);
    measured.set("vectors", await corpus.ask("semantic"));
    measured.set("fused", await corpus.ask("fused"));
  }
  tell(`${name}: the same with random vectors`);
  await using endpoint = serveRandomVectors({ seed: RANDOM_SEED });
  const { env } = endpoint;
  await using corpus = await rememberCorpus(namespaces, { env });
  measured.set("random", await corpus.ask("fused"));
  return measured;
}

/** Returns the results of the questions that have an answer. */
function answerable(found: readonly Found[]): readonly Found[] {
  return found.filter(({ category }) => category !== UNANSWERABLE);
}

/** A figure of a score, and how it is called. */
type Figure = readonly [string, (score: RetrievalScore) => number];

/** The figures that bars judge. */
const FIGURES = {
  recallAt10: ["recall@10", ({ recallAt }) => recallAt[BAR_CUT] ?? 0],
  recallAt1: ["recall@1", ({ recallAt }) => recallAt[1] ?? 0],
  meanReciprocalRank: ["MRR", (score) => score.meanReciprocalRank],
} as const satisfies Readonly<Record<string, Figure>>;

/** What a set requires above BM25. */
type Gains = Readonly<Record<keyof typeof FIGURES, number>>;

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

/**
 * Returns the bars of a set. For its own sets the project requires that words
 * and vectors together find more than BM25 does overall, and no less in any
 * namespace; for facts that changed, that the newest comes first.
 */
export function createBars(set: ComparedSet): readonly Bar[] {
  const fused = set.measured.get("fused");
  if (fused === undefined) return [];
  const { found } = fused;
  const bars = {
    own: () => ownBars(set, found),
    chats: () => gainBars(set, found, CHAT_GAINS),
    changes: () => [bar(set, "recall@1, the newest fact", {
      ...{ atLeast: 0.9, value: scored(found, "recallAt1") },
    })],
    conversations: () => conversationBars(set, found),
  }[set.kind]();
  const meaningless = [
    ["random", "an endpoint of random vectors"],
    ["file", "a model file of random vectors"],
  ] as const;
  return [
    ...bars,
    ...meaningless.flatMap(([ranking, what]) => {
      const other = set.measured.get(ranking)?.found;
      return other === undefined ? [] : [
        bar(set, `recall@10 beside ${what}: change`, {
          atLeast: -0.02,
          value: scored(other, "recallAt10") - scored(found, "recallAt10"),
        }),
      ];
    }),
  ];
}

function ownBars(set: ComparedSet, found: readonly Found[]): readonly Bar[] {
  const [, recall] = FIGURES.recallAt10;
  const base = scoresBy("namespace", set.measured.get("words")?.found ?? []);
  const [worst, worstGain] = [...scoresBy("namespace", found)]
    .map(([name, score]) => {
      const words = base.get(name);
      return [name, recall(score) - (words ? recall(words) : 0)] as const;
    })
    .reduce((one, other) => other[1] < one[1] ? other : one);
  return [
    bar(set, "recall@10", {
      ...{ atLeast: 0.86, value: scored(found, "recallAt10") },
    }),
    ...gainBars(set, found, OWN_GAINS),
    bar(set, "recall@10 above BM25 in the worst namespace", {
      ...{ atLeast: 0, value: worstGain, note: worst },
    }),
  ];
}

function gainBars(
  set: ComparedSet,
  found: readonly Found[],
  gains: Gains,
): readonly Bar[] {
  const words = set.measured.get("words")?.found;
  if (words === undefined) return [];
  return Object.entries(gains).map(([name, atLeast]) => {
    const figure = name as keyof Gains;
    const [of, base] = [scored(found, figure), scored(words, figure)];
    return bar(set, `${FIGURES[figure][0]} above BM25`, {
      ...{ atLeast, value: of - base },
      note: `${shareText(of)} and ${shareText(base)}`,
    });
  });
}

function conversationBars(
  { measured }: ComparedSet,
  found: readonly Found[],
): readonly Bar[] {
  const set = { name: "conversations" };
  const adversarial = found.filter(({ category }) => category === UNANSWERABLE);
  const vectors = measured.get("vectors")?.found;
  return [
    bar(set, "recall@10 of questions with an answer", {
      ...{ atLeast: 0.82, value: scored(found, "recallAt10") },
    }),
    bar(set, "MRR of questions with an answer", {
      ...{ atLeast: 0.665, value: scored(found, "meanReciprocalRank") },
    }),
    ...vectors === undefined ? [] : [
      bar(set, "recall@10 of built-in vectors alone", {
        ...{ atLeast: 0.6, value: scored(vectors, "recallAt10") },
      }),
    ],
    ...adversarial.length === 0 ? [] : [
      bar(set, "recall@10 of category 5", {
        atLeast: 0.89,
        value: FIGURES.recallAt10[1](computeScore(adversarial)),
      }),
    ],
  ];
}

/** Returns a figure of the questions that have an answer. */
function scored(found: readonly Found[], figure: keyof Gains): number {
  return FIGURES[figure][1](computeScore(answerable(found)));
}

function bar(
  set: Pick<ComparedSet, "name">,
  name: string,
  { value, ...rest }: Pick<Bar, "atLeast" | "value" | "note">,
): Bar {
  return {
    ...{ name: `${set.name}: ${name}`, unit: "", digits: 3, ...rest },
    // Rounded, so that a floating point error does not miss a bar.
    value: Math.round(value * 1_000) / 1_000,
  };
}

/**
 * Returns the report of a set as a table (all questions that have an answer,
 * each category, each namespace), and times.
 */
export function reportText(
  { name, namespaces, measured }: ComparedSet,
): string {
  const memories = namespaces.flatMap(({ memories }) => memories).length;
  const rankings = [...measured.keys()];
  const found = [...measured.values()].map((one) => one.found);
  const { recallAt1, recallAt10, meanReciprocalRank } = FIGURES;
  const columns: readonly Figure[] = [
    recallAt1,
    recallAt10,
    ["any@10", ({ anyAt }) => anyAt[BAR_CUT] ?? 0],
    meanReciprocalRank,
  ];
  const line = (name: string, scores: readonly RetrievalScore[]): string =>
    row(name, [
      String(scores[0]?.questions ?? 0),
      ...columns.flatMap(([, of]) =>
        scores.map((score) => shareText(of(score)))
      ),
    ]);
  const group = (by: "category" | "namespace"): readonly string[] => {
    const scores = found.map((one) => scoresBy(by, one));
    return [...scores[0]?.keys() ?? []].map((name) =>
      line(name, scores.map((byName) => byName.get(name) ?? computeScore([])))
    );
  };
  return [
    `${name}: ${namespaces.length} namespaces, ${memories} memories, ` +
    `${found[0]?.length ?? 0} questions`,
    "",
    row("", [
      "",
      ...columns.flatMap((
        [head],
      ) => [head, ...rankings.slice(1).map(() => "")]),
    ]),
    row("", ["asked", ...columns.flatMap(() => rankings)]),
    line("all", found.map((one) => computeScore(answerable(one)))),
    ...["", ...group("category"), "", ...group("namespace"), ""],
    ...[...measured].map(([ranking, one]) => `${ranking}: ${timesText(one)}`),
  ].join("\n");
}

function row(name: string, cells: readonly string[]): string {
  return [
    name.padEnd(NAME_WIDTH),
    ...cells.map((cell) => cell.padStart(CELL_WIDTH)),
  ].join(" ").trimEnd();
}

function timesText(
  { latenciesMs, memoriesPerSecond }: MeasuredRetrieval,
): string {
  const p = (share: number) => quantile(latenciesMs, share).toFixed(2);
  return `a question p50 ${p(0.5)} ms, p95 ${p(0.95)} ms, p99 ${p(0.99)} ms; ` +
    `${memoriesPerSecond.toFixed(0)} memories added a second`;
}

function shareText(value: number): string {
  return value.toFixed(3);
}
