/**
 * Finds facts in texts and answers questions from memories, as ports.
 *
 * @module
 */

import type { WorkOptions } from "../concurrency/bounded_work.ts";

/** A fact. */
export interface Fact {
  /** A sentence that can stand alone. */
  readonly text: string;
  /** How much it matters: 0.9, 0.5 or 0.2. */
  readonly importance: number;
}

/** Why the other end gave nothing. */
export interface ModelFailure {
  /** Tells it from good outcomes. */
  readonly kind: "unavailable";
  /** In words fit for logs; never holds text or a key. */
  readonly reason: string;
  /** When it is worth trying again, where the other end said so. */
  readonly retryAfterMs?: number | undefined;
}

/** What a text is read with. */
export interface ExtractOptions extends WorkOptions {
  /** What "today" means in the text; the present when absent. */
  readonly occurredAtMs?: number | undefined;
  /** Texts that are remembered already, so that they are not found again. */
  readonly known: readonly string[];
  /** The present. */
  readonly nowMs: number;
}

/** The outcome of {@linkcode Extractor.extract}. */
export type ExtractOutcome =
  | { readonly kind: "ok"; readonly facts: readonly Fact[] }
  | ModelFailure;

/** Most facts of a text. */
export const MAX_FACTS = 20;

/** Finds facts. */
export interface Extractor {
  /** Names how facts are found: a model's name, or `rules`. */
  readonly name: string;
  /** At most {@linkcode MAX_FACTS} facts, in the order of the text. */
  extract(text: string, options: ExtractOptions): Promise<ExtractOutcome>;
}

/** What a question is answered from. */
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
    /** Places of the memories that the answer rests on. */
    readonly used: readonly number[];
  }
  | ModelFailure;

/** Answers questions. */
export interface Answerer {
  /** Names how answers are made: a model's name, or `rules`. */
  readonly name: string;
  /** An answer, with the places of the memories that it rests on. */
  answer(question: string, options: AnswerOptions): Promise<AnswerOutcome>;
}
