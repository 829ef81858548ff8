/**
 * What recall finds, as clients see it.
 *
 * @module
 */

import type { RecalledMemory } from "../../recall/recall_request.ts";
import type { Metadata } from "../../vault/vault.ts";
import { wireTime } from "./wire_time.ts";

/** A memory with its text. */
export interface RecalledView {
  /** Its id, to delete or supersede it by. */
  readonly id: string;
  /** Its blob. */
  readonly blob_id: string;
  /** Its text. */
  readonly text: string;
  /** Cosine distance. */
  readonly distance: number;
  /** When it was written (RFC 3339). */
  readonly created_at: string;
  /** The sum of weighed terms, where there were weights. */
  readonly score?: number;
  /** What the client says of it, where it says anything. */
  readonly metadata?: Metadata;
}

/** The view of a memory with its text. */
export function recalledView(memory: RecalledMemory): RecalledView {
  const { id, blobId, text = "", distance, score, metadata = {} } = memory;
  return {
    id,
    blob_id: blobId,
    text,
    distance,
    created_at: wireTime(memory.createdAtMs),
    ...(score === undefined ? {} : { score }),
    ...(Object.keys(metadata).length === 0 ? {} : { metadata }),
  };
}

/** A memory whose text only the client can read. */
export interface ManualHitView {
  /** Its id, to delete it by. */
  readonly id: string;
  /** Its blob. */
  readonly blob_id: string;
  /** Cosine distance. */
  readonly distance: number;
  /** When it was written (RFC 3339). */
  readonly created_at: string;
  /** How much it matters, 0 to 1. */
  readonly importance: number | null;
  /** The sum of weighed terms, where there were weights. */
  readonly score?: number;
}

/** The view of a memory without its text. */
export function manualHitView(memory: RecalledMemory): ManualHitView {
  const { id, blobId, distance, score, importance } = memory;
  return {
    id,
    blob_id: blobId,
    distance,
    created_at: wireTime(memory.createdAtMs),
    importance,
    ...(score === undefined ? {} : { score }),
  };
}
