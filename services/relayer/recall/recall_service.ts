/**
 * Recall: embeds the query, finds the closest memories, and gets and opens the
 * blobs of those that are answered with.
 *
 * @module
 */

import type { Clock } from "../../shared/clock.ts";
import type { Logger } from "../../shared/logger.ts";
import { NEVER_PAUSING, type Pausing } from "../../shared/slices.ts";
import type { BlobStore } from "../blobs/blob_store.ts";
import {
  boundedWork,
  finishInSlices,
  pooled,
  steadyMs,
} from "../concurrency/bounded_work.ts";
import { KeyedSemaphore } from "../concurrency/semaphore.ts";
import type { Embedder, EmbedOutcome } from "../embed/embedder.ts";
import { vectorTextSteps } from "../embed/words.ts";
import type { RelayerStore } from "../store/store.ts";
import {
  isOwnerKeyFailure,
  type OpenedBlob,
  type OpenFailure,
  type RelayerVault,
} from "../vault/vault.ts";
import {
  candidateCount,
  type OrderedHit,
  orderHits,
  type Ranking,
  type RecalledMemory,
  type RecallOutcome,
  type RecallRequest,
  type RecallStage,
} from "./recall_request.ts";
import type { EntryRenewal } from "./entry_renewal.ts";
import type { FusedQuery, IndexHit, IndexQuery } from "./memory_index.ts";
import type { Look } from "./owner_follower.ts";
import type { SearchOptions } from "./owner_index.ts";

/** What recall asks for memories. */
interface RecallIndex {
  /** See {@linkcode OwnerIndex.search}. */
  search(
    query: IndexQuery,
    options: SearchOptions,
  ): Promise<readonly IndexHit[]>;
  /**
   * See {@linkcode OwnerIndex.look}.
   *
   * @default there are no other instances
   */
  look?(owner: string): Look | undefined;
}

/** Options of {@linkcode RecallService}. */
interface RecallServiceOptions {
  /** Makes vectors of queries. */
  readonly embedder: Embedder;
  /** Finds memories; knows whether other instances change them. */
  readonly index: RecallIndex;
  /**
   * Learns which owners recall.
   *
   * @default none
   */
  readonly renewal?: Pick<EntryRenewal, "noteRecall"> | undefined;
  /** Keeps blobs. */
  readonly blobs: Pick<BlobStore, "get">;
  /** Opens blobs. */
  readonly vault: Pick<RelayerVault, "prepare" | "open">;
  /** Says where a memory is now whose blob is not what the index says. */
  readonly store: Pick<RelayerStore, "memories">;
  /** The time. */
  readonly clock: Clock;
  /**
   * Gets a warning for queries that cannot be embedded and for blobs that
   * cannot be read or opened.
   */
  readonly logger: Logger;
  /**
   * Bytes of blobs that one recall reads and answers with, but always one
   * memory. A hundred texts of a megabyte would take all others' seconds and
   * the memory of the process.
   *
   * @default {1048576}
   */
  readonly maxBytes?: number | undefined;
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
   * Weight of vectors where words and vectors rank together: what a cosine 1
   * above the usual one scores, as a multiple of what all words of the question
   * score.
   *
   * @default {1}
   */
  readonly vectorWeight?: number | undefined;
}

/** Recalls from the index in memory. */
export class RecallService {
  readonly #options: RecallServiceOptions;
  readonly #reading: KeyedSemaphore;
  /** Until then recalls wait only briefly for a vector, by a steady clock. */
  #hurriedUntilMs = -Infinity;

  /** A service over the relayer's parts. */
  constructor(options: RecallServiceOptions) {
    this.#options = options;
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
        () => this.#readAll(found.hits, { request, progress }),
        { signal: progress.signal, key: request.owner },
      );
      if (read.kind !== "ok") return read;
      const { isByWords } = found;
      const look = { before: found.look, later: progress.later };
      return { ...await this.#withoutRemoved(read, look, request), isByWords };
    });
  }

  /** Finds memories without reading their blobs, so without their texts. */
  find(request: RecallRequest): Promise<RecallOutcome> {
    return this.#bounded(request, async (progress) => {
      const found = await this.#search(request, progress);
      if (found.kind !== "found") return found;
      const look = {
        before: found.look,
        later: this.#options.index.look?.(request.owner),
      };
      return await this.#withoutRemoved(
        {
          kind: "ok",
          memories: found.hits.map((hit) => plainMemory(hit, request)),
          dropped: 0,
          omittedIds: [],
          readBytes: 0,
        },
        look,
        request,
      );
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
      ? await this.#embed(request.query, {
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
    const hits = await index.search({
      owner,
      namespace,
      vector,
      limit: candidateCount(limit, ordering),
      ...{ filter, ids },
      fused: isByWords ? wordsQuery(request) : fused,
    }, { pausing, signal, look });
    const ordered = orderHits(hits, { ordering, limit, nowMs: clock.nowMs() });
    return { kind: "found", hits: ordered, isByWords, look };
  }

  /**
   * Leaves out memories that another instance has removed since the search
   * began.
   */
  async #withoutRemoved(
    read: AnsweredRecall,
    { before, later }: {
      readonly before: Look | undefined;
      readonly later: Look | undefined;
    },
    { owner }: RecallRequest,
  ): Promise<AnsweredRecall> {
    if (before === undefined || later === undefined) return read;
    if (await before.head === await later.head) return read;
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

  /**
   * Returns the vector of a query; undefined where words alone have to rank,
   * since no vector can be had; "misfit" where words rank in place of vectors
   * that do not fit; an outcome where the recall ends without a vector.
   */
  async #embed(
    query: string,
    options: {
      readonly signal: AbortSignal;
      readonly pausing: Pausing;
      /** Whether words rank as well. */
      readonly hasWords: boolean;
      /** When the recall has to be over. */
      readonly deadlineMs: number | undefined;
    },
  ): Promise<Float32Array | undefined | "misfit" | RecallOutcome> {
    const { embedder, clock, logger } = this.#options;
    const { pausing, hasWords, deadlineMs = Infinity } = options;
    const isHurried = steadyMs(clock) < this.#hurriedUntilMs;
    const mostMs = isHurried ? HURRIED_WAIT_MS : MAX_WAIT_FOR_VECTOR_MS;
    // The other half of the deadline is for searching by words.
    const longestMs = Math.min(mostMs, deadlineMs / 2);
    const text = await finishInSlices(vectorTextSteps(query), options);
    const bounded = await boundedWork({
      clock,
      timeoutMs: hasWords ? longestMs : undefined,
      signal: options.signal,
      run: (signal) => embedder.embed([text], { signal, pausing }),
    });
    const outcome = bounded.kind === "done" ? bounded.result : LATE;
    // A vector that is too late for this caller's short deadline may be in time
    // for other callers.
    if (bounded.kind === "late" && longestMs === MAX_WAIT_FOR_VECTOR_MS) {
      this.#hurriedUntilMs = steadyMs(clock) + HURRY_MS;
    }
    if (outcome.kind === "ok" && outcome.vectors[0] !== undefined) {
      return outcome.vectors[0];
    }
    const { reason, retryAfterMs, isMisfit = false } = outcome.kind === "ok"
      ? {
        reason: "Cannot embed query: there is no vector",
        retryAfterMs: undefined,
      }
      : outcome;
    if (!options.signal.aborted) {
      const what = hasWords || isMisfit
        ? "Recalled by words alone"
        : "Cannot recall";
      logger.warn(`${what}: no vector`, { reason });
    }
    if (hasWords) return undefined;
    return isMisfit ? "misfit" : { kind: "unavailable", retryAfterMs };
  }

  /**
   * Reads the blobs of as many hits as fit into the answer, the best hits
   * first. When none of these blobs can be read, it reads those of the next
   * hits, until there is one memory to answer with.
   */
  async #readAll(
    hits: readonly OrderedHit[],
    { request, progress }: {
      readonly request: RecallRequest;
      readonly progress: Progress;
    },
  ): Promise<RecallOutcome> {
    const { maxBytes = this.#options.maxBytes ?? MAX_ANSWER_BYTES } = request;
    const memories = new Map<OrderedHit, RecalledMemory>();
    const dropped = new Map<DropReason, number>();
    let waiting = hits;
    let readBytes = 0;
    while (readBytes < MAX_UNREADABLE_BYTES) {
      const chosen = fitting(waiting, {
        leftBytes: maxBytes - readBytes,
        isFirst: memories.size === 0,
      });
      if (chosen.size === 0) break;
      waiting = waiting.filter((ordered) => !chosen.has(ordered));
      for (const read of await this.#read([...chosen], { request, progress })) {
        readBytes += read.bytes;
        // All blobs of the owner are behind the same key: to drop each of them
        // would hide all memories.
        if (read.kind === "dropped" && isOwnerKeyFailure(read.why)) {
          return { kind: "locked", why: read.why };
        }
        if (read.kind === "ok") memories.set(read.ordered, read.memory);
        else dropped.set(read.why, (dropped.get(read.why) ?? 0) + 1);
      }
    }
    this.#tellDropped(dropped, memories.size);
    return {
      kind: "ok",
      memories: hits.flatMap((ordered) => memories.get(ordered) ?? []),
      dropped: hits.length - waiting.length - memories.size,
      omittedIds: waiting.map(({ hit }) => hit.id),
      readBytes,
    };
  }

  #tellDropped(
    dropped: ReadonlyMap<DropReason, number>,
    kept: number,
  ): void {
    if (dropped.size === 0) return;
    this.#options.logger.warn(
      "Left memories out of a recall: their blobs cannot be read",
      { kept, ...Object.fromEntries(dropped) },
    );
  }

  /**
   * Reads blobs; again those that were moved since the index was asked, as when
   * another process puts memories behind key servers.
   */
  async #read(
    chosen: readonly OrderedHit[],
    options: ReadOptions,
  ): Promise<readonly ReadHit[]> {
    const read: readonly ReadHit[] = await this.#readOnce(chosen, options);
    const lost = read.flatMap(({ ordered, ...of }) =>
      of.kind === "dropped" && mayBeMoved(of.why) ? [ordered] : []
    );
    const moved = await this.#findMoved(lost);
    if (moved.size === 0) return read;
    const there = await this.#readOnce([...moved.values()], options);
    const again = new Map(there.map((one) => [one.ordered, one]));
    return read.map((one) => {
      const { ordered } = one;
      const other = moved.get(ordered);
      const found = other && again.get(other);
      return found === undefined ? one : { ...found, ordered };
    });
  }

  /** Hits whose rows name other blobs by now, each by what it was. */
  async #findMoved(
    lost: readonly OrderedHit[],
  ): Promise<ReadonlyMap<OrderedHit, OrderedHit>> {
    const [first] = lost;
    if (first === undefined) return new Map();
    const rows = await this.#options.store.memories(
      first.hit.owner,
      lost.map(({ hit }) => hit.id),
    );
    return new Map(lost.flatMap((ordered, at) => {
      const { hit } = ordered;
      const blobId = rows[at]?.blobId;
      return blobId === undefined || blobId === hit.blobId
        ? []
        : [[ordered, { ...ordered, hit: { ...hit, blobId } }]];
    }));
  }

  /** Gets blobs, some at the same time, and opens them one after the other. */
  async #readOnce(
    chosen: readonly OrderedHit[],
    { request: { pausing, explain }, progress }: ReadOptions,
  ): Promise<readonly ReadHit[]> {
    const { at, signal } = progress;
    const { blobs, vault } = this.#options;
    at.stage = "walrus_download";
    const got = await pooled(chosen, {
      parallel: PARALLEL_BLOBS,
      signal,
      work: async (ordered) => {
        const blob = await blobs.get(ordered.hit.blobId, { signal });
        if (blob.kind === "ok") {
          await vault.prepare(ordered.hit.owner, blob.bytes);
        }
        return { ordered, blob };
      },
    });
    // The store answers while the blobs are opened.
    const [first] = chosen;
    progress.later = first && this.#options.index.look?.(first.hit.owner);
    at.stage = "seal_decrypt";
    const read: ReadHit[] = [];
    for (const { ordered, blob } of got) {
      if (blob.kind !== "ok") {
        read.push({ kind: "dropped", ordered, why: blob.kind, bytes: 0 });
        continue;
      }
      await pausing?.pause();
      signal.throwIfAborted();
      const bytes = blob.bytes.length;
      const opened = await vault.open(ordered.hit.owner, blob.bytes, {
        pausing,
      });
      const outcome = buildMemory(ordered, { opened, explain });
      read.push(
        typeof outcome === "string"
          ? { kind: "dropped", ordered, why: outcome, bytes }
          : { kind: "ok", ordered, memory: outcome, bytes },
      );
    }
    return read;
  }
}

/** Blobs that one recall gets at the same time. */
const PARALLEL_BLOBS = 10;
/** Recalls of one owner that get and open blobs at the same time. */
const PARALLEL_RECALLS_PER_OWNER = 4;

/**
 * The longest that a recall which ranks by words as well waits for a vector.
 */
const MAX_WAIT_FOR_VECTOR_MS = 3_000;
/**
 * For {@linkcode HURRY_MS} after a vector that came too late, recalls wait no
 * longer than this.
 */
const HURRIED_WAIT_MS = 300;
const HURRY_MS = 30_000;

const LATE: EmbedOutcome = {
  kind: "unavailable",
  reason: "Cannot embed query: it took too long",
  isPassing: true,
};

/** Bytes of blobs that a recall answers with unless another number is given. */
const MAX_ANSWER_BYTES = 1_048_576;

/**
 * After this many bytes a recall reads no further blobs in place of those that
 * could not be opened.
 */
const MAX_UNREADABLE_BYTES = 8 * MAX_ANSWER_BYTES;

/** The stage that a recall is at, and the signal that ends it. */
interface Progress {
  readonly at: { stage: RecallStage };
  readonly signal: AbortSignal;
  /**
   * What the store has by when the blobs were read; undefined where it is this
   * instance's alone.
   */
  later?: Look | undefined;
}

interface Found {
  readonly kind: "found";
  readonly hits: readonly OrderedHit[];
  /** Whether words ranked in place of vectors. */
  readonly isByWords: boolean;
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

/** Why a hit is left out. */
type DropReason = OpenFailure | "missing";

/** The outcome of reading a hit. */
type ReadHit =
  & {
    /** The hit. */
    readonly ordered: OrderedHit;
    /** Bytes of its blob. */
    readonly bytes: number;
  }
  & (
    | { readonly kind: "ok"; readonly memory: RecalledMemory }
    | { readonly kind: "dropped"; readonly why: DropReason }
  );

/** Options of reading hits. */
interface ReadOptions {
  readonly request: RecallRequest;
  readonly progress: Progress;
}

/** Whether that is how a blob looks whose memory has another one by now. */
function mayBeMoved(why: DropReason): boolean {
  return why === "missing" || why === "key_gone" || why === "damaged";
}

/**
 * The hits that there is room for, in their order: one that is too large does
 * not hide those after it. The first of an answer always has room.
 */
function fitting(
  hits: readonly OrderedHit[],
  options: { readonly leftBytes: number; readonly isFirst: boolean },
): ReadonlySet<OrderedHit> {
  const chosen = new Set<OrderedHit>();
  let { leftBytes } = options;
  for (const ordered of hits) {
    const { sizeBytes } = ordered.hit;
    const isFirst = options.isFirst && chosen.size === 0;
    if (!isFirst && sizeBytes > leftBytes) continue;
    chosen.add(ordered);
    leftBytes -= sizeBytes;
  }
  return chosen;
}

function buildMemory(
  ordered: OrderedHit,
  { opened, explain }: {
    readonly opened: OpenedBlob;
    readonly explain: boolean | undefined;
  },
): RecalledMemory | DropReason {
  if (opened.kind === "failed") return opened.why;
  const { id, namespace, text, metadata } = opened.value;
  const { hit } = ordered;
  // Another memory's blob: the row was tampered with.
  if (id !== hit.id || namespace !== hit.namespace) return "damaged";
  return { ...plainMemory(ordered, { explain }), text, metadata };
}

function plainMemory(
  { hit, score }: OrderedHit,
  { explain = false }: Pick<RecallRequest, "explain">,
): RecalledMemory {
  const { id, blobId, distance, createdAtMs, importance, fused } = hit;
  return {
    id,
    blobId,
    distance,
    relevance: fused?.relevance,
    explanation: fused?.explanation ??
      (explain ? { parts: { vector: 1 - distance } } : undefined),
    createdAtMs,
    importance,
    score,
  };
}
