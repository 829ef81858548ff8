/**
 * Options and results of recalls whose memories the client decrypts.
 *
 * @module
 */

import type { CallOptions } from "../memory/life.ts";
import {
  describe,
  optionalNumber,
  requireName,
  requireText,
} from "../memory/arguments.ts";
import type { ScoringWeights } from "../memory/recall_types.ts";

/** What `recallManual` takes besides the question. */
export interface RecallManualOptions extends CallOptions {
  /**
   * The most memories to return; the relayer gives no more than 100.
   *
   * @default {10}
   */
  readonly limit?: number | undefined;
  /**
   * The namespace to search in.
   *
   * @default the client's namespace
   */
  readonly namespace?: string | undefined;
  /**
   * Weights that decide the order of the memories.
   *
   * @default relevance alone
   */
  readonly scoringWeights?: ScoringWeights | undefined;
}

/** A memory that was found and decrypted. */
export interface RecallManualMemory {
  /** The memory's id; absent with older relayers. */
  readonly id?: string;
  /** The blob that holds it. */
  readonly blob_id: string;
  /** What is remembered, decrypted. */
  readonly text: string;
  /** Cosine distance from the question; lower is closer. */
  readonly distance: number;
  /** When it was written (RFC 3339); absent with older relayers. */
  readonly created_at?: string;
  /** The weighted sum that the order follows, where weights were given. */
  readonly score?: number;
}

/** A memory that was found and could not be decrypted. */
export interface DroppedMemory {
  /** The memory's id; absent with older relayers. */
  readonly id?: string;
  /** The blob that holds it. */
  readonly blob_id: string;
  /** Why the memory could not be decrypted. */
  readonly reason: string;
}

/** The memories that a recall found, decrypted. */
export interface RecallManualMemoryResult {
  /** The memories, in order. */
  readonly results: readonly RecallManualMemory[];
  /** The number of memories in `results`. */
  readonly total: number;
  /** Memories that were found but could not be decrypted. */
  readonly dropped: readonly DroppedMemory[];
}

/** What `recallManual` was called with. */
type RecallManualArguments = readonly [
  query: string,
  limitOrOptions?: number | RecallManualOptions | undefined,
  namespace?: string | undefined,
];

/**
 * Reads the arguments of a call in one of the forms `(query)`, `(query,
 * limit)`, `(query, limit, namespace)` and `(query, options)`.
 *
 * @throws {TypeError} For `(query, namespace)`, which would search in another
 * namespace than meant, and for any other form.
 */
export function readRecallManualArguments(
  [query, second, namespace]: RecallManualArguments,
): RecallManualOptions & { readonly query: string } {
  const text = requireText(query, "query");
  if (text.trim() === "") throw fault("the query is blank");
  if (typeof second === "string") {
    throw fault(
      "the second argument is not a namespace; write recallManual(query, { " +
        `namespace: ${JSON.stringify(second)} })`,
    );
  }
  if (second === undefined || typeof second === "number") {
    return {
      query: text,
      limit: optionalNumber(second, "limit"),
      namespace: namespace === undefined
        ? undefined
        : requireName(namespace, "namespace"),
    };
  }
  if (typeof second !== "object" || second === null) {
    throw fault(`the second argument is ${describe(second)}`);
  }
  if (namespace !== undefined) {
    throw fault("the namespace belongs in the options");
  }
  return { ...second, query: text };
}

function fault(state: string): TypeError {
  return new TypeError(`Cannot recall: ${state}`);
}
