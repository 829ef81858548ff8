/**
 * Vectors of texts that were embedded a moment ago. It pays in front of an endpoint,
 * where the same question asked again costs a round trip and money.
 *
 * @module
 */

import { BoundedMap } from "../../shared/bounded_map.ts";
import type { Clock } from "../../shared/clock.ts";
import type { Embedder, EmbedOptions, EmbedOutcome } from "./embedder.ts";

/** Options of {@linkcode CachedEmbedder}. */
export interface CachedEmbedderOptions {
  /** Makes the vectors. */
  readonly embedder: Embedder;
  /** The time. */
  readonly clock: Clock;
  /**
   * Most texts that are kept; those that were not asked for longest go first.
   *
   * @default {1000}
   */
  readonly maxTexts?: number;
  /**
   * Longer texts are not kept, in UTF-16 units.
   *
   * @default {2048}
   */
  readonly maxChars?: number;
  /**
   * Milliseconds that a vector is kept.
   *
   * @default {600000}
   */
  readonly ttlMs?: number;
}

interface Kept {
  readonly vector: Float32Array;
  readonly untilMs: number;
}

/** An embedder that remembers, in memory only. */
export class CachedEmbedder implements Embedder {
  /** How wide the vectors are. */
  readonly width: number;
  /** Names what made the vectors. */
  readonly model: string;
  readonly #options: Required<CachedEmbedderOptions>;
  readonly #kept: BoundedMap<string, Kept>;

  /** A cache in front of `embedder`. */
  constructor(options: CachedEmbedderOptions) {
    this.#options = {
      maxTexts: 1_000,
      maxChars: 2_048,
      ttlMs: 600_000,
      ...options,
    };
    this.#kept = new BoundedMap({ maxEntries: this.#options.maxTexts });
    this.width = options.embedder.width;
    this.model = options.embedder.model;
  }

  /** One vector for each text; only new ones are asked for. */
  async embed(
    texts: readonly string[],
    options: EmbedOptions = {},
  ): Promise<EmbedOutcome> {
    const vectors = texts.map((text) => this.#find(text));
    const missing = [
      ...new Set(texts.filter((_, at) => vectors[at] === undefined)),
    ];
    if (missing.length === 0) {
      return { kind: "ok", vectors: vectors.filter(isVector) };
    }
    const outcome = await this.#options.embedder.embed(missing, options);
    if (outcome.kind === "unavailable") return outcome;
    const made = new Map(
      missing.map((text, at) => [text, outcome.vectors[at]] as const),
    );
    for (const [text, vector] of made) this.#keep(text, vector);
    const all = texts.map((text, at) => vectors[at] ?? made.get(text));
    return { kind: "ok", vectors: all.filter(isVector) };
  }

  #find(text: string): Float32Array | undefined {
    const kept = this.#kept.get(text);
    if (kept === undefined) return undefined;
    if (kept.untilMs > this.#options.clock.nowMs()) return kept.vector;
    this.#kept.delete(text);
    return undefined;
  }

  #keep(text: string, vector: Float32Array | undefined): void {
    const { clock, maxChars, ttlMs } = this.#options;
    if (vector === undefined || text.length > maxChars) return;
    this.#kept.set(text, { vector, untilMs: clock.nowMs() + ttlMs });
  }
}

function isVector(vector: Float32Array | undefined): vector is Float32Array {
  return vector !== undefined;
}
