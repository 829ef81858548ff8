/**
 * Reads and opens the blobs of hits, of as many as an answer has room for.
 *
 * @module
 */

import type { Logger } from "../../shared/logger.ts";
import type { BlobStore } from "../blobs/blob_store.ts";
import { pooled } from "../concurrency/bounded_work.ts";
import type { RelayerStore } from "../store/store.ts";
import {
  isOwnerKeyFailure,
  type OpenedBlob,
  type OpenFailure,
  type RelayerVault,
} from "../vault/vault.ts";
import type { Look } from "./owner_follower.ts";
import type {
  OrderedHit,
  RecalledMemory,
  RecallOutcome,
  RecallRequest,
  RecallStage,
} from "./recall_request.ts";

/** Options of {@linkcode HitReader}. */
export interface HitReaderOptions {
  /** Knows whether other instances change memories. */
  readonly index: {
    /**
     * See {@linkcode OwnerIndex.look}.
     *
     * @default there are no other instances
     */
    look?(owner: string): Look | undefined;
  };
  /** Keeps blobs. */
  readonly blobs: Pick<BlobStore, "get">;
  /** Opens blobs. */
  readonly vault: Pick<RelayerVault, "prepare" | "open">;
  /** Says where a memory is now whose blob is not what the index says. */
  readonly store: Pick<RelayerStore, "memories">;
  /** Gets a warning for blobs that cannot be read or opened. */
  readonly logger: Logger;
  /**
   * Bytes of blobs that one recall reads and answers with, but always one
   * memory. A hundred texts of a megabyte would take all others' seconds and
   * the memory of the process.
   *
   * @default {1048576}
   */
  readonly maxBytes?: number | undefined;
}

/** The stage that a recall is at, and the signal that ends it. */
export interface Progress {
  /** The stage. */
  readonly at: { stage: RecallStage };
  /** Ends the recall. */
  readonly signal: AbortSignal;
  /**
   * What the store has by when the blobs were read; undefined where it is this
   * instance's alone.
   */
  later?: Look | undefined;
}

/** Blobs that one recall gets at the same time. */
const PARALLEL_BLOBS = 10;
/** Bytes of blobs that a recall answers with unless another number is given. */
const MAX_ANSWER_BYTES = 1_048_576;

/**
 * After this many bytes a recall reads no further blobs in place of those that
 * could not be opened.
 */
const MAX_UNREADABLE_BYTES = 8 * MAX_ANSWER_BYTES;

/** Reads the blobs of hits. */
export class HitReader {
  readonly #options: HitReaderOptions;

  /** A reader over the relayer's parts. */
  constructor(options: HitReaderOptions) {
    this.#options = options;
  }

  /**
   * Reads the blobs of as many hits as fit into the answer, the best hits
   * first. When none of these blobs can be read, it reads those of the next
   * hits, until there is one memory to answer with.
   */
  async read(
    hits: readonly OrderedHit[],
    { request, progress }: ReadOptions,
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
      for (
        const read of await this.#readMoved([...chosen], { request, progress })
      ) {
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
  async #readMoved(
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
  /** The recall. */
  readonly request: RecallRequest;
  /** How far it is. */
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

/** What is answered of a hit without its blob. */
export function plainMemory(
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
