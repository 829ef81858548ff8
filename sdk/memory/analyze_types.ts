/**
 * What is said to extract facts and to have questions answered, and what comes
 * back.
 *
 * @module
 */

import type { RecallMemory, ScoringWeights } from "./recall_types.ts";
import type { RememberBulkResult, WaitOptions } from "./remember_types.ts";

/** How to analyze a text. */
export interface AnalyzeOptions {
  /**
   * Where the facts belong.
   *
   * @default the client's namespace
   */
  readonly namespace?: string | undefined;
  /**
   * When the text was said or written, so that "yesterday" means a day: a
   * `Date`, or a text in RFC 3339.
   *
   * @default unknown
   */
  readonly occurredAt?: Date | string | undefined;
}

/** What `analyzeAndWait` may be told beside the text. */
export interface AnalyzeAndWaitOptions extends AnalyzeOptions, WaitOptions {}

/** A fact that was extracted and is being stored. */
export interface AnalyzedFact {
  /** The fact. */
  readonly text: string;
  /** The memory that it becomes. */
  readonly id: string;
  /** The job that stores it; the same as `id`. */
  readonly job_id: string;
}

/** Facts were extracted, and jobs store them. */
export interface AnalyzeResult {
  /** The jobs. */
  readonly job_ids: readonly string[];
  /** The facts, in the order of the jobs. */
  readonly facts: readonly AnalyzedFact[];
  /** How many there are. */
  readonly fact_count: number;
  /** The jobs' state, usually `pending`. */
  readonly status: string;
  /** Address of the owner. */
  readonly owner: string;
}

/** Facts were extracted, and their jobs have ended. */
export interface AnalyzeAndWaitResult extends RememberBulkResult {
  /** The facts, in the order of `results`. */
  readonly facts: readonly AnalyzedFact[];
  /** Address of the owner. */
  readonly owner: string;
}

/** How to answer a question. */
export interface AskOptions {
  /**
   * Most memories to answer from.
   *
   * @default {5}
   */
  readonly limit?: number | undefined;
  /**
   * Where to look.
   *
   * @default the client's namespace
   */
  readonly namespace?: string | undefined;
  /**
   * What counts for which memories are used.
   *
   * @default relevance alone
   */
  readonly scoringWeights?: ScoringWeights | undefined;
}

/** An answer. */
export interface AskResult {
  /** The answer. */
  readonly answer: string;
  /** How many memories it was made from. */
  readonly memories_used: number;
  /** These memories. */
  readonly memories: readonly RecallMemory[];
}
