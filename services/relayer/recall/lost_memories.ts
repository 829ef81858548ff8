/**
 * Finds the blobs of a namespace whose memories the index lacks, or has with a
 * vector that does not fit the embedder. It reads these memories back from the
 * blobs.
 *
 * @module
 */

import type { Logger } from "../../shared/logger.ts";
import type { Pausing } from "../../shared/slices.ts";
import type {
  BlobCatalog,
  BlobOutcome,
  BlobStore,
  CatalogEntry,
} from "../blobs/blob_store.ts";
import { pooled } from "../concurrency/bounded_work.ts";
import type { Embedder } from "../embed/embedder.ts";
import type { MemoryRow } from "../store/rows.ts";
import type { RelayerStore } from "../store/store.ts";
import {
  mayOpenLater,
  type Metadata,
  type OpenFailure,
  type OpenOptions,
  type RelayerVault,
} from "../vault/vault.ts";
import { vectorFits } from "./memory_index.ts";
import type { MissingLately } from "./missing_lately.ts";
import type { VectorIndex } from "./vector_index.ts";

/** What restoring needs of the relayer. */
export interface RestoreParts {
  /** Keeps rows. */
  readonly store: Pick<
    RelayerStore,
    "commit" | "memories" | "scanMemories" | "badBlobs"
  >;
  /** Opens blobs and seals vectors. */
  readonly vault: Pick<
    RelayerVault,
    "open" | "openIndex" | "sealIndex" | "destroy"
  >;
  /** Keeps blobs. */
  readonly blobs: Pick<BlobStore, "get" | "isGone">;
  /** Knows which blobs there were. */
  readonly catalog: Pick<BlobCatalog, "list" | "findEntry">;
  /** Makes vectors. */
  readonly embedder: Embedder;
  /** Finds memories. */
  readonly index: Pick<VectorIndex, "add" | "has" | "remove">;
  /** The ledger package whose policy guards blobs. */
  readonly packageId: string;
  /** Hears of blobs that cannot be restored. */
  readonly logger: Logger;
}

/** Options of {@linkcode missingBlobs}. */
interface MissingBlobsOptions extends
  Pick<
    RestoreParts,
    "store" | "index" | "vault" | "embedder" | "blobs" | "catalog"
  > {
  /** Blobs that are passed over, as the blob store did not have them lately. */
  readonly missingLately: Pick<MissingLately, "has">;
  /** The namespace. */
  readonly namespace: string;
  /** Ends it early. */
  readonly signal: AbortSignal;
  /** Gives other work its turn after each page. */
  readonly pausing: Pausing;
}

/** A blob that the index lacks. */
export interface MissingBlob {
  /** What the catalogue says. */
  readonly entry: CatalogEntry;
  /** Whether the store has a row of the memory, whose vector is of no use. */
  readonly hasRow: boolean;
}

/** The blobs of a namespace. */
interface MissingBlobs {
  /** Blobs that the index lacks, the newest first. */
  readonly missing: readonly MissingBlob[];
  /** How many blobs the index has. */
  readonly indexed: number;
  /** How many blobs are beyond restoring, or were missing lately. */
  readonly bad: number;
  /**
   * Blobs that only their client can restore: the client sealed them, and their
   * vectors do not open with the keys there are.
   */
  readonly unreadable: readonly CatalogEntry[];
  /**
   * How many blobs are gone from the blob store, whether the index has their
   * memories or not.
   */
  readonly gone: number;
  /** How many blobs there are in all. */
  readonly total: number;
}

const PAGE = 200;
/** Blobs whose presence is checked at the same time. */
const PARALLEL_LOOKS = 8;

/**
 * Compares the catalogue's blobs of a namespace with index and store. Other
 * work gets its turn after each page.
 *
 * @throws the signal's reason when it ends early
 */
export async function missingBlobs(
  owner: string,
  options: MissingBlobsOptions,
): Promise<MissingBlobs> {
  const { catalog, namespace, signal, pausing } = options;
  const missing: MissingBlob[] = [];
  const unreadable: CatalogEntry[] = [];
  let indexed = 0;
  let bad = 0;
  let gone = 0;
  let total = 0;
  let last: CatalogEntry | undefined;
  for (;;) {
    signal.throwIfAborted();
    const page = await catalog.list(owner, {
      namespace,
      limit: PAGE,
      after: last,
    });
    const states = await checkStates(owner, { ...options, page });
    page.forEach((entry, at) => {
      const state = states[at];
      if (state === "indexed") indexed++;
      else if (state === "bad") bad++;
      else if (state === "gone") gone++;
      else if (state === "unreadable") unreadable.push(entry);
      else missing.push({ entry, hasRow: state === "stale" });
    });
    total += page.length;
    last = page.at(-1);
    if (page.length < PAGE) {
      return { missing, indexed, bad, unreadable, gone, total };
    }
    await pausing.pause();
  }
}

/** What is known of a blob; a stale one has a row whose vector is of no use. */
type BlobState =
  | "indexed"
  | "bad"
  | "gone"
  | "unreadable"
  | "stale"
  | "missing";

async function checkStates(
  owner: string,
  options: MissingBlobsOptions & { readonly page: readonly CatalogEntry[] },
): Promise<readonly BlobState[]> {
  const { blobs, page, signal } = options;
  const isGone = await pooled(page, {
    parallel: PARALLEL_LOOKS,
    signal,
    work: ({ blobId }) => blobs.isGone(blobId),
  });
  const there = page.filter((_, at) => !isGone[at]);
  const states = [
    ...await checkIndexStates(owner, { ...options, page: there }),
  ];
  return isGone.map((gone) => gone ? "gone" : states.shift() ?? "indexed");
}

/** The states of blobs that the blob store has. */
async function checkIndexStates(
  owner: string,
  options: MissingBlobsOptions & { readonly page: readonly CatalogEntry[] },
): Promise<readonly BlobState[]> {
  const { store, index, page, missingLately } = options;
  // What recall finds has a row and a vector that fits.
  const others = page.filter(({ memoryId }) => !index.has(owner, memoryId));
  if (others.length === 0) return page.map(() => "indexed");
  const [rows, bad] = await Promise.all([
    store.memories(owner, others.map(({ memoryId }) => memoryId)),
    store.badBlobs(owner, others.map(({ blobId }) => blobId)),
  ]);
  const states = new Map<string, BlobState>();
  for (const [at, entry] of others.entries()) {
    await options.pausing.pause();
    const state = await checkState(entry, { ...options, row: rows[at] });
    const isBad = state !== "indexed" && state !== "unreadable" &&
      (bad.has(entry.blobId) || missingLately.has(owner, entry.blobId));
    states.set(entry.memoryId, isBad ? "bad" : state);
  }
  return page.map(({ memoryId }) => states.get(memoryId) ?? "indexed");
}

async function checkState(
  { owner, sealedIndex }: CatalogEntry,
  options: MissingBlobsOptions & { readonly row: MemoryRow | undefined },
): Promise<BlobState> {
  const { vault, embedder, row } = options;
  if (row !== undefined) {
    const opened = await vault.openIndex(owner, row.sealedIndex);
    if (opened.kind === "ok" && vectorFits(opened.value, embedder)) {
      return "indexed";
    }
    // The key server does not answer: no reason to make the vector again.
    if (opened.kind === "failed" && mayOpenLater(opened.why)) {
      return "indexed";
    }
  }
  const state = row === undefined ? "missing" : "stale";
  if (sealedIndex === undefined) return state;
  // A vector that a client made fits, or never will with this embedder.
  const opened = await vault.openIndex(owner, sealedIndex);
  if (opened.kind === "ok") {
    return vectorFits(opened.value, embedder) ? state : "bad";
  }
  return mayOpenLater(opened.why) ? state : "unreadable";
}

/** What is known of a memory whose row is lost. */
export interface LostMemory {
  /** What the catalogue says. */
  readonly entry: CatalogEntry;
  /** The blob. */
  readonly bytes: Uint8Array;
  /** Its text; absent when only the client can open the blob. */
  readonly text?: string | undefined;
  /** The key that opened the blob; absent when only the client can. */
  readonly keyId?: string | undefined;
  /** Its vector; absent when one is to be made of the text. */
  readonly vector?: Float32Array | undefined;
  /** When it was written, in milliseconds since the epoch. */
  readonly createdAtMs: number;
  /** The public key of the delegate that wrote it. */
  readonly agentId: string;
  /** How much it matters; null when it is not known. */
  readonly importance: number | null;
  /** What the client says of it. */
  readonly metadata: Metadata;
  /** The id of the memory that this one supersedes. */
  readonly supersedes?: string | undefined;
}

/** The outcome of reading a memory back from its blob. */
export type ReadLost =
  | { readonly kind: "ok"; readonly memory: LostMemory }
  /** The memory cannot be restored by this relayer as it is set up. */
  | {
    readonly kind: "lost";
    readonly entry: CatalogEntry;
    readonly why: string;
    /**
     * Whether no other set-up can restore it either, so that the blob is noted
     * as bad and not tried again.
     */
    readonly isNoted: boolean;
  }
  /** The memory may be restored another time. */
  | { readonly kind: "later"; readonly why: OpenFailure };

/** Options of {@linkcode readLost}. */
type ReadLostOptions = OpenOptions & Pick<RestoreParts, "vault" | "embedder">;

/** Reads a memory back from what the blob store gave for its blob. */
export async function readLost(
  { entry, blob }: {
    readonly entry: CatalogEntry;
    readonly blob: BlobOutcome;
  },
  options: ReadLostOptions,
): Promise<ReadLost> {
  const { vault, pausing } = options;
  if (blob.kind === "missing") {
    return { kind: "lost", entry, why: "missing", isNoted: false };
  }
  if (blob.kind === "unavailable") return { kind: "later", why: "unavailable" };
  const { bytes } = blob;
  if (entry.sealedIndex !== undefined) {
    return await readManual({ ...entry, sealedIndex: entry.sealedIndex }, {
      ...options,
      bytes,
    });
  }
  const { owner, memorySecret } = entry;
  const opened = await vault.open(owner, bytes, { pausing, memorySecret });
  if (opened.kind === "failed") {
    return mayOpenLater(opened.why)
      ? { kind: "later", why: opened.why }
      : lost(entry, opened.why);
  }
  const { id, namespace, ...content } = opened.value;
  if (id !== entry.memoryId || namespace !== entry.namespace) {
    return lost(entry, "damaged");
  }
  const { keyId } = opened;
  return { kind: "ok", memory: { entry, bytes, keyId, ...content } };
}

/**
 * Reads back a memory whose blob only the client can open, with the vector that
 * the client brought.
 */
async function readManual(
  entry: CatalogEntry & { readonly sealedIndex: Uint8Array },
  options: ReadLostOptions & { readonly bytes: Uint8Array },
): Promise<ReadLost> {
  const { vault, embedder, bytes } = options;
  const opened = await vault.openIndex(entry.owner, entry.sealedIndex);
  if (opened.kind === "failed") {
    return mayOpenLater(opened.why)
      ? { kind: "later", why: opened.why }
      : lost(entry, opened.why);
  }
  const { vector, metadata } = opened.value;
  if (vector.length !== embedder.width) {
    return { kind: "lost", entry, why: "other_width", isNoted: false };
  }
  const { createdAtMs, agentId, importance = null } = entry;
  const { supersedes } = entry;
  return {
    kind: "ok",
    memory: {
      entry,
      bytes,
      vector,
      createdAtMs,
      agentId,
      importance,
      metadata,
      supersedes,
    },
  };
}

function lost(entry: CatalogEntry, why: string): ReadLost {
  return { kind: "lost", entry, why, isNoted: true };
}
