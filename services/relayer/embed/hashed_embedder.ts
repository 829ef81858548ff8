/**
 * The built-in embedder, which hashes words into vectors. It needs no weights,
 * no network and no key, and gives the same vector for the same text on every
 * machine, for ever.
 *
 * It is a vector form of matching words. Each word, pair of words and piece of
 * a word has a place and a sign by its hash, and adds its weight there (feature
 * hashing: Weinberger and others, 2009). Texts that share words, endings aside,
 * are close, rare words above all; rare spellings still share pieces of words.
 *
 * It is not a language model. It does not know that a dog is an animal, and
 * finds nothing across languages. Operators who need that configure an endpoint
 * that makes vectors.
 *
 * @module
 */

import { NEVER_PAUSING } from "../../shared/slices.ts";
import {
  finishInSlices,
  type Steps,
  type WorkOptions,
} from "../concurrency/bounded_work.ts";
import {
  type Embedder,
  EMBEDDING_ENDED,
  type EmbedOutcome,
} from "./embedder.ts";
import { textFeatures } from "./text_features.ts";

/** Number of values in the vectors that released clients send and expect. */
const DEFAULT_WIDTH = 1_536;

/** Number of features that are summed in one step. */
const FEATURES_PER_STEP = 256;

/** Makes vectors of hashed words. */
export class HashedEmbedder implements Embedder {
  /** Number of values in each vector. */
  readonly width: number;
  /** The embedder's name and the version of its weights. */
  readonly model = "hashed-words-2";

  /**
   * An embedder that is ready.
   *
   * @throws {RangeError} when the width is not a whole number above 0
   */
  constructor(width: number = DEFAULT_WIDTH) {
    if (!Number.isInteger(width) || width < 1) {
      throw new RangeError(
        `Cannot make an embedder: the width is "${width}", not above 0`,
      );
    }
    this.width = width;
  }

  /**
   * Returns one vector of length 1 for each text; `unavailable` only when the
   * signal is aborted.
   */
  async embed(
    texts: readonly string[],
    options: WorkOptions = {},
  ): Promise<EmbedOutcome> {
    const { signal, pausing = NEVER_PAUSING } = options;
    const vectors: Float32Array[] = [];
    for (const text of texts) {
      if (signal?.aborted === true) return EMBEDDING_ENDED;
      const steps = hashingSteps(text, this.width);
      vectors.push(await finishInSlices(steps, { pausing }));
      await pausing.pause();
    }
    return { kind: "ok", vectors };
  }
}

/**
 * Computes the vector of a text in steps: its hashed words, scaled to length 1.
 */
export function* hashingSteps(
  text: string,
  width: number,
): Steps<Float32Array> {
  const sums = new Float64Array(width);
  let features = 0;
  for (const [feature, weight] of yield* textFeatures(text)) {
    if (++features % FEATURES_PER_STEP === 0) yield;
    const hash = hashText(feature);
    const place = hash % width;
    const sign = (mixed(hash ^ 0x9e3779b9) & 1) === 0 ? 1 : -1;
    sums[place] = (sums[place] ?? 0) + sign * weight;
  }
  let squares = 0;
  for (let place = 0; place < width; place++) {
    squares += (sums[place] ?? 0) ** 2;
  }
  // In a text that was made for it, all weights may cancel each other out.
  if (squares === 0) sums[0] = 1;
  const length = squares === 0 ? 1 : Math.sqrt(squares);
  const vector = new Float32Array(width);
  for (let place = 0; place < width; place++) {
    vector[place] = (sums[place] ?? 0) / length;
  }
  return vector;
}

/** FNV-1a over UTF-16 units, with the last step of MurmurHash3. */
function hashText(text: string): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < text.length; at++) {
    hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  }
  return mixed(hash);
}

function mixed(value: number): number {
  let hash = value;
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}
