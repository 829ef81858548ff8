/**
 * Restore: puts memories back into the index whose blobs are there and whose rows
 * are lost. They come back as they were: same id, same time, same metadata, and
 * those that were replaced are replaced again.
 *
 * @module
 */

import type { Clock } from "../../shared/clock.ts";
import type { BlobCatalog } from "../blobs/blob_catalog.ts";
import { StoreBusyError } from "../store/store.ts";
import { boundedWork } from "./bounded_work.ts";
import { missingBlobs } from "./missing_blobs.ts";
import { Replacements } from "./replacements.ts";
import { restoreBatch, type RestoreParts } from "./restore_batch.ts";
import type { RestoreOutcome, Restorer } from "./restore_request.ts";

/** Options of {@linkcode RestoreService}. */
export interface RestoreServiceOptions extends RestoreParts {
  /** Knows which blobs there are. */
  readonly catalog: Pick<BlobCatalog, "list">;
  /** The time. */
  readonly clock: Clock;
  /**
   * Milliseconds for one call.
   *
   * @default {55000}
   */
  readonly timeoutMs?: number;
}

const DEFAULT_TIMEOUT_MS = 55_000;
/** Memories of one commit: what is done stays done when the time is over. */
const BATCH = 20;

/** Restores from blobs, the catalogue and the keys. */
export class RestoreService implements Restorer {
  readonly #options: RestoreServiceOptions;

  /** A service over the relayer's parts. */
  constructor(options: RestoreServiceOptions) {
    this.#options = options;
  }

  /** Puts blobs that the index lacks back into it, the newest first. */
  async restore(
    owner: string,
    options: {
      readonly namespace: string;
      readonly limit: number;
      readonly signal?: AbortSignal;
    },
  ): Promise<RestoreOutcome> {
    const { clock, timeoutMs = DEFAULT_TIMEOUT_MS } = this.#options;
    const { namespace, limit } = options;
    try {
      const outcome = await boundedWork({
        clock,
        timeoutMs,
        signal: options.signal,
        run: (signal) => this.#restore(owner, { namespace, limit, signal }),
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
    options: {
      readonly namespace: string;
      readonly limit: number;
      readonly signal: AbortSignal;
    },
  ): Promise<RestoreOutcome> {
    const { limit, signal } = options;
    const parts = this.#options;
    const found = await missingBlobs(owner, { ...parts, ...options });
    const wanted = found.missing.slice(0, limit);
    const replacements = wanted.length === 0
      ? new Replacements()
      : await Replacements.read(owner, { store: parts.store, signal });
    const restoredIds: string[] = [];
    let failed = 0;
    for (let from = 0; from < wanted.length; from += BATCH) {
      const batch = await restoreBatch(wanted.slice(from, from + BATCH), {
        ...parts,
        replacements,
        signal,
      });
      if (batch.kind === "unavailable") return batch;
      restoredIds.push(...batch.restoredIds);
      failed += batch.failed;
    }
    return {
      kind: "ok",
      restoredIds,
      skipped: found.indexed,
      failed: found.bad + failed,
      missing: found.gone,
      total: found.total,
      isTruncated: found.missing.length > restoredIds.length + failed,
    };
  }
}

function unavailable(what: string): RestoreOutcome {
  return { kind: "unavailable", reason: `Cannot restore: ${what}` };
}
