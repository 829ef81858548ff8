/**
 * Asks the relayer's index the questions of a corpus.
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

/** What came of it. */
export interface MeasuredRetrieval {
  /** What was found for each question, in their order. */
  readonly found: readonly Found[];
  /** Milliseconds of each question, embedded and searched for, sorted. */
  readonly latenciesMs: Float64Array;
  /** Memories that were embedded and added in a second. */
  readonly memoriesPerSecond: number;
}

const MOST = Math.max(...CUTS);
const BATCH = 32;

/**
 * Remembers all memories, each namespace by itself, and asks all questions.
 *
 * @throws {Error} when the embedder does not answer, or two memories of a
 * namespace have one id
 */
export async function measureRetrieval(
  namespaces: readonly CorpusNamespace[],
  { embedder, vectorWeight }: {
    /** Makes the vectors. */
    readonly embedder: Embedder;
    /**
     * What vectors weigh beside words.
     *
     * @default vectors alone rank
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
  // What is not in the index is not found, and the figures would be false.
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

/** Each conversation has an owner of its own, as those who talk in it have. */
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
