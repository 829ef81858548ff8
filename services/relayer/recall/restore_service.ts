/**
 * Restores index rows of memories whose blobs still exist. They come back
 * unchanged: same id, same time, same metadata. Replaced memories are replaced
 * again.
 *
 * @module
 */

import type { Clock } from "../../shared/clock.ts";
import { NEVER_PAUSING, type Pausing } from "../../shared/slices.ts";
import type { CatalogEntry } from "../blobs/blob_store.ts";
import {
  boundedWork,
  splitBatches,
  type WorkOptions,
} from "../concurrency/bounded_work.ts";
import { StoreBusyError } from "../store/store.ts";
import type { OwnerKeyFailure } from "../vault/vault.ts";
import { missingBlobs, type RestoreParts } from "./lost_memories.ts";
import { MissingLately } from "./missing_lately.ts";
import { restoreBatch, SupersededMemories } from "./restore_batch.ts";

/** The outcome of a restore. */
type RestoreOutcome =
  | {
    readonly kind: "ok";
    /** Ids of memories that are in the index again. */
    readonly restoredIds: readonly string[];
    /** How many memories were in the index already. */
    readonly skipped: number;
    /** The number of blobs that are unavailable or can never be decrypted. */
    readonly failed: number;
    /**
     * Memories that only the client that sealed them can restore, by giving
     * their vectors again; at most as many as were asked for. They count as
     * failed.
     */
    readonly unreadable: readonly Pick<CatalogEntry, "memoryId" | "blobId">[];
    /**
     * How many memories have lost their blob, whether they are in the index or
     * not; 0 where the blob store cannot tell.
     */
    readonly missing: number;
    /** How many blobs were looked at. */
    readonly total: number;
    /** Whether the index still lacks more of these blobs. */
    readonly isTruncated: boolean;
    /** Bytes of blobs that were read. */
    readonly readBytes: number;
  }
  /** The key servers give no key of the owner. */
  | { readonly kind: "locked"; readonly why: OwnerKeyFailure }
  /** The restore took too long, or a service that it needs does not answer. */
  | { readonly kind: "unavailable"; readonly reason: string };

/** Which memories are to be restored. */
interface RestoreOptions extends WorkOptions {
  /** The namespace. */
  readonly namespace: string;
  /** Most memories. */
  readonly limit: number;
}

/** Options of {@linkcode RestoreService}. */
interface RestoreServiceOptions extends RestoreParts {
  /** The time. */
  readonly clock: Clock;
}

/** The longest that one call takes; clients wait for 60 seconds. */
const TIMEOUT_MS = 55_000;
/** Memories of one commit: what is done stays done when the time is over. */
const BATCH = 20;
/** Most bytes of the blobs of one commit; a single blob may have more. */
const BATCH_BYTES = 4 * 1_048_576;

/** Restores from blobs, the catalogue and the keys. */
export class RestoreService {
  readonly #options: RestoreServiceOptions;
  readonly #missingLately: MissingLately;

  /** A service over the relayer's parts. */
  constructor(options: RestoreServiceOptions) {
    this.#options = options;
    this.#missingLately = new MissingLately(options.clock);
  }

  /**
   * Puts blobs that the index lacks back into it, at most `limit`, the newest
   * first.
   */
  async restore(
    owner: string,
    options: RestoreOptions,
  ): Promise<RestoreOutcome> {
    const { clock } = this.#options;
    const { namespace, limit, pausing = NEVER_PAUSING } = options;
    try {
      const outcome = await boundedWork({
        clock,
        timeoutMs: TIMEOUT_MS,
        signal: options.signal,
        run: (signal) =>
          this.#restore(owner, { namespace, limit, signal, pausing }),
      });
      if (outcome.kind === "done") return outcome.result;
      return unavailable(
        outcome.kind === "late"
          ? "it took too long; what is restored stays, ask again for the rest"
          : "the call was ended",
      );
    } catch (error) {
      if (error instanceof StoreBusyError) return unavailable(error.message);
      throw error;
    }
  }

  async #restore(
    owner: string,
    options: RestoreOptions & {
      readonly signal: AbortSignal;
      readonly pausing: Pausing;
    },
  ): Promise<RestoreOutcome> {
    const { limit, signal, pausing } = options;
    const parts = { ...this.#options, missingLately: this.#missingLately };
    const found = await missingBlobs(owner, { ...parts, ...options });
    const wanted = found.missing.slice(0, limit);
    const superseded = wanted.length === 0
      ? new SupersededMemories()
      : await SupersededMemories.read(owner, {
        store: parts.store,
        signal,
        pausing,
      });
    const restoredIds: string[] = [];
    let failed = 0;
    let readBytes = 0;
    const batches = splitBatches(wanted, {
      ...{ maxItems: BATCH, maxBytes: BATCH_BYTES },
      countBytes: ({ entry }) => entry.sizeBytes,
    });
    for (const blobs of batches) {
      const batch = await restoreBatch(blobs, {
        ...parts,
        superseded,
        signal,
        pausing,
      });
      if (batch.kind !== "ok") return batch;
      restoredIds.push(...batch.restoredIds);
      failed += batch.failed;
      readBytes += batch.readBytes;
    }
    return {
      kind: "ok",
      restoredIds,
      skipped: found.indexed,
      failed: found.bad + found.unreadable.length + failed,
      unreadable: found.unreadable.slice(0, limit),
      missing: found.gone,
      total: found.total,
      readBytes,
      isTruncated: found.missing.length > restoredIds.length + failed,
    };
  }
}

function unavailable(what: string): RestoreOutcome {
  return { kind: "unavailable", reason: `Cannot restore: ${what}` };
}
