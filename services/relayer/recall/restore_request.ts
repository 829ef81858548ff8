/**
 * Rebuilding the index of a namespace, as a port.
 *
 * @module
 */

import type { Pausing } from "../../shared/slices.ts";

/** What comes of it. */
export type RestoreOutcome =
  | {
    readonly kind: "ok";
    /** Ids of memories that are in the index again. */
    readonly restoredIds: readonly string[];
    /** How many were there already. */
    readonly skipped: number;
    /** How many can never be opened. */
    readonly failed: number;
    /**
     * How many have lost their blob, whether they are in the index or not; none
     * where the blob store cannot tell.
     */
    readonly missing: number;
    /** How many blobs were looked at. */
    readonly total: number;
    /** Whether more of them are missing still. */
    readonly isTruncated: boolean;
    /** Bytes of blobs that were read. */
    readonly readBytes: number;
  }
  /** It took too long, or a part of it does not answer. */
  | { readonly kind: "unavailable"; readonly reason: string };

/** Rebuilds. */
export interface Restorer {
  /** Puts blobs that the index lacks back into it, at most `limit`. */
  restore(
    owner: string,
    options: {
      readonly namespace: string;
      readonly limit: number;
      readonly signal?: AbortSignal;
      readonly pausing?: Pausing;
    },
  ): Promise<RestoreOutcome>;
}
