/**
 * What is said, and what comes back, when the application encrypts and embeds
 * by itself.
 *
 * @module
 */

import type { ScoringWeights } from "./recall_types.ts";

/** A vector: as many finite numbers as the relayer's embedding has. */
export type Vector = readonly number[] | Float32Array | Float64Array;

/** A memory that the application encrypted and embedded. */
export interface RememberManualParams {
  /** The encrypted bytes, as they are or in base64. */
  readonly encryptedData: Uint8Array | string;
  /** What its text was embedded as. */
  readonly vector: Vector;
  /**
   * Where the memory belongs.
   *
   * @default the client's namespace
   */
  readonly namespace?: string | undefined;
}

/** The memory was stored. */
export interface RememberManualResult {
  /** The memory. */
  readonly id: string;
  /** The blob that holds it. */
  readonly blob_id: string;
  /** Address of the owner. */
  readonly owner: string;
  /** Where it belongs. */
  readonly namespace: string;
}

/** A question that the application embedded. */
export interface RecallManualParams {
  /** What the question was embedded as. */
  readonly vector: Vector;
  /**
   * Most memories; the relayer gives no more than 100.
   *
   * @default {10}
   */
  readonly limit?: number | undefined;
  /**
   * Where to look.
   *
   * @default the client's namespace
   */
  readonly namespace?: string | undefined;
  /**
   * What counts for the order.
   *
   * @default relevance alone
   */
  readonly scoringWeights?: ScoringWeights | undefined;
}

/** A memory that was found, without its text. */
export interface RecallManualHit {
  /** The memory's id; absent with older relayers. */
  readonly id?: string;
  /** The blob that holds it. */
  readonly blob_id: string;
  /** Cosine distance from the question; lower is closer. */
  readonly distance: number;
  /** When it was written (RFC 3339); absent with older relayers. */
  readonly created_at?: string;
  /** How much it matters, 0 to 1, where that is known. */
  readonly importance?: number;
  /** The weighed sum it was put in order by, where weights were given. */
  readonly score?: number;
}

/** What was found. */
export interface RecallManualHitResult {
  /** The memories, in order. */
  readonly results: readonly RecallManualHit[];
  /** How many there are. */
  readonly total: number;
}
