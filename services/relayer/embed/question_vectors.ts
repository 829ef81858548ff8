/**
 * A cache of question vectors in front of an embedder whose calls cost time and
 * money. A question that is asked again is answered from memory, equal
 * questions that are asked at the same time share a call, and questions that
 * come while the most calls are under way go together in the next one.
 *
 * @module
 */

import { BoundedMap } from "../../shared/bounded_map.ts";
import { type Clock, steadyMs } from "../../shared/clock.ts";
import { settle } from "../../shared/settled.ts";
import type { WorkOptions } from "../concurrency/bounded_work.ts";
import {
  type Embedder,
  EMBEDDING_ENDED,
  type EmbedOutcome,
} from "./embedder.ts";

/** Options of {@linkcode QuestionVectors}. */
interface QuestionVectorsOptions {
  /** Makes the vectors that are not in memory. */
  readonly embedder: Embedder;
  /** Tells when a vector has been kept for long enough. */
  readonly clock: Clock;
  /**
   * The most questions whose vectors are kept; at the limit, the one that was
   * not asked for longest is evicted. With 0, no vector is kept.
   *
   * @default {1000}
   */
  readonly maxKept?: number | undefined;
  /**
   * The longest question whose vector is kept, in UTF-16 units.
   *
   * @default {2048}
   */
  readonly maxChars?: number | undefined;
  /**
   * Milliseconds that a vector is kept.
   *
   * @default {600000}
   */
  readonly ttlMs?: number | undefined;
  /**
   * The most calls of the embedder at the same time; further questions wait.
   *
   * @default {8}
   */
  readonly parallelCalls?: number | undefined;
}

type Filled = {
  readonly [Name in keyof QuestionVectorsOptions]-?: NonNullable<
    QuestionVectorsOptions[Name]
  >;
};

/** How many vectors of questions came from where. */
export interface QuestionCounts {
  /** Questions whose vector was in memory. */
  readonly kept: number;
  /** Questions that shared the call of an equal one, under way or waiting. */
  readonly shared: number;
  /** Questions that the embedder was asked for. */
  readonly asked: number;
}

interface Kept {
  readonly vector: Float32Array;
  readonly untilMs: number;
}

type Failed = Extract<EmbedOutcome, { readonly kind: "unavailable" }>;

/** The outcome for one question. */
type QuestionOutcome =
  | { readonly kind: "ok"; readonly vector: Float32Array }
  | Failed;

/** A question that waits for its vector. */
interface Pending {
  readonly text: string;
  readonly settled: PromiseWithResolvers<QuestionOutcome>;
  /** Number of callers who wait for the vector. */
  waiters: number;
  /** Whether it needs a call of its own, as a call with others was refused. */
  isAlone: boolean;
  /** The call that asks for it, once that is under way. */
  call: Call | undefined;
}

interface Call {
  readonly batch: readonly Pending[];
  readonly ending: AbortController;
}

/** The most questions of one call: as many as an endpoint takes. */
const MAX_BATCH = 100;

/** An embedder for questions; what it keeps is in memory only. */
export class QuestionVectors implements Embedder {
  /** Number of values in each vector. */
  readonly width: number;
  /** Names the model that makes the vectors. */
  readonly model: string;
  readonly #options: Filled;
  readonly #kept: BoundedMap<string, Kept> | undefined;
  readonly #pending = new Map<string, Pending>();
  #queue: Pending[] = [];
  #calls = 0;
  readonly #counts = { kept: 0, shared: 0, asked: 0 };

  /** A cache that is empty. */
  constructor(
    {
      embedder,
      clock,
      maxKept = 1_000,
      maxChars = 2_048,
      ttlMs = 600_000,
      parallelCalls = 8,
    }: QuestionVectorsOptions,
  ) {
    this.#options = {
      ...{ embedder, clock, maxKept, maxChars, ttlMs, parallelCalls },
    };
    this.#kept = maxKept === 0
      ? undefined
      : new BoundedMap({ maxEntries: maxKept });
    this.width = embedder.width;
    this.model = embedder.model;
  }

  /** How many vectors so far came from where. */
  get counts(): QuestionCounts {
    return { ...this.#counts };
  }

  /** Returns one vector for each question, or `unavailable` for all of them. */
  async embed(
    texts: readonly string[],
    { signal }: WorkOptions = {},
  ): Promise<EmbedOutcome> {
    const vectors: Float32Array[] = [];
    const outcomes = texts.map((text) => this.#one(text, signal));
    for (const outcome of await Promise.all(outcomes)) {
      if (outcome.kind === "unavailable") return outcome;
      vectors.push(outcome.vector);
    }
    return { kind: "ok", vectors };
  }

  async #one(
    text: string,
    signal: AbortSignal | undefined,
  ): Promise<QuestionOutcome> {
    if (signal?.aborted === true) return EMBEDDING_ENDED;
    const vector = this.#find(text);
    if (vector !== undefined) {
      this.#counts.kept++;
      return { kind: "ok", vector };
    }
    const pending = this.#getPending(text);
    pending.waiters++;
    const gone = Promise.withResolvers<QuestionOutcome>();
    const leave = (): void => gone.resolve(EMBEDDING_ENDED);
    signal?.addEventListener("abort", leave, { once: true });
    try {
      return await Promise.race([pending.settled.promise, gone.promise]);
    } finally {
      signal?.removeEventListener("abort", leave);
      pending.waiters--;
      this.#endUnwanted(pending);
    }
  }

  #getPending(text: string): Pending {
    const known = this.#pending.get(text);
    if (known !== undefined) {
      this.#counts.shared++;
      return known;
    }
    this.#counts.asked++;
    const pending: Pending = {
      ...{ text, waiters: 0, isAlone: false, call: undefined },
      settled: Promise.withResolvers(),
    };
    this.#pending.set(text, pending);
    this.#queue.push(pending);
    // All questions of this turn of the event loop go into one call.
    queueMicrotask(() => this.#begin());
    return pending;
  }

  /**
   * Drops a question that no caller waits for: it leaves the queue, or its call
   * is aborted once no caller waits for any question of it.
   */
  #endUnwanted(pending: Pending): void {
    if (pending.waiters > 0 || !this.#isPending(pending)) return;
    const { call } = pending;
    if (call === undefined) {
      this.#pending.delete(pending.text);
      this.#queue = this.#queue.filter((other) => other !== pending);
      return;
    }
    if (call.batch.some(({ waiters }) => waiters > 0)) return;
    for (const one of call.batch) this.#forget(one);
    call.ending.abort();
  }

  #begin(): void {
    while (
      this.#queue.length > 0 && this.#calls < this.#options.parallelCalls
    ) {
      const count = this.#queue[0]?.isAlone === true ? 1 : batchLength(
        this.#queue,
      );
      const batch = this.#queue.splice(0, count);
      const call = { batch, ending: new AbortController() };
      for (const one of batch) one.call = call;
      this.#calls++;
      this.#run(call).finally(() => {
        this.#calls--;
        this.#begin();
      });
    }
  }

  /** Runs a call. Never throws: an error is passed to the callers who wait. */
  async #run({ batch, ending }: Call): Promise<void> {
    const { embedder } = this.#options;
    const settled = await settle(() =>
      embedder.embed(batch.map(({ text }) => text), { signal: ending.signal })
    );
    if (settled.kind === "failed") {
      for (const one of batch) {
        this.#forget(one);
        one.settled.reject(settled.error);
      }
      return;
    }
    const outcome = settled.value;
    if (
      outcome.kind === "unavailable" && !outcome.isPassing && batch.length > 1
    ) {
      // One question may be the cause. Each gets a call of its own, so that the
      // others do not fail with it.
      for (const one of batch) {
        if (one.waiters === 0) {
          this.#forget(one);
          continue;
        }
        one.isAlone = true;
        one.call = undefined;
        this.#queue.push(one);
      }
      return;
    }
    batch.forEach((one, at) => {
      this.#forget(one);
      one.settled.resolve(this.#taken(one, { outcome, at }));
    });
  }

  #taken(
    { text }: Pending,
    { outcome, at }: { readonly outcome: EmbedOutcome; readonly at: number },
  ): QuestionOutcome {
    if (outcome.kind === "unavailable") return outcome;
    const vector = outcome.vectors[at];
    if (vector === undefined) {
      return {
        ...EMBEDDING_ENDED,
        reason: "Cannot embed texts: a vector is missing",
      };
    }
    this.#keep(text, vector);
    return { kind: "ok", vector };
  }

  #isPending(pending: Pending): boolean {
    return this.#pending.get(pending.text) === pending;
  }

  #forget(pending: Pending): void {
    if (this.#isPending(pending)) this.#pending.delete(pending.text);
  }

  #find(text: string): Float32Array | undefined {
    const kept = this.#kept?.get(text);
    if (kept === undefined) return undefined;
    if (kept.untilMs > steadyMs(this.#options.clock)) return kept.vector;
    this.#kept?.delete(text);
    return undefined;
  }

  #keep(text: string, vector: Float32Array): void {
    const { clock, maxChars, ttlMs } = this.#options;
    if (text.length > maxChars) return;
    this.#kept?.set(text, { vector, untilMs: steadyMs(clock) + ttlMs });
  }
}

/** How many questions at the head of the queue go into one call. */
function batchLength(queue: readonly Pending[]): number {
  const alone = queue.slice(0, MAX_BATCH).findIndex(({ isAlone }) => isAlone);
  return alone < 0 ? MAX_BATCH : alone;
}
