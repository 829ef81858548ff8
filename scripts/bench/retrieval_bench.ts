/**
 * Measures how well the relayer finds the memories that answer a question. The
 * results are compared with known answers; no model answers questions or judges
 * answers.
 *
 * ```sh
 * deno task bench:retrieval --help
 * ```
 *
 * @module
 */

import { parseArgs } from "node:util";
import { BUILT_IN_VECTOR_WEIGHT } from "../../services/relayer/recall/memory_index.ts";
import { HashedEmbedder } from "../../services/relayer/embed/hashed_embedder.ts";
import { messageOf, print, tell } from "../terminal.ts";
import {
  answerable,
  barsOf,
  type ComparedSet,
  type RankingName,
  reportOf,
} from "./retrieval/compare_rankings.ts";
import type { CorpusNamespace } from "./retrieval/corpus.ts";
import { parseConversations } from "./retrieval/conversations_file.ts";
import { householdCorpus } from "./retrieval/household_corpus.ts";
import {
  type MeasuredRetrieval,
  measureRetrieval,
} from "./retrieval/measure_retrieval.ts";
import { measureWords } from "./retrieval/measure_words.ts";
import { RandomVectors } from "./retrieval/random_vectors.ts";
import { RememberedCorpus } from "./retrieval/remembered_corpus.ts";
import { scoreOf, scoresBy } from "./retrieval/retrieval_score.ts";
import { chatsCorpus } from "./retrieval/chats/chat.ts";
import {
  changesCorpus,
  otherChatsCorpus,
  shapesCorpus,
} from "./retrieval/shapes/shape.ts";
import { isMet, tableOf } from "./tasks/bar.ts";

const RANDOM_SEED = 16;

const HELP =
  `Measures retrieval without a model that answers against gold evidence: what
words alone find (BM25, k1 .9, b .4, the same stemmers), what vectors of the
built-in embedder find alone, and what recall finds with ranking: "fused".

usage: deno task bench:retrieval [file] [options]

  file             JSON of conversations as in LoCoMo, measured beside the
                   project's own sets: a namespace for each, a memory for each
                   turn; left out with a notice where it is not there
  --through=<t>    "index": the index in this process; "http": a relayer
                   process that remembers and recalls as applications do, and
                   another one whose embedding endpoint gives random vectors
                   (index)
  --set=<s>        "own", "file" or "all" of them (all)
  --from=<n>       leave out the conversations before this one, counted from 1
                   (1)
  --vector-weight=<n>  what vectors weigh beside words; in the index only
                   (${BUILT_IN_VECTOR_WEIGHT})
  --check          end with 1 when a bar is missed
  --json           the result as JSON
  --help           this text

The project's own sets are notes of many shapes, chats as people write them, and
facts that changed. Weights are to be chosen on them and on the first three
conversations alone.
Categories of conversations are named by the numbers that the file has; 5 has no
answer, and does not count in the first table.
`;

if (import.meta.main) {
  try {
    Deno.exit(await main(Deno.args));
  } catch (error) {
    tell(messageOf(error));
    Deno.exit(2);
  }
}

type Rankings = ReadonlyMap<RankingName, MeasuredRetrieval>;
type UnmeasuredSet = Omit<ComparedSet, "measured">;

async function main(args: readonly string[]): Promise<number> {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      through: { type: "string", default: "index" },
      set: { type: "string", default: "all" },
      from: { type: "string", default: "1" },
      "vector-weight": { type: "string" },
      check: { type: "boolean", default: false },
      json: { type: "boolean", default: false },
      help: { type: "boolean", default: false },
    },
  });
  if (values.help) {
    print(HELP);
    return 0;
  }
  const through = oneOf("through", values.through, ["index", "http"]);
  const weight = values["vector-weight"];
  if (through === "http" && weight !== undefined) {
    throw new TypeError(
      "Cannot measure: a relayer weighs vectors by what made them; leave out " +
        "--vector-weight or --through=http",
    );
  }
  const vectorWeight = weightOf(weight ?? String(BUILT_IN_VECTOR_WEIGHT));
  const sets: ComparedSet[] = [];
  const chosen = await setsOf(positionals, {
    only: oneOf("set", values.set, ["own", "file", "all"]),
    from: conversationOf(values.from),
  });
  for (const set of chosen) {
    const measured = through === "http"
      ? await measureHttp(set)
      : await measureIndex(set, vectorWeight);
    sets.push({ ...set, measured });
    if (!values.json) print(`${reportOf({ ...set, measured })}\n`);
  }
  const bars = sets.flatMap(barsOf);
  if (values.json) print(jsonOf(sets, { through, bars }));
  else if (bars.length > 0) print(tableOf(bars));
  const isMissed = bars.some((bar) => isMet(bar) === false);
  return values.check && isMissed ? 1 : 0;
}

async function setsOf(
  [path, ...more]: readonly string[],
  { only, from }: {
    readonly only: "own" | "file" | "all";
    readonly from: number;
  },
): Promise<readonly UnmeasuredSet[]> {
  if (more.length > 0) {
    throw new TypeError(`Cannot measure "${more[0]}": one file is taken`);
  }
  if (only === "file" && path === undefined) {
    throw new TypeError("Cannot measure --set=file: no file is named");
  }
  const own: UnmeasuredSet = {
    name: "own set",
    kind: "own",
    namespaces: [householdCorpus(), ...shapesCorpus()],
  };
  const chats: UnmeasuredSet = {
    name: "chats",
    kind: "chats",
    namespaces: [...chatsCorpus(), ...otherChatsCorpus()],
  };
  const changes: UnmeasuredSet = {
    name: "changes",
    kind: "changes",
    namespaces: changesCorpus(),
  };
  const text = path === undefined || only === "own"
    ? undefined
    : await textOf(path);
  return [
    ...only === "file" ? [] : [own, chats, changes],
    ...text === undefined ? [] : [{
      name: "conversations",
      kind: "conversations" as const,
      namespaces: conversationsOf(text, from),
    }],
  ];
}

function conversationsOf(
  text: string,
  from: number,
): readonly CorpusNamespace[] {
  const all = parseConversations(text);
  if (from <= all.length) return all.slice(from - 1);
  throw new RangeError(
    `Cannot measure: --from is "${from}", and the file has ${all.length}`,
  );
}

/**
 * Returns the text of the file of conversations; `undefined` when it is
 * missing, since the file is not part of the project.
 */
async function textOf(path: string): Promise<string | undefined> {
  try {
    return await Deno.readTextFile(path);
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
    tell(`Conversations are left out: there is no file "${path}"`);
    return undefined;
  }
}

async function measureIndex(
  { namespaces }: UnmeasuredSet,
  vectorWeight: number,
): Promise<Rankings> {
  const embedder = new HashedEmbedder();
  return new Map([
    ["words", measureWords(namespaces)],
    ["vectors", await measureRetrieval(namespaces, { embedder })],
    ["fused", await measureRetrieval(namespaces, { embedder, vectorWeight })],
  ]);
}

async function measureHttp({ name, namespaces }: UnmeasuredSet): Promise<
  Rankings
> {
  tell(`${name}: remembering and asking over HTTP`);
  const measured = new Map<RankingName, MeasuredRetrieval>();
  measured.set("words", measureWords(namespaces));
  {
    await using corpus = await RememberedCorpus.open(namespaces);
    measured.set("vectors", await corpus.ask("semantic"));
    measured.set("fused", await corpus.ask("fused"));
  }
  tell(`${name}: the same with random vectors`);
  await using endpoint = new RandomVectors({ seed: RANDOM_SEED });
  const { env } = endpoint;
  await using corpus = await RememberedCorpus.open(namespaces, { env });
  measured.set("random", await corpus.ask("fused"));
  return measured;
}

function jsonOf(
  sets: readonly ComparedSet[],
  rest: Readonly<Record<string, unknown>>,
): string {
  const shown = sets.map(({ name, measured }) => ({
    name,
    rankings: Object.fromEntries(
      [...measured].map(([ranking, { found, memoriesPerSecond }]) => [ranking, {
        all: scoreOf(answerable(found)),
        byCategory: Object.fromEntries(scoresBy("category", found)),
        byNamespace: Object.fromEntries(scoresBy("namespace", found)),
        memoriesPerSecond,
      }]),
    ),
  }));
  return JSON.stringify({ ...rest, sets: shown }, null, 2);
}

function oneOf<Name extends string>(
  option: string,
  value: string,
  names: readonly Name[],
): Name {
  const name = names.find((name) => name === value);
  if (name !== undefined) return name;
  throw new TypeError(
    `Cannot measure: --${option} is "${value}", not ${names.join(" or ")}`,
  );
}

function conversationOf(text: string): number {
  const value = Number(text);
  if (Number.isInteger(value) && value >= 1) return value;
  throw new TypeError(`Cannot measure: --from is "${text}", not 1 up`);
}

function weightOf(text: string): number {
  const value = Number(text);
  if (text !== "" && value >= 0 && value < Infinity) return value;
  throw new TypeError(
    `Cannot measure: --vector-weight is "${text}", not 0 up`,
  );
}
