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
import { HashedEmbedder } from "../../services/relayer/embed/hashed_embedder.ts";
import { messageOf, print, tell } from "../terminal.ts";
import { parseConversations } from "./retrieval/conversations_file.ts";
import type { CorpusNamespace } from "./retrieval/corpus.ts";
import { householdCorpus } from "./retrieval/household_corpus.ts";
import {
  type MeasuredRetrieval,
  measureRetrieval,
} from "./retrieval/measure_retrieval.ts";
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
  --ranking=<r> what ranks: "vectors" of the built-in embedder, the "words" of
                memories (BM25), or "dialogue": words, and in conversations
                those said right before and after, who speaks and what is asked
                (vectors)
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
      ranking: { type: "string", default: "vectors" },
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
  const { model, measured } = await measure(namespaces, ranking);
  const rows = rowsOf(measured.found);
  if (values.json) {
    const scores = Object.fromEntries(rows);
    print(JSON.stringify({ ranking, embedder: model, scores }, null, 2));
  } else print(reportOf(rows, { namespaces, measured }));
}

/** The model is null where words alone rank. */
async function measure(
  namespaces: readonly CorpusNamespace[],
  ranking: string,
): Promise<
  { readonly model: string | null; readonly measured: MeasuredRetrieval }
> {
  if (ranking === "vectors") {
    const embedder = new HashedEmbedder();
    const measured = await measureRetrieval(namespaces, embedder);
    return { model: embedder.model, measured };
  }
  if (ranking === "words" || ranking === "dialogue") {
    return { model: null, measured: measureWords(namespaces, ranking) };
  }
  throw new TypeError(
    `Cannot measure: --ranking is "${ranking}", not vectors, words or dialogue`,
  );
}

async function read(
  path: string | undefined,
): Promise<readonly CorpusNamespace[]> {
  if (path === undefined) return [householdCorpus()];
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
