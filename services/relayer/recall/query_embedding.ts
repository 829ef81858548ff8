/**
 * Makes the vector of a question. A recall that can rank by words does not wait
 * long for it.
 *
 * @module
 */

import { type Clock, steadyMs } from "../../shared/clock.ts";
import type { Logger } from "../../shared/logger.ts";
import type { Pausing } from "../../shared/slices.ts";
import { boundedWork, finishInSlices } from "../concurrency/bounded_work.ts";
import type { Embedder, EmbedOutcome } from "../embed/embedder.ts";
import { vectorTextSteps } from "../embed/words.ts";
import type { RecallOutcome } from "./recall_request.ts";

/** Parts of {@linkcode QueryEmbedding}. */
interface QueryEmbeddingParts {
  /** Makes vectors of queries. */
  readonly embedder: Embedder;
  /** The time. */
  readonly clock: Clock;
  /** Gets a warning for queries that cannot be embedded. */
  readonly logger: Logger;
}

/**
 * The longest that a recall which ranks by words as well waits for a vector.
 */
const MAX_WAIT_FOR_VECTOR_MS = 3_000;
/**
 * For {@linkcode HURRY_MS} after a vector that came too late, recalls wait no
 * longer than this.
 */
const HURRIED_WAIT_MS = 300;
const HURRY_MS = 30_000;

const LATE: EmbedOutcome = {
  kind: "unavailable",
  reason: "Cannot embed query: it took too long",
  isPassing: true,
};

/** Embeds questions, and learns when the embedder is slow. */
export class QueryEmbedding {
  readonly #parts: QueryEmbeddingParts;
  /** Until then recalls wait only briefly for a vector, by a steady clock. */
  #hurriedUntilMs = -Infinity;

  /** Starts patient. */
  constructor(parts: QueryEmbeddingParts) {
    this.#parts = parts;
  }

  /**
   * Returns the vector of a query. Without one it returns undefined where words
   * rank as well, "misfit" where words rank in place of vectors that do not
   * fit, and else the outcome with which the recall ends.
   */
  async embed(
    query: string,
    options: {
      /** Ends it early. */
      readonly signal: AbortSignal;
      /** Gives others their turn. */
      readonly pausing: Pausing;
      /** Whether words rank as well. */
      readonly hasWords: boolean;
      /** When the recall has to be over. */
      readonly deadlineMs: number | undefined;
    },
  ): Promise<Float32Array | undefined | "misfit" | RecallOutcome> {
    const { embedder, clock, logger } = this.#parts;
    const { pausing, hasWords, deadlineMs = Infinity } = options;
    const isHurried = steadyMs(clock) < this.#hurriedUntilMs;
    const mostMs = isHurried ? HURRIED_WAIT_MS : MAX_WAIT_FOR_VECTOR_MS;
    // The other half of the deadline is for searching by words.
    const longestMs = Math.min(mostMs, deadlineMs / 2);
    const text = await finishInSlices(vectorTextSteps(query), options);
    const bounded = await boundedWork({
      clock,
      timeoutMs: hasWords ? longestMs : undefined,
      signal: options.signal,
      run: (signal) => embedder.embed([text], { signal, pausing }),
    });
    const outcome = bounded.kind === "done" ? bounded.result : LATE;
    // A vector that is too late for this caller's short deadline may be in time
    // for other callers.
    if (bounded.kind === "late" && longestMs === MAX_WAIT_FOR_VECTOR_MS) {
      this.#hurriedUntilMs = steadyMs(clock) + HURRY_MS;
    }
    if (outcome.kind === "ok" && outcome.vectors[0] !== undefined) {
      return outcome.vectors[0];
    }
    const { reason, retryAfterMs, isMisfit = false } = outcome.kind === "ok"
      ? {
        reason: "Cannot embed query: there is no vector",
        retryAfterMs: undefined,
      }
      : outcome;
    if (!options.signal.aborted) {
      const what = hasWords || isMisfit
        ? "Recalled by words alone"
        : "Cannot recall";
      logger.warn(`${what}: no vector`, { reason });
    }
    if (hasWords) return undefined;
    return isMisfit ? "misfit" : { kind: "unavailable", retryAfterMs };
  }
}
