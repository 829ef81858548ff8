/**
 * The interfaces of the extractor, which finds facts in texts, and of the
 * answerer, which answers questions from memories.
 *
 * @module
 */

import type { WorkOptions } from "../concurrency/bounded_work.ts";

/** A fact that was found in a text. */
export interface Fact {
  /** A sentence that can be understood without the text. */
  readonly text: string;
  /** How much it matters: 0.9, 0.5 or 0.2. */
  readonly importance: number;
}

/** Why a model gave no usable answer. */
export interface ModelFailure {
  /** Tells a failure from good outcomes. */
  readonly kind: "unavailable";
  /** Says what failed, fit for logs; never holds a text or an API key. */
  readonly reason: string;
  /** Milliseconds to wait before a retry, where the endpoint named them. */
  readonly retryAfterMs?: number | undefined;
}

/** Options of {@linkcode Extractor.extract}. */
export interface ExtractOptions extends WorkOptions {
  /**
   * When the text was said, in milliseconds since the epoch: what "today" means
   * in it. Defaults to `nowMs`.
   */
  readonly occurredAtMs?: number | undefined;
  /**
   * What is kept without a model: statements that its rules find, or every
   * sentence but questions, requests and small talk. A model decides by itself.
   *
   * @default {"statements"}
   */
  readonly keep?: "statements" | "all" | undefined;
  /** Texts that are remembered already, so that they are not found again. */
  readonly known: readonly string[];
  /** The present. */
  readonly nowMs: number;
}

/** The outcome of {@linkcode Extractor.extract}. */
export type ExtractOutcome =
  | { readonly kind: "ok"; readonly facts: readonly Fact[] }
  | ModelFailure;

/** The most facts that are taken from one text. */
export const MAX_FACTS = 20;

/** Finds facts in texts. */
export interface Extractor {
  /** Names how facts are found: a model's name, or `rules`. */
  readonly name: string;
  /**
   * Returns at most {@linkcode MAX_FACTS} facts, without those known already.
   */
  extract(text: string, options: ExtractOptions): Promise<ExtractOutcome>;
}

/** Options of {@linkcode Answerer.answer}. */
export interface AnswerOptions extends WorkOptions {
  /** Memories that may hold the answer, the closest first. */
  readonly memories: readonly {
    readonly text: string;
    readonly createdAtMs: number;
  }[];
  /** The present. */
  readonly nowMs: number;
}

/** The outcome of {@linkcode Answerer.answer}. */
export type AnswerOutcome =
  | {
    readonly kind: "ok";
    readonly answer: string;
    /** Indexes, in `memories`, of the memories that the answer rests on. */
    readonly used: readonly number[];
  }
  | ModelFailure;

/** Answers questions from memories. */
export interface Answerer {
  /** Names how answers are made: a model's name, or `rules`. */
  readonly name: string;
  /** Returns an answer and the indexes of the memories that it rests on. */
  answer(question: string, options: AnswerOptions): Promise<AnswerOutcome>;
}
