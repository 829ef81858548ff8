/**
 * Vectors of questions, in front of an endpoint where each call costs time and money:
 * a question that is asked again is answered from memory, equal ones that are asked at
 * the same time share a call, and those that come while enough calls are under way go
 * together in the next one.
 *
 * @module
 */

import { BoundedMap } from "../../shared/bounded_map.ts";
import type { Clock } from "../../shared/clock.ts";
import { settle } from "../../shared/settled.ts";
import { steadyMs, type WorkOptions } from "../concurrency/bounded_work.ts";
import type { Embedder, EmbedOutcome } from "./embedder.ts";

/** Options of {@linkcode QuestionVectors}. */
interface QuestionVectorsOptions {
  /** Makes the vectors. */
  readonly embedder: Embedder;
  /** The time. */
  readonly clock: Clock;
  /**
   * Most questions whose vectors are kept; those that were not asked for longest go
   * first. With 0 none is kept.
   *
   * @default {1000}
   */
  readonly maxKept?: number | undefined;
  /**
   * Longer questions are not kept, in UTF-16 units.
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
   * Calls that are under way at the same time.
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

/** Where vectors of questions came from. */
export interface QuestionCounts {
  /** Memory. */
  readonly kept: number;
  /** A call that was under way for an equal question. */
  readonly shared: number;
  /** The embedder. */
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

/** A question whose vector is on the way. */
interface Pending {
  readonly text: string;
  readonly settled: PromiseWithResolvers<QuestionOutcome>;
  /** Callers who wait. */
  waiters: number;
  /** Asked for by itself: together with others it was refused. */
  isAlone: boolean;
  /** The call, once it is under way. */
  call: Call | undefined;
}

interface Call {
  readonly batch: readonly Pending[];
  readonly ending: AbortController;
}

/** Questions of one call, as many as an endpoint takes at once. */
const MAX_BATCH = 100;

const ENDED: Failed = {
  kind: "unavailable",
  reason: "Cannot embed texts: the call was ended",
  isPassing: true,
};

/** An embedder for questions; what it keeps is in memory only. */
export class QuestionVectors implements Embedder {
  /** How wide the vectors are. */
  readonly width: number;
  /** Names what made the vectors. */
  readonly model: string;
  readonly #options: Filled;
  readonly #kept: BoundedMap<string, Kept> | undefined;
  readonly #pending = new Map<string, Pending>();
  #queue: Pending[] = [];
  #calls = 0;
  readonly #counts = { kept: 0, shared: 0, asked: 0 };

  /** Keeps nothing yet. */
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

  /** Where the vectors so far came from. */
  get counts(): QuestionCounts {
    return { ...this.#counts };
  }

  /** One vector for each question; all or none. */
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
    if (signal?.aborted === true) return ENDED;
    const vector = this.#find(text);
    if (vector !== undefined) {
      this.#counts.kept++;
      return { kind: "ok", vector };
    }
    const pending = this.#pendingOf(text);
    pending.waiters++;
    const gone = Promise.withResolvers<QuestionOutcome>();
    const leave = (): void => gone.resolve(ENDED);
    signal?.addEventListener("abort", leave, { once: true });
    try {
      return await Promise.race([pending.settled.promise, gone.promise]);
    } finally {
      signal?.removeEventListener("abort", leave);
      pending.waiters--;
      this.#endUnwanted(pending);
    }
  }

  #pendingOf(text: string): Pending {
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
    // All questions of this turn go together.
    queueMicrotask(() => this.#begin());
    return pending;
  }

  /** A question that all have left is not asked, or not waited for. */
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

  /** Never fails: callers get what is thrown. */
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
      // One of them may be to blame; the others are not to suffer for it.
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
      return { ...ENDED, reason: "Cannot embed texts: a vector is missing" };
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

/** How many at the head of the queue go together. */
function batchLength(queue: readonly Pending[]): number {
  const alone = queue.slice(0, MAX_BATCH).findIndex(({ isAlone }) => isAlone);
  return alone < 0 ? MAX_BATCH : alone;
}
