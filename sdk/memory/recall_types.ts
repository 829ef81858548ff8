/**
 * What is said to find memories, and what comes back.
 *
 * @module
 */

import type { Metadata } from "./remember_types.ts";

/**
 * How much each thing counts when the relayer puts what it found in order; the
 * search itself stays the same. Each weight is 0 to 100.
 */
export interface ScoringWeights {
  /**
   * Weight of similarity, which is 1 minus the distance, or the relevance where
   * words rank as well.
   *
   * @default {1}
   */
  readonly semantic?: number | undefined;
  /**
   * Weight of how new a memory is.
   *
   * @default {0}
   */
  readonly recency?: number | undefined;
  /**
   * Days in which the weight of newness halves.
   *
   * @default {30}
   */
  readonly recencyHalfLifeDays?: number | undefined;
  /**
   * Weight of how much a memory matters.
   *
   * @default {0}
   */
  readonly importance?: number | undefined;
}

/**
 * What to leave out when what was found has more tokens than wanted:
 * `high-relevance-only` keeps whole memories from the front while they fit,
 * `per-hit-cap` shortens each to an equal share, and `drop-tail` keeps from the
 * front and shortens the last.
 */
export type TruncationStrategy =
  | "high-relevance-only"
  | "per-hit-cap"
  | "drop-tail";

/**
 * What finds memories and puts them in order: `semantic`, the distance of vectors
 * alone; `fused`, words and vectors together, which also finds names, numbers and
 * identifiers, and knows the signs of conversations.
 */
export type Ranking = "semantic" | "fused";

/** What ranks memories, and whether that is explained. */
export interface RankingOptions {
  /**
   * What finds memories and puts them in order. A relayer that does not offer
   * `recall.ranking` is not told: it ranks by distance, and its results have no
   * `relevance`.
   *
   * @default the client's; without one the relayer's, which is `semantic` unless its
   * operator chose otherwise
   */
  readonly ranking?: Ranking | undefined;
  /**
   * Whether each memory says what its place comes from, in `explanation`.
   *
   * @default {false}
   */
  readonly explain?: boolean | undefined;
}

/** How to recall. */
export interface RecallOptions extends RankingOptions {
  /**
   * Most memories; the relayer gives no more than 100.
   *
   * @default {10}
   */
  readonly limit?: number | undefined;
  /**
   * The same as `limit`; it wins when both are given.
   *
   * @default `limit`
   */
  readonly topK?: number | undefined;
  /**
   * Where to look.
   *
   * @default the client's namespace
   */
  readonly namespace?: string | undefined;
  /**
   * Leaves out what is this far or farther. It is applied to what the relayer
   * chose, so with `sort: "recent"` the newest may be left out, and with `ranking:
   * "fused"` what was found by its words; there `relevance` says more.
   *
   * @default nothing is left out
   */
  readonly maxDistance?: number | undefined;
  /**
   * The order. `recent`: newest first, among the closest 50 at most.
   *
   * @default by relevance, or by `scoringWeights` when those are given
   */
  readonly sort?: "relevance" | "recent" | undefined;
  /**
   * What counts for the order; an explicit `sort` switches it off.
   *
   * @default by relevance alone
   */
  readonly scoringWeights?: ScoringWeights | undefined;
  /**
   * Only memories whose metadata has all of these members with these values.
   *
   * @default all
   */
  readonly filter?: Metadata | undefined;
  /**
   * Only these memories, at most 100: those that an earlier result names in
   * `omitted_ids`. Unless `limit` says otherwise, all of them are asked for.
   * Older relayers do not know this and search through all memories.
   *
   * @default all
   */
  readonly ids?: readonly string[] | undefined;
  /**
   * Milliseconds that it may take; 0 for as long as it takes.
   *
   * @default the client's `recallTimeoutMs`
   */
  readonly timeoutMs?: number | undefined;
  /**
   * Most tokens of all texts together.
   *
   * @default as many as there are
   */
  readonly maxTokens?: number | undefined;
  /**
   * What to leave out when there are more.
   *
   * @default {"high-relevance-only"}
   */
  readonly truncationStrategy?: TruncationStrategy | undefined;
  /**
   * Counts the tokens of a text as the model does.
   *
   * @default an estimate: a quarter of the characters
   */
  readonly countTokens?: ((text: string) => number) | undefined;
}

/** A question, and how to recall. */
export interface RecallParams extends RecallOptions {
  /** What is looked for, in plain words. */
  readonly query: string;
}

/** What a memory's place comes from. */
export interface RecallExplanation {
  /**
   * What counted for or against it, by name, such as `words`, `vector` and `speaker`;
   * comparable within one answer only.
   */
  readonly parts: Readonly<Record<string, number>>;
  /** Words of the question that it has; none where vectors alone rank. */
  readonly matched: readonly string[];
}

/** A memory that was found. */
export interface RecallMemory {
  /** The memory's id; absent with older relayers. */
  readonly id?: string;
  /** The blob that holds it. */
  readonly blob_id: string;
  /** The text, decrypted. */
  readonly text: string;
  /** Cosine distance from the question; lower is closer. */
  readonly distance: number;
  /**
   * How well it answers, 0 to 1, where words ranked as well; 0.3 is a fair cut. Higher
   * is better, unlike `distance`.
   */
  readonly relevance?: number;
  /** What its place comes from, where that was asked for. */
  readonly explanation?: RecallExplanation;
  /** When it was written (RFC 3339); absent with older relayers. */
  readonly created_at?: string;
  /** The weighed sum it was put in order by, where weights were given. */
  readonly score?: number;
  /** What the application said of it, if anything. */
  readonly metadata?: Metadata;
}

/** How many tokens a recall came to. */
export interface RecallTokenMeta {
  /** Tokens of all texts that are returned. */
  readonly tokenEstimate: number;
  /** Whether anything was left out or shortened. */
  readonly truncated: boolean;
}

/** The memories that a recall found. */
export interface RecallResult {
  /** The memories, in order. */
  readonly results: readonly RecallMemory[];
  /** How many there are. */
  readonly total: number;
  /** How many more matched and could not be fetched or opened, if any. */
  readonly dropped_count?: number;
  /**
   * Whether memories were found that the relayer's answer had no room for, which
   * is a mebibyte by default; absent when there were none.
   */
  readonly truncated?: boolean;
  /**
   * The ids of those, in their order: the same recall with them as `ids` gives
   * them. There as soon as `truncated` is true.
   */
  readonly omitted_ids?: readonly string[];
  /** Its length in tokens; only there when `maxTokens` was given. */
  readonly meta?: RecallTokenMeta;
}
