/**
 * Turns texts into vectors, as a port.
 *
 * @module
 */

import type { WorkOptions } from "../concurrency/bounded_work.ts";

/** The outcome of embedding. */
export type EmbedOutcome =
  | { readonly kind: "ok"; readonly vectors: readonly Float32Array[] }
  | {
    readonly kind: "unavailable";
    /** In words fit for logs; never holds text or a key. */
    readonly reason: string;
    /** When it is worth trying again, where the other end said so. */
    readonly retryAfterMs?: number | undefined;
    /** Whether trying again can help at all. */
    readonly isPassing: boolean;
  };

/** Turns texts into vectors. */
export interface Embedder {
  /** How wide the vectors are. */
  readonly width: number;
  /** Names what made the vectors: those of different makers don't compare. */
  readonly model: string;
  /** One vector of length 1 for each text, in their order. */
  embed(
    texts: readonly string[],
    options?: WorkOptions,
  ): Promise<EmbedOutcome>;
}
