/**
 * Recall: embeds the query, finds the closest memories, and gets and opens the
 * blobs of those that are answered with.
 *
 * @module
 */

import type { Clock } from "../../shared/clock.ts";
import type { Logger } from "../../shared/logger.ts";
import type { BlobStore } from "../blobs/blob_store.ts";
import { Gate } from "../blobs/gate.ts";
import type { Embedder } from "../embed/embedder.ts";
import { vectorText } from "../jobs/vector_text.ts";
import type { OpenFailure, RelayerVault } from "../vault/vault.ts";
import { boundedWork } from "./bounded_work.ts";
import type { MemoryIndex } from "./memory_index.ts";
import { candidateCount, type OrderedHit, orderHits } from "./ordering.ts";
import { pooled } from "./pooled.ts";
import type {
  Recall,
  RecalledMemory,
  RecallOutcome,
  RecallRequest,
  RecallStage,
} from "./recall_request.ts";

/** Options of {@linkcode RecallService}. */
export interface RecallServiceOptions {
  /** Makes vectors of queries. */
  readonly embedder: Embedder;
  /** Finds memories. */
  readonly index: MemoryIndex;
  /** Keeps blobs. */
  readonly blobs: Pick<BlobStore, "get">;
  /** Opens blobs. */
  readonly vault: Pick<RelayerVault, "open">;
  /** The time. */
  readonly clock: Clock;
  /** Hears of blobs that cannot be had or opened. */
  readonly logger: Logger;
  /**
   * Blobs that are got and opened at the same time, for one recall.
   *
   * @default {10}
   */
  readonly parallelBlobs?: number;
  /**
   * Bytes of blobs that one recall reads, the closest first: when so many were
   * read, no further one is begun. A hundred texts of a megabyte would take all
   * others' seconds and the memory of the process.
   *
   * @default {8388608}
   */
  readonly maxBlobBytes?: number;
  /**
   * Recalls that get and open blobs at the same time; the others wait.
   *
   * @default {8}
   */
  readonly parallelRecalls?: number;
}

/** Recalls from the index in memory. */
export class RecallService implements Recall {
  readonly #options: RecallServiceOptions;
  readonly #reading: Gate;

  /** A service over the relayer's parts. */
  constructor(options: RecallServiceOptions) {
    this.#options = options;
    this.#reading = new Gate(options.parallelRecalls ?? 8);
  }

  /** Finds memories, gets and opens their blobs; drops those that do not open. */
  recall(request: RecallRequest): Promise<RecallOutcome> {
    return this.#bounded(request, async (progress) => {
      const found = await this.#search(request, progress);
      if (found.kind !== "found") return found;
      progress.at.stage = "walrus_download";
      return await this.#reading.run(
        () => this.#readAll(found.hits, progress),
        { signal: progress.signal },
      );
    });
  }

  /** Finds memories; leaves blobs alone. */
  find(request: RecallRequest): Promise<RecallOutcome> {
    return this.#bounded(request, async (progress) => {
      const found = await this.#search(request, progress);
      if (found.kind !== "found") return found;
      return { kind: "ok", memories: found.hits.map(plainMemory), dropped: 0 };
    });
  }

  async #bounded(
    request: RecallRequest,
    run: (progress: Progress) => Promise<RecallOutcome>,
  ): Promise<RecallOutcome> {
    const { clock } = this.#options;
    const startedMs = readingOf(clock);
    const at: Progress["at"] = { stage: "embed" };
    const outcome = await boundedWork({
      clock,
      timeoutMs: request.deadlineMs,
      signal: request.signal,
      run: (signal) => run({ at, signal }),
    });
    if (outcome.kind === "done") return outcome.result;
    // Nobody hears this: whoever asked is gone.
    if (outcome.kind === "ended") return { kind: "unavailable" };
    const elapsedMs = Math.round(readingOf(clock) - startedMs);
    return { kind: "timeout", stage: at.stage, elapsedMs };
  }

  async #search(
    request: RecallRequest,
    progress: Progress,
  ): Promise<Found | RecallOutcome> {
    const { index, clock } = this.#options;
    const { owner, namespace, limit, ordering, filter } = request;
    const vector = typeof request.query === "string"
      ? await this.#embed(request.query, progress.signal)
      : request.query;
    if (!(vector instanceof Float32Array)) return vector;
    progress.signal.throwIfAborted();
    progress.at.stage = "vector_search";
    const hits = index.search({
      owner,
      namespace,
      vector,
      limit: candidateCount(limit, ordering),
      ...(filter === undefined ? {} : { filter }),
    });
    const ordered = orderHits(hits, { ordering, limit, nowMs: clock.nowMs() });
    return { kind: "found", hits: ordered };
  }

  async #embed(
    query: string,
    signal: AbortSignal,
  ): Promise<Float32Array | RecallOutcome> {
    const { embedder, logger } = this.#options;
    const outcome = await embedder.embed([vectorText(query)], { signal });
    if (outcome.kind === "ok" && outcome.vectors[0] !== undefined) {
      return outcome.vectors[0];
    }
    const { reason, retryAfterMs } = outcome.kind === "ok"
      ? {
        reason: "Cannot embed query: there is no vector",
        retryAfterMs: undefined,
      }
      : outcome;
    if (!signal.aborted) logger.warn("Cannot recall: no vector", { reason });
    return {
      kind: "unavailable",
      ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
    };
  }

  async #readAll(
    hits: readonly OrderedHit[],
    progress: Progress,
  ): Promise<RecallOutcome> {
    const { logger, parallelBlobs = 10, maxBlobBytes = 8_388_608 } =
      this.#options;
    let readBytes = 0;
    let downloading = hits.length;
    const outcomes = await pooled(hits, {
      parallel: parallelBlobs,
      signal: progress.signal,
      work: (ordered) =>
        readBytes >= maxBlobBytes
          ? Promise.resolve("beyond_bytes" as const)
          : this.#read(ordered, {
            signal: progress.signal,
            onDownloaded: (bytes) => {
              readBytes += bytes;
              if (--downloading === 0) progress.at.stage = "seal_decrypt";
            },
          }),
    });
    const memories: RecalledMemory[] = [];
    const dropped = new Map<string, number>();
    for (const outcome of outcomes) {
      if (typeof outcome !== "string") memories.push(outcome);
      else dropped.set(outcome, (dropped.get(outcome) ?? 0) + 1);
    }
    if (dropped.size > 0) {
      logger.warn("Left memories out of a recall: their blobs cannot be read", {
        kept: memories.length,
        ...Object.fromEntries(dropped),
      });
    }
    return { kind: "ok", memories, dropped: hits.length - memories.length };
  }

  async #read(
    ordered: OrderedHit,
    options: {
      readonly signal: AbortSignal;
      readonly onDownloaded: (bytes: number) => void;
    },
  ): Promise<RecalledMemory | DropReason> {
    const { blobs, vault } = this.#options;
    const { signal, onDownloaded } = options;
    const { id, owner, namespace, blobId } = ordered.hit;
    const blob = await blobs.get(blobId, { signal });
    onDownloaded(blob.kind === "ok" ? blob.bytes.length : 0);
    if (blob.kind !== "ok") return blob.kind;
    signal.throwIfAborted();
    const opened = await vault.open(owner, blob.bytes);
    if (opened.kind === "failed") return opened.why;
    const content = opened.value;
    // Another memory's blob: the row was tampered with.
    if (content.id !== id || content.namespace !== namespace) return "damaged";
    const { text, metadata } = content;
    return { ...plainMemory(ordered), text, metadata };
  }
}

/** How far a recall is. */
interface Progress {
  readonly at: { stage: RecallStage };
  readonly signal: AbortSignal;
}

interface Found {
  readonly kind: "found";
  readonly hits: readonly OrderedHit[];
}

/** Why a hit is left out. */
type DropReason = OpenFailure | "missing" | "beyond_bytes";

function plainMemory({ hit, score }: OrderedHit): RecalledMemory {
  const { id, blobId, distance, createdAtMs, importance } = hit;
  return {
    id,
    blobId,
    distance,
    createdAtMs,
    importance,
    ...(score === undefined ? {} : { score }),
  };
}

/** Milliseconds that only go on. */
function readingOf(clock: Clock): number {
  return clock.monotonicMs?.() ?? clock.nowMs();
}
