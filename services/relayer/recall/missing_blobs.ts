/**
 * Which blobs of a namespace the index lacks, or has by a vector that cannot be
 * compared with those of the embedder.
 *
 * @module
 */

import type { Pausing } from "../../shared/slices.ts";
import type { BlobCatalog, CatalogEntry } from "../blobs/blob_catalog.ts";
import type { BlobStore } from "../blobs/blob_store.ts";
import type { Embedder } from "../embed/embedder.ts";
import type { MemoryRow } from "../store/memory_row.ts";
import type { RelayerStore } from "../store/store.ts";
import type { RelayerVault } from "../vault/vault.ts";
import type { ListedIndex } from "./memory_index.ts";
import { pooled } from "./pooled.ts";
import { vectorFits } from "./vector_fit.ts";

/** Options of {@linkcode missingBlobs}. */
export interface MissingBlobsOptions {
  /** Knows which rows there are, and what is beyond restoring. */
  readonly store: Pick<RelayerStore, "badBlobs" | "memories">;
  /** Knows what recall finds. */
  readonly index: Pick<ListedIndex, "has">;
  /** Opens the vectors of rows that the index left out. */
  readonly vault: Pick<RelayerVault, "openIndex">;
  /** What vectors are compared with. */
  readonly embedder: Pick<Embedder, "model" | "width">;
  /** Knows which blobs there were. */
  readonly catalog: Pick<BlobCatalog, "list">;
  /** Knows which of them are gone. */
  readonly blobs: Pick<BlobStore, "isGone">;
  /** The namespace. */
  readonly namespace: string;
  /** Ends it early. */
  readonly signal: AbortSignal;
  /** Asked after each page. */
  readonly pausing: Pausing;
}

/** A blob that the index lacks. */
export interface MissingBlob {
  /** What the catalogue says. */
  readonly entry: CatalogEntry;
  /** Whether there is a row, whose vector is of no use. */
  readonly hasRow: boolean;
}

/** The blobs of a namespace. */
export interface MissingBlobs {
  /** Those that the index lacks, the newest first. */
  readonly missing: readonly MissingBlob[];
  /** How many it has. */
  readonly indexed: number;
  /** How many are known to be beyond restoring. */
  readonly bad: number;
  /** How many are gone, whether the index has their memories or not. */
  readonly gone: number;
  /** How many there are. */
  readonly total: number;
}

const PAGE = 200;
/** Files that are looked for at a time. */
const PARALLEL_LOOKS = 8;

/**
 * Goes through the catalogue. Others get their turn after each page.
 *
 * @throws the signal's reason when it ends early
 */
export async function missingBlobs(
  owner: string,
  options: MissingBlobsOptions,
): Promise<MissingBlobs> {
  const { catalog, namespace, signal, pausing } = options;
  const missing: MissingBlob[] = [];
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
      ...(last === undefined ? {} : { after: last }),
    });
    const states = await statesOf(owner, { ...options, page });
    page.forEach((entry, at) => {
      const state = states[at];
      if (state === "indexed") indexed++;
      else if (state === "bad") bad++;
      else if (state === "gone") gone++;
      else missing.push({ entry, hasRow: state === "stale" });
    });
    total += page.length;
    last = page.at(-1);
    if (page.length < PAGE) return { missing, indexed, bad, gone, total };
    await pausing.pause();
  }
}

/** A stale one has a row whose vector is of no use. */
type BlobState = "indexed" | "bad" | "gone" | "stale" | "missing";

async function statesOf(
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
  const states = [...await indexStatesOf(owner, { ...options, page: there })];
  return isGone.map((gone) => gone ? "gone" : states.shift() ?? "indexed");
}

/** What the index has of blobs that are there. */
async function indexStatesOf(
  owner: string,
  options: MissingBlobsOptions & { readonly page: readonly CatalogEntry[] },
): Promise<readonly BlobState[]> {
  const { store, index, page } = options;
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
    const state = await stateOf(entry, { ...options, row: rows[at] });
    const isBad = state !== "indexed" && bad.has(entry.blobId);
    states.set(entry.memoryId, isBad ? "bad" : state);
  }
  return page.map(({ memoryId }) => states.get(memoryId) ?? "indexed");
}

async function stateOf(
  { owner, sealedIndex }: CatalogEntry,
  options: MissingBlobsOptions & { readonly row: MemoryRow | undefined },
): Promise<BlobState> {
  const { vault, embedder, row } = options;
  if (row !== undefined) {
    const opened = await vault.openIndex(owner, row.sealedIndex);
    if (opened.kind === "ok" && vectorFits(opened.value, embedder)) {
      return "indexed";
    }
    // Whoever has the key does not answer: that is no reason to make it again.
    if (opened.kind === "failed" && opened.why === "unavailable") {
      return "indexed";
    }
  }
  const state = row === undefined ? "missing" : "stale";
  if (sealedIndex === undefined) return state;
  // What a client made fits, or never will with this embedder.
  const opened = await vault.openIndex(owner, sealedIndex);
  return opened.kind === "ok" && !vectorFits(opened.value, embedder)
    ? "bad"
    : state;
}
