/**
 * Recall: embeds the query, finds the closest memories, and gets and opens the
 * blobs of those that are answered with.
 *
 * @module
 */

import { type Clock, steadyMs } from "../../shared/clock.ts";
import type { Logger } from "../../shared/logger.ts";
import { NEVER_PAUSING } from "../../shared/slices.ts";
import { boundedWork } from "../concurrency/bounded_work.ts";
import { KeyedSemaphore } from "../concurrency/semaphore.ts";
import type { Embedder } from "../embed/embedder.ts";
import type { EntryRenewal } from "./entry_renewal.ts";
import {
  HitReader,
  type HitReaderOptions,
  plainMemory,
  type Progress,
} from "./hit_reader.ts";
import type { FusedQuery, IndexHit, IndexQuery } from "./memory_index.ts";
import type { Look } from "./owner_follower.ts";
import type { SearchOptions } from "./owner_index.ts";
import { QueryEmbedding } from "./query_embedding.ts";
import {
  candidateCount,
  type OrderedHit,
  orderHits,
  type Ranking,
  type RecallOutcome,
  type RecallRequest,
} from "./recall_request.ts";

/** Options of {@linkcode RecallService}. */
interface RecallServiceOptions extends HitReaderOptions {
  /** Makes vectors of queries. */
  readonly embedder: Embedder;
  /** Finds memories; knows whether other instances change them. */
  readonly index: HitReaderOptions["index"] & {
    /** See {@linkcode OwnerIndex.search}. */
    search(
      query: IndexQuery,
      options: SearchOptions,
    ): Promise<readonly IndexHit[]>;
  };
  /**
   * Learns which owners recall.
   *
   * @default none
   */
  readonly renewal?: Pick<EntryRenewal, "noteRecall"> | undefined;
  /** The time. */
  readonly clock: Clock;
  /**
   * Gets a warning for queries that cannot be embedded and for blobs that
   * cannot be read or opened.
   */
  readonly logger: Logger;
  /**
   * Recalls that read and open blobs at the same time; further ones wait, and
   * owners take turns.
   *
   * @default {16}
   */
  readonly parallelRecalls?: number;
  /**
   * How memories are ranked where a request does not say it.
   *
   * @default {"semantic"}
   */
  readonly ranking?: Ranking | undefined;
  /**
   * Weight of vectors where words and vectors rank together. A cosine 1 above
   * the usual one scores this multiple of what all words of the question score.
   *
   * @default {1}
   */
  readonly vectorWeight?: number | undefined;
  /**
   * Milliseconds after which a recall answers by the memories that were read so
   * far, where those of the owner are still being read.
   *
   * @default {1_000}
   */
  readonly partialAfterMs?: number | undefined;
}

/** Recalls from the index in memory. */
export class RecallService {
  readonly #options: RecallServiceOptions;
  readonly #reading: KeyedSemaphore;
  readonly #reader: HitReader;
  readonly #embedding: QueryEmbedding;

  /** A service over the relayer's parts. */
  constructor(options: RecallServiceOptions) {
    this.#options = options;
    this.#reader = new HitReader(options);
    this.#embedding = new QueryEmbedding(options);
    this.#reading = new KeyedSemaphore(
      options.parallelRecalls ?? 16,
      PARALLEL_RECALLS_PER_OWNER,
    );
  }

  /**
   * Finds memories, gets and opens their blobs; drops those that do not open.
   */
  recall(request: RecallRequest): Promise<RecallOutcome> {
    return this.#bounded(request, async (progress) => {
      const found = await this.#search(request, progress);
      if (found.kind !== "found") return found;
      progress.at.stage = "walrus_download";
      const read = await this.#reading.run(
        () => this.#reader.read(found.hits, { request, progress }),
        { signal: progress.signal, key: request.owner },
      );
      if (read.kind !== "ok") return read;
      return await this.#withoutRemoved(read, request, {
        ...{ found, later: progress.later },
      });
    });
  }

  /** Finds memories without reading their blobs, so without their texts. */
  find(request: RecallRequest): Promise<RecallOutcome> {
    return this.#bounded(request, async (progress) => {
      const found = await this.#search(request, progress);
      if (found.kind !== "found") return found;
      const read: AnsweredRecall = {
        kind: "ok",
        memories: found.hits.map((hit) => plainMemory(hit, request)),
        dropped: 0,
        omittedIds: [],
        readBytes: 0,
      };
      return await this.#withoutRemoved(read, request, {
        found,
        later: this.#options.index.look?.(request.owner),
      });
    });
  }

  async #bounded(
    request: RecallRequest,
    run: (progress: Progress) => Promise<RecallOutcome>,
  ): Promise<RecallOutcome> {
    const { clock } = this.#options;
    const startedMs = steadyMs(clock);
    const at: Progress["at"] = { stage: "embed" };
    const outcome = await boundedWork({
      clock,
      timeoutMs: request.deadlineMs,
      signal: request.signal,
      run: (signal) => run({ at, signal }),
    });
    if (outcome.kind === "done") return outcome.result;
    // The client is gone and does not see this.
    if (outcome.kind === "ended") return { kind: "unavailable" };
    const elapsedMs = Math.round(steadyMs(clock) - startedMs);
    return { kind: "timeout", stage: at.stage, elapsedMs };
  }

  async #search(
    request: RecallRequest,
    progress: Progress,
  ): Promise<Found | RecallOutcome> {
    const { index, renewal, clock } = this.#options;
    const { owner, namespace, limit, ordering, filter, ids } = request;
    const { pausing = NEVER_PAUSING } = request;
    const { signal } = progress;
    // The store answers while the question is embedded.
    const look = index.look?.(owner);
    const fused = this.#fusedQuery(request);
    const made = typeof request.query === "string"
      ? await this.#embedding.embed(request.query, {
        ...{ signal, pausing, hasWords: fused !== undefined },
        deadlineMs: request.deadlineMs,
      })
      : request.query;
    const isByWords = made === "misfit";
    if (
      made !== undefined && made !== "misfit" && !(made instanceof Float32Array)
    ) {
      return made;
    }
    const vector = made === "misfit" ? undefined : made;
    signal.throwIfAborted();
    progress.at.stage = "vector_search";
    renewal?.noteRecall(owner);
    const { partialAfterMs: afterMs = PARTIAL_AFTER_MS } = this.#options;
    let isPartial = false;
    const early = {
      // Time is left to read the blobs.
      afterMs: Math.min(afterMs, (request.deadlineMs ?? Infinity) / 2),
      onEarly: () => isPartial = true,
    };
    const hits = await index.search({
      owner,
      namespace,
      vector,
      limit: candidateCount(limit, ordering),
      ...{ filter, ids },
      fused: isByWords ? wordsQuery(request) : fused,
    }, { pausing, signal, look, early });
    const ordered = orderHits(hits, { ordering, limit, nowMs: clock.nowMs() });
    return { kind: "found", hits: ordered, isByWords, isPartial, look };
  }

  /**
   * Leaves out memories that another instance has removed since the search
   * began, or since they were read where the others are still being read.
   */
  async #withoutRemoved(
    all: AnsweredRecall,
    { owner }: RecallRequest,
    { found: { look: before, isByWords, isPartial }, later }: {
      readonly found: Found;
      readonly later: Look | undefined;
    },
  ): Promise<AnsweredRecall> {
    const read = { ...all, isByWords, isPartial };
    if (before === undefined || later === undefined) return read;
    if (await before.head === await later.head && !isPartial) return read;
    const { store } = this.#options;
    const ids = [...read.memories.map(({ id }) => id), ...read.omittedIds];
    const rows = await store.memories(owner, ids);
    const there = new Set(rows.map((row) => row?.id));
    const memories = read.memories.filter(({ id }) => there.has(id));
    return {
      ...read,
      memories,
      dropped: read.dropped + read.memories.length - memories.length,
      omittedIds: read.omittedIds.filter((id) => there.has(id)),
    };
  }

  /** Returns undefined where vectors alone rank the memories. */
  #fusedQuery(
    { query, ranking, explain = false }: RecallRequest,
  ): FusedQuery | undefined {
    const { ranking: usual = "semantic", vectorWeight = 1 } = this.#options;
    const isFused = (ranking ?? usual) === "fused" && typeof query === "string";
    return isFused ? { text: query, explain, vectorWeight } : undefined;
  }
}

/** Recalls of one owner that get and open blobs at the same time. */
const PARALLEL_RECALLS_PER_OWNER = 4;
/** With the time for blobs, a recall is then answered within two seconds. */
const PARTIAL_AFTER_MS = 1_000;

interface Found {
  readonly kind: "found";
  readonly hits: readonly OrderedHit[];
  /** Whether words ranked in place of vectors. */
  readonly isByWords: boolean;
  /** Whether the owner's memories were still being read. */
  readonly isPartial: boolean;
  /** What the search had to find of a shared store. */
  readonly look: Look | undefined;
}

type AnsweredRecall = Extract<RecallOutcome, { readonly kind: "ok" }>;

/** Returns the query by which words alone rank. */
function wordsQuery(
  { query, explain = false }: RecallRequest,
): FusedQuery | undefined {
  return typeof query === "string"
    ? { text: query, explain, vectorWeight: 0 }
    : undefined;
}
