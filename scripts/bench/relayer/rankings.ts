/**
 * Asks the questions of a corpus: plain BM25, the relayer's index in this
 * process, and a relayer process over HTTP.
 *
 * @module
 */

import { Mem, type Ranking } from "../../../mod.ts";
import { finish } from "../../../services/relayer/concurrency/testing/finish.ts";
import type { Embedder } from "../../../services/relayer/embed/embedder.ts";
import { vectorTextSteps } from "../../../services/relayer/embed/words.ts";
import type { Language } from "../../../services/relayer/recall/ranking/languages.ts";
import { memoryWordsSteps } from "../../../services/relayer/recall/ranking/memory_words.ts";
import { Postings } from "../../../services/relayer/recall/ranking/postings.ts";
import { questionTerms } from "../../../services/relayer/recall/ranking/terms.ts";
import { VectorIndex } from "../../../services/relayer/recall/vector_index.ts";
import { sorted } from "../kit/numbers.ts";
import type { CorpusMemory, CorpusNamespace } from "./corpus.ts";
import { createAccount, startRelayer } from "./relayer_process.ts";
import { CUTS, type Found } from "./scores.ts";

/** What was found, and how fast. */
export interface MeasuredRetrieval {
  /** What was found for each question, in the order of the questions. */
  readonly found: readonly Found[];
  /** Milliseconds per question, sorted. */
  readonly latenciesMs: Float64Array;
  /** Memories that were added in a second. */
  readonly memoriesPerSecond: number;
}

const MOST = Math.max(...CUTS);
/** Number of texts that are embedded at a time. */
const BATCH = 32;
/** Number of texts in one request. */
const BULK = 20;
/** Longest wait until the memories of a request are stored, in milliseconds. */
const STORED_LIMIT_MS = 120_000;
/**
 * The share of memories from which on a language counts: as in recall, a
 * question is stemmed in each language of at least this share of the memories.
 */
const MIN_LANGUAGE_SHARE = 0.2;

/**
 * Asks all questions, one after the other.
 *
 * @param ask Returns the ids of what is found, the best first.
 */
async function askAll(
  namespaces: readonly CorpusNamespace[],
  ask: (text: string, namespaceAt: number) => Promise<readonly string[]>,
): Promise<Pick<MeasuredRetrieval, "found" | "latenciesMs">> {
  const found: Found[] = [];
  const latencies: number[] = [];
  for (const [at, { name: namespace, questions }] of namespaces.entries()) {
    for (const { text, category, gold } of questions) {
      const askedMs = performance.now();
      const ranked = await ask(text, at);
      latencies.push(performance.now() - askedMs);
      found.push({ namespace, category, gold, ranked });
    }
  }
  return { found, latenciesMs: sorted(latencies) };
}

/** Returns the rate of adding all memories since `beginMs`. */
function rateSince(
  beginMs: number,
  namespaces: readonly CorpusNamespace[],
): number {
  const count = namespaces.flatMap(({ memories }) => memories).length;
  return count / Math.max(1, performance.now() - beginMs) * 1_000;
}

/**
 * Asks by plain BM25 (k1 .9, b .4) with the stemmers that recall uses, each
 * namespace separately: a baseline to compare with.
 */
export async function measureWords(
  namespaces: readonly CorpusNamespace[],
): Promise<MeasuredRetrieval> {
  const beginMs = performance.now();
  const indexes = namespaces.map(({ memories }) => {
    const postings = new Postings();
    const memoriesIn = new Map<Language, number>();
    for (const [createdAtMs, { id, text }] of memories.entries()) {
      const { terms, language = "en" } = finish(memoryWordsSteps(text));
      postings.put(id, { createdAtMs, terms });
      memoriesIn.set(language, (memoriesIn.get(language) ?? 0) + 1);
    }
    const languages = [...memoriesIn]
      .filter(([, count]) => count >= MIN_LANGUAGE_SHARE * memories.length)
      .sort(([, one], [, other]) => other - one)
      .map(([language]) => language);
    return { postings, languages };
  });
  const memoriesPerSecond = rateSince(beginMs, namespaces);
  const measured = await askAll(namespaces, (text, at) => {
    const { postings, languages } = indexes[at]!;
    const words = questionTerms(text, languages);
    const { hits } = postings.search(words, { limit: MOST });
    return Promise.resolve(hits.map(({ id }) => id));
  });
  return { ...measured, memoriesPerSecond };
}

/**
 * Puts the memories into the relayer's index and asks it, each namespace
 * separately, as an owner of its own.
 *
 * @throws {Error} When the embedder does not answer, or two memories of a
 * namespace have the same id.
 */
export async function measureIndex(
  namespaces: readonly CorpusNamespace[],
  { embedder, vectorWeight }: {
    /** Turns texts into vectors. */
    readonly embedder: Embedder;
    /**
     * The weight of vectors relative to words in the ranking.
     *
     * @default ranking by vectors alone
     */
    readonly vectorWeight?: number | undefined;
  },
): Promise<MeasuredRetrieval> {
  const index = new VectorIndex(embedder.width);
  const beginMs = performance.now();
  for (const [at, { name, memories }] of namespaces.entries()) {
    for (let from = 0; from < memories.length; from += BATCH) {
      const batch = memories.slice(from, from + BATCH);
      const texts = batch.map(({ text }) => text);
      const vectors = await embedded(texts, embedder);
      for (const [item, { id, text }] of batch.entries()) {
        index.add({
          ...{ id, owner: ownerAt(at), namespace: name, blobId: id },
          ...{ sizeBytes: 0, createdAtMs: from + item, importance: null },
          ...{ metadata: {}, vector: vectors[item]! },
          words: finish(memoryWordsSteps(text)),
        });
      }
    }
  }
  const memoriesPerSecond = rateSince(beginMs, namespaces);
  const memories = namespaces.flatMap(({ memories }) => memories).length;
  // A memory that is missing in the index could not be found, and the figures
  // would be wrong.
  if (index.size !== memories) {
    throw new Error(
      `Cannot measure: the index has ${index.size} of ${memories} memories; ` +
        "ids must be unique in each conversation",
    );
  }
  const measured = await askAll(namespaces, async (text, at) => {
    const [vector] = await embedded([text], embedder);
    const hits = finish(
      index.searchSteps({
        ...{ owner: ownerAt(at), namespace: namespaces[at]!.name },
        ...{ vector: vector!, limit: MOST },
        fused: vectorWeight === undefined
          ? undefined
          : { text, vectorWeight, explain: false },
      }),
    );
    return hits.map(({ id }) => id);
  });
  return { ...measured, memoriesPerSecond };
}

function ownerAt(at: number): string {
  return `0x${(at + 1).toString(16).padStart(64, "0")}`;
}

async function embedded(
  texts: readonly string[],
  embedder: Embedder,
): Promise<readonly Float32Array[]> {
  const outcome = await embedder.embed(
    texts.map((text) => finish(vectorTextSteps(text))),
  );
  if (outcome.kind === "ok") return outcome.vectors;
  throw new Error(outcome.reason);
}

/**
 * A relayer process on a data folder of its own, with the memories that it was
 * given as an application gives them; it ends when it is disposed of.
 */
export interface RememberedCorpus extends AsyncDisposable {
  /**
   * Asks all questions, one after the other.
   *
   * @throws {Error} When a result contains a memory that the relayer was not
   * given.
   */
  ask(ranking: Ranking): Promise<MeasuredRetrieval>;
}

/**
 * Starts a relayer and remembers all memories in their order, each namespace
 * separately.
 *
 * @param options.env Settings of the process beside the usual ones.
 * @throws {Error} When a memory is not stored.
 */
export async function rememberCorpus(
  namespaces: readonly CorpusNamespace[],
  { env = {} }: { readonly env?: Readonly<Record<string, string>> } = {},
): Promise<RememberedCorpus> {
  await using rest = new AsyncDisposableStack();
  const dataDir = await Deno.makeTempDir({ prefix: "tercet-bench-" });
  rest.defer(() => Deno.remove(dataDir, { recursive: true }));
  const { key, accountId } = await createAccount({ DATA_DIR: dataDir });
  const { process, url } = await startRelayer({ DATA_DIR: dataDir, ...env });
  rest.defer(() => process.stop());
  const mem = Mem.create({ serverUrl: url, key, accountId });
  rest.defer(() => mem.destroy());
  // The id of each memory in the corpus, by the id that the relayer gave it.
  const ids = new Map<string, string>();
  const beginMs = performance.now();
  for (const [at, { memories }] of namespaces.entries()) {
    for (let from = 0; from < memories.length; from += BULK) {
      const batch = memories.slice(from, from + BULK);
      const given = await rememberAll(mem, namespaceAt(at), batch);
      for (const [item, id] of given.entries()) ids.set(id, batch[item]!.id);
    }
  }
  const memoriesPerSecond = rateSince(beginMs, namespaces);
  const held = rest.move();
  return {
    async ask(ranking) {
      const measured = await askAll(namespaces, async (query, at) => {
        const namespace = namespaceAt(at);
        const { results } = await mem.recall({
          ...{ query, namespace, ranking, limit: MOST },
        });
        return results.map(({ id = "" }) => {
          const known = ids.get(id);
          if (known !== undefined) return known;
          throw new Error(
            `Cannot measure: recall gave a memory "${id}" that was never given`,
          );
        });
      });
      return { ...measured, memoriesPerSecond };
    },
    [Symbol.asyncDispose]: () => held.disposeAsync(),
  };
}

/** Remembers texts and returns their ids, once they are stored. */
async function rememberAll(
  mem: Mem,
  namespace: string,
  memories: readonly CorpusMemory[],
): Promise<readonly string[]> {
  const { results } = await mem.rememberBulkAndWait(
    memories.map(({ text }) => ({ text, namespace })),
    { timeoutMs: STORED_LIMIT_MS },
  );
  return results.map(({ id, status, error = "" }) => {
    if (status === "done") return id;
    throw new Error(
      `Cannot measure: a memory is not stored but "${status}" ${error}`,
    );
  });
}

/**
 * The namespace at the relayer: corpus names may contain characters that
 * namespaces cannot.
 */
function namespaceAt(at: number): string {
  return `corpus-${at + 1}`;
}
