/**
 * Measures how well the relayer finds what answers a question, against gold
 * evidence: no model that answers, and no judge.
 *
 * ```sh
 * deno task bench:retrieval --help
 * ```
 *
 * @module
 */

import { parseArgs } from "node:util";
import { BUILT_IN_VECTOR_WEIGHT } from "../../services/relayer/recall/ranking/fused_score.ts";
import { HashedEmbedder } from "../../services/relayer/embed/hashed_embedder.ts";
import { messageOf, print, tell } from "../terminal.ts";
import { parseConversations } from "./retrieval/conversations_file.ts";
import type { CorpusNamespace } from "./retrieval/corpus.ts";
import { householdCorpus } from "./retrieval/household_corpus.ts";
import {
  type MeasuredRetrieval,
  measureRetrieval,
} from "./retrieval/measure_retrieval.ts";
import { shapesCorpus } from "./retrieval/shapes/shape.ts";
import { measureWords } from "./retrieval/measure_words.ts";
import {
  CUTS,
  type Found,
  type RetrievalScore,
  scoreOf,
  scoresByCategory,
} from "./retrieval/retrieval_score.ts";
import { quantile } from "./tasks/load_job.ts";

const HELP =
  `Measures retrieval without a model that answers against gold evidence.

usage: deno task bench:retrieval [file] [options]

  file          JSON of conversations as in LoCoMo: a namespace for each, a
                memory for each turn; the project's own small corpus without it
  --from=<n>    leave out the conversations before this one, counted from 1 (1)
  --ranking=<r> what ranks: "fused", as recall does it with ranking: "fused";
                "vectors" of the built-in embedder alone; or the "words" of
                memories alone (BM25, k1 .9, b .4) (fused)
  --vector-weight=<n>  what vectors weigh beside words where both rank
                (${BUILT_IN_VECTOR_WEIGHT})
  --json        the result as JSON
  --help        this text

Weights are to be chosen on the first three conversations and reported with
--from=4 as well. Categories are named by the numbers that the file has.
`;

/** Questions whose answer is not in the conversation: not in the headline. */
const UNANSWERABLE = "5";

if (import.meta.main) {
  try {
    await main(Deno.args);
  } catch (error) {
    tell(messageOf(error));
    Deno.exit(2);
  }
}

async function main(args: readonly string[]): Promise<void> {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      from: { type: "string", default: "1" },
      ranking: { type: "string", default: "fused" },
      "vector-weight": {
        type: "string",
        default: String(BUILT_IN_VECTOR_WEIGHT),
      },
      json: { type: "boolean", default: false },
      help: { type: "boolean", default: false },
    },
  });
  if (values.help) return print(HELP);
  const from = Number(values.from);
  if (!Number.isInteger(from) || from < 1) {
    throw new TypeError(`Cannot measure: --from is "${values.from}", not 1 up`);
  }
  const namespaces = (await read(positionals[0])).slice(from - 1);
  const { ranking } = values;
  const vectorWeight = Number(values["vector-weight"]);
  if (!(vectorWeight >= 0)) {
    throw new TypeError(
      `Cannot measure: --vector-weight is "${
        values["vector-weight"]
      }", not 0 up`,
    );
  }
  const { model, measured } = await measure(namespaces, {
    ...{ ranking, vectorWeight },
  });
  const rows = rowsOf(measured.found);
  if (values.json) {
    const scores = Object.fromEntries(rows);
    print(JSON.stringify({ ranking, embedder: model, scores }, null, 2));
  } else print(reportOf(rows, { namespaces, measured }));
}

/** The model is null where words alone rank. */
async function measure(
  namespaces: readonly CorpusNamespace[],
  { ranking, vectorWeight }: {
    readonly ranking: string;
    readonly vectorWeight: number;
  },
): Promise<
  { readonly model: string | null; readonly measured: MeasuredRetrieval }
> {
  if (ranking === "words") {
    return { model: null, measured: measureWords(namespaces) };
  }
  if (ranking !== "vectors" && ranking !== "fused") {
    throw new TypeError(
      `Cannot measure: --ranking is "${ranking}", not fused, vectors or words`,
    );
  }
  const embedder = new HashedEmbedder();
  const measured = await measureRetrieval(namespaces, {
    embedder,
    vectorWeight: ranking === "fused" ? vectorWeight : undefined,
  });
  return { model: embedder.model, measured };
}

async function read(
  path: string | undefined,
): Promise<readonly CorpusNamespace[]> {
  if (path === undefined) return [householdCorpus(), ...shapesCorpus()];
  return parseConversations(await Deno.readTextFile(path));
}

/** The headline first. */
function rowsOf(
  found: readonly Found[],
): readonly (readonly [string, RetrievalScore])[] {
  const answerable = found.filter(({ category }) => category !== UNANSWERABLE);
  return [["all", scoreOf(answerable)], ...scoresByCategory(found)];
}

function reportOf(
  rows: readonly (readonly [string, RetrievalScore])[],
  { namespaces, measured }: {
    readonly namespaces: readonly CorpusNamespace[];
    readonly measured: MeasuredRetrieval;
  },
): string {
  const memories = namespaces.reduce(
    (sum, namespace) => sum + namespace.memories.length,
    0,
  );
  const heads = CUTS.flatMap((cut) => [`any@${cut}`, `R@${cut}`]);
  const table = [
    ["category", "questions", ...heads, "MRR"],
    ...rows.map(([name, score]) => [
      name,
      String(score.questions),
      ...CUTS.flatMap((cut) => [
        shareOf(score.anyAt[cut]),
        shareOf(score.recallAt[cut]),
      ]),
      shareOf(score.meanReciprocalRank),
    ]),
  ];
  const { latenciesMs, memoriesPerSecond } = measured;
  const p = (share: number) => quantile(latenciesMs, share).toFixed(2);
  return [
    `${namespaces.length} namespaces, ${memories} memories`,
    "",
    ...table.map((cells) => cells.map((cell) => cell.padStart(9)).join(" ")),
    "",
    `a question: p50 ${p(0.5)} ms, p95 ${p(0.95)} ms; ` +
    `${memoriesPerSecond.toFixed(0)} memories added a second`,
  ].join("\n");
}

function shareOf(value: number | undefined): string {
  return (value ?? 0).toFixed(3);
}
