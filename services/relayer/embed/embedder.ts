/**
 * The embedder's interface: turns texts into vectors.
 *
 * @module
 */

import type { WorkOptions } from "../concurrency/bounded_work.ts";

/** The outcome of embedding. */
export type EmbedOutcome =
  | { readonly kind: "ok"; readonly vectors: readonly Float32Array[] }
  | {
    readonly kind: "unavailable";
    /** Says what failed, fit for logs; never holds a text or an API key. */
    readonly reason: string;
    /** Milliseconds to wait before a retry, where the endpoint named them. */
    readonly retryAfterMs?: number | undefined;
    /** Whether a retry can succeed at all. */
    readonly isPassing: boolean;
    /**
     * Whether the model's vectors have another width than is set, which only
     * the operator can change.
     *
     * @default {false}
     */
    readonly isMisfit?: boolean;
  };

/** Turns texts into vectors. */
export interface Embedder {
  /** Number of values in each vector. */
  readonly width: number;
  /** Names the model; vectors of different models cannot be compared. */
  readonly model: string;
  /**
   * Returns one vector of length 1 for each text, in the order of the texts.
   */
  embed(
    texts: readonly string[],
    options?: WorkOptions,
  ): Promise<EmbedOutcome>;
}

/** The outcome of a call whose signal was aborted. */
export const EMBEDDING_ENDED: Extract<
  EmbedOutcome,
  { readonly kind: "unavailable" }
> = {
  kind: "unavailable",
  reason: "Cannot embed texts: the call was aborted",
  isPassing: true,
};
