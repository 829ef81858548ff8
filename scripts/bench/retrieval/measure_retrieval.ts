/**
 * Puts the memories of a corpus into the relayer's index and asks it the
 * questions.
 *
 * @module
 */

import type { Embedder } from "../../../services/relayer/embed/embedder.ts";
import { finish } from "../../../services/relayer/concurrency/testing/finish.ts";
import { vectorTextSteps } from "../../../services/relayer/embed/words.ts";
import { memoryWordsSteps } from "../../../services/relayer/recall/ranking/memory_words.ts";
import { VectorIndex } from "../../../services/relayer/recall/vector_index.ts";
import type { CorpusNamespace } from "./corpus.ts";
import { CUTS, type Found } from "./retrieval_score.ts";

/** What the index found, and how fast. */
export interface MeasuredRetrieval {
  /** What was found for each question, in the order of the questions. */
  readonly found: readonly Found[];
  /** Milliseconds per question, for embedding and search together, sorted. */
  readonly latenciesMs: Float64Array;
  /** Memories that were embedded and indexed in a second. */
  readonly memoriesPerSecond: number;
}

const MOST = Math.max(...CUTS);
const BATCH = 32;

/**
 * Indexes all memories, each namespace separately, and asks all questions.
 *
 * @throws {Error} when the embedder does not answer, or two memories of a
 * namespace have the same id
 */
export async function measureRetrieval(
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
  for (const [at, corpus] of namespaces.entries()) {
    await fill(index, { owner: ownerOf(at), corpus, embedder });
  }
  const filledMs = Math.max(1, performance.now() - beginMs);
  const memories = namespaces.reduce(
    (sum, { memories }) => sum + memories.length,
    0,
  );
  // A memory that is missing in the index could not be found, and the figures
  // would be wrong.
  if (index.size !== memories) {
    throw new Error(
      `Cannot measure: the index has ${index.size} of ${memories} memories; ` +
        "ids must be unique in each conversation",
    );
  }
  const found: Found[] = [];
  const latencies: number[] = [];
  for (const [at, { name: namespace, questions }] of namespaces.entries()) {
    const owner = ownerOf(at);
    for (const { text, category, gold } of questions) {
      const askedMs = performance.now();
      const [vector] = await vectorsOf([text], embedder);
      if (vector === undefined) throw new Error("Cannot ask: no vector");
      const limit = MOST;
      const hits = finish(
        index.searchSteps({
          ...{ owner, namespace, vector, limit },
          fused: vectorWeight === undefined
            ? undefined
            : { text, vectorWeight, explain: false },
        }),
      );
      latencies.push(performance.now() - askedMs);
      const ranked = hits.map(({ id }) => id);
      found.push({ namespace, category, gold, ranked });
    }
  }
  return {
    found,
    latenciesMs: Float64Array.from(latencies).sort(),
    memoriesPerSecond: index.size / filledMs * 1_000,
  };
}

/**
 * The owner of a namespace: each conversation has one of its own, as it would
 * in use.
 */
function ownerOf(at: number): string {
  return `0x${(at + 1).toString(16).padStart(64, "0")}`;
}

async function fill(
  index: VectorIndex,
  { owner, corpus: { name: namespace, memories }, embedder }: {
    readonly owner: string;
    readonly corpus: CorpusNamespace;
    readonly embedder: Embedder;
  },
): Promise<void> {
  for (let from = 0; from < memories.length; from += BATCH) {
    const batch = memories.slice(from, from + BATCH);
    const vectors = await vectorsOf(batch.map(({ text }) => text), embedder);
    batch.forEach(({ id, text }, at) => {
      const vector = vectors[at];
      if (vector === undefined) throw new Error("Cannot remember: no vector");
      index.add({
        id,
        owner,
        namespace,
        blobId: id,
        sizeBytes: 0,
        createdAtMs: from + at,
        importance: null,
        metadata: {},
        vector,
        words: finish(memoryWordsSteps(text)),
      });
    });
  }
}

async function vectorsOf(
  texts: readonly string[],
  embedder: Embedder,
): Promise<readonly Float32Array[]> {
  const outcome = await embedder.embed(
    texts.map((text) => finish(vectorTextSteps(text))),
  );
  if (outcome.kind === "ok") return outcome.vectors;
  throw new Error(outcome.reason);
}
