/**
 * Options and results of recalls.
 *
 * @module
 */

import type { CallOptions } from "./life.ts";
import type { Metadata } from "./remember_types.ts";

/**
 * Weights that the relayer orders the found memories by; which memories are
 * found does not depend on them. Each weight is 0 to 100.
 */
export interface ScoringWeights {
  /**
   * Weight of the similarity, which is 1 minus the distance, or the relevance
   * where the ranking also uses words.
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
 * What to leave out when the found memories have more tokens than `maxTokens`:
 * `high-relevance-only` keeps whole memories from the front while there is
 * room, `per-hit-cap` shortens each memory to an equal share, and `drop-tail`
 * keeps memories from the front and shortens the last one.
 */
export type TruncationStrategy =
  | "high-relevance-only"
  | "per-hit-cap"
  | "drop-tail";

/**
 * How memories are found and ordered: `semantic`, by the distance of vectors
 * alone; `fused`, by words and vectors together, which also finds names,
 * numbers and identifiers, and takes into account signs of conversations, such
 * as who speaks.
 */
export type Ranking = "semantic" | "fused";

/** Options of how memories are ranked, and whether the ranking is explained. */
export interface RankingOptions {
  /**
   * How memories are found and ordered. A relayer that does not offer
   * `recall.ranking` is not sent this option: it ranks by distance, and its
   * results have no `relevance`.
   *
   * @default the client's; without one the relayer's, which is `semantic` unless its
   * operator chose otherwise
   */
  readonly ranking?: Ranking | undefined;
  /**
   * Whether each memory has an `explanation` of its place in the order.
   *
   * @default {false}
   */
  readonly explain?: boolean | undefined;
}

/** What a recall takes besides the question. */
export interface RecallOptions extends RankingOptions, CallOptions {
  /**
   * The most memories to return; the relayer gives no more than 100.
   *
   * @default {10}
   */
  readonly limit?: number | undefined;
  /**
   * Alias of `limit`; it is used when both are given.
   *
   * @default `limit`
   */
  readonly topK?: number | undefined;
  /**
   * The namespace to search in.
   *
   * @default the client's namespace
   */
  readonly namespace?: string | undefined;
  /**
   * Leaves out memories at this distance or farther. This is applied to the
   * memories that the relayer returned, so with `sort: "recent"` the newest may
   * be left out, and with `ranking: "fused"` memories that match by words; for
   * these `relevance` is the better measure.
   *
   * @default nothing is left out
   */
  readonly maxDistance?: number | undefined;
  /**
   * The order of the results. `recent`: newest first, among the closest 50 at
   * most.
   *
   * @default by relevance, or by `scoringWeights` when those are given
   */
  readonly sort?: "relevance" | "recent" | undefined;
  /**
   * Weights that decide the order of the results; ignored when `sort` is given.
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
   * Only the memories with these ids, at most 100: those that an earlier result
   * lists in `omitted_ids`. The default of `limit` is then the number of ids.
   * Older relayers do not know this option and search through all memories.
   *
   * @default all
   */
  readonly ids?: readonly string[] | undefined;
  /**
   * Timeout in milliseconds; 0 for no timeout.
   *
   * @default the client's `recallTimeoutMs`
   */
  readonly timeoutMs?: number | undefined;
  /**
   * The most tokens that the returned texts may have together.
   *
   * @default no limit
   */
  readonly maxTokens?: number | undefined;
  /**
   * What to leave out when the texts have more tokens than `maxTokens`.
   *
   * @default {"high-relevance-only"}
   */
  readonly truncationStrategy?: TruncationStrategy | undefined;
  /**
   * Counts the tokens of a text, as the model that reads it does.
   *
   * @default an estimate: a quarter of the characters
   */
  readonly countTokens?: ((text: string) => number) | undefined;
}

/** The question and the options of a recall. */
export interface RecallParams extends RecallOptions {
  /** The question, in plain words. */
  readonly query: string;
}

/** Why a memory has its place in the order. */
export interface RecallExplanation {
  /**
   * What raised or lowered the memory's place, by name, such as `words`,
   * `vector` and `speaker`; the numbers can be compared within one answer only.
   */
  readonly parts: Readonly<Record<string, number>>;
  /**
   * Words of the question that the memory contains; empty where vectors alone
   * rank.
   */
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
   * How relevant the memory is to the question, 0 to 1, where the ranking also
   * uses words; 0.3 is a sensible minimum. Higher is better, unlike `distance`.
   */
  readonly relevance?: number;
  /**
   * Why the memory has its place in the order, where `explain` asked for it.
   */
  readonly explanation?: RecallExplanation;
  /** When it was written (RFC 3339); absent with older relayers. */
  readonly created_at?: string;
  /** The weighted sum that the order follows, where weights were given. */
  readonly score?: number;
  /** The metadata that the application gave with the memory, if any. */
  readonly metadata?: Metadata;
}

/** The number of tokens of a recall's results. */
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
  /** The number of memories in `results`. */
  readonly total: number;
  /**
   * How many more memories matched but could not be read or decrypted; absent
   * for none.
   */
  readonly dropped_count?: number;
  /**
   * Whether memories were found that exceed the limit of the relayer's answer,
   * which is a mebibyte by default; absent when there were none.
   */
  readonly truncated?: boolean;
  /**
   * The ids of those memories, in their order: the same recall with them as
   * `ids` returns them. Present when `truncated` is true.
   */
  readonly omitted_ids?: readonly string[];
  /**
   * Whether memories may be missing, as the relayer was still reading those of
   * this account; the same recall finds all a few seconds later. Absent when
   * none are missing.
   */
  readonly partial?: boolean;
  /** The number of tokens; only present when `maxTokens` was given. */
  readonly meta?: RecallTokenMeta;
}
