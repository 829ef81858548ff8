/**
 * Watches an embedder, so that health tells whether it makes vectors, from the
 * start on.
 *
 * @module
 */

import type { Logger } from "../../shared/logger.ts";
import { describeError, settle } from "../../shared/settled.ts";
import type { WorkOptions } from "../concurrency/bounded_work.ts";
import type { Embedder, EmbedOutcome } from "./embedder.ts";

/** Whether an embedder makes vectors. */
export type EmbedderState =
  /** It does, or was not asked yet. */
  | { readonly state: "ready" }
  /** It did not the last time; why is said without texts and keys. */
  | { readonly state: "away" | "misfit"; readonly reason: string };

/** A text that every embedder takes. */
const TAKEN_TEXT = "memory";

/** An embedder whose last outcome is known. */
export class WatchedEmbedder implements Embedder {
  /** Number of values in each vector. */
  readonly width: number;
  /** Names the model. */
  readonly model: string;
  readonly #embedder: Embedder;
  #state: EmbedderState = { state: "ready" };

  /** Watches an embedder. */
  constructor(embedder: Embedder) {
    this.#embedder = embedder;
    this.width = embedder.width;
    this.model = embedder.model;
  }

  /** Whether it made vectors when it was asked last. */
  get state(): EmbedderState {
    return this.#state;
  }

  /** Asks the embedder, and notes what becomes of that. */
  async embed(
    texts: readonly string[],
    options: WorkOptions = {},
  ): Promise<EmbedOutcome> {
    const outcome = await this.#embedder.embed(texts, options);
    // A text that is refused, or a call that was ended, says nothing about the
    // embedder.
    if (outcome.kind === "ok") this.#state = { state: "ready" };
    else if (outcome.isPassing && options.signal?.aborted !== true) {
      const { reason, isMisfit = false } = outcome;
      this.#state = { state: isMisfit ? "misfit" : "away", reason };
    }
    return outcome;
  }

  /** Asks once for a vector, and logs why there is none. */
  async probe(
    { logger, signal }: {
      /** Takes the reason. */
      readonly logger: Logger;
      /** Ends the call. */
      readonly signal: AbortSignal;
    },
  ): Promise<void> {
    const asked = await settle(() => this.embed([TAKEN_TEXT], { signal }));
    if (signal.aborted) return;
    const reason = asked.kind === "failed"
      ? describeError(asked.error)
      : asked.value.kind === "ok"
      ? undefined
      : asked.value.reason;
    if (reason === undefined) return;
    logger.error("Memories are found by words only: there are no vectors", {
      reason,
    });
  }
}
