/**
 * Tells which entries of the index are due to be renewed, since an earlier
 * program or another embedder has made them. It opens the memory's text and
 * makes them again.
 *
 * @module
 */

import type { Logger } from "../../shared/logger.ts";
import { settle } from "../../shared/settled.ts";
import type { Pausing } from "../../shared/slices.ts";
import type { BlobStore } from "../blobs/blob_store.ts";
import {
  finishInSlices,
  pooled,
  type WorkOptions,
} from "../concurrency/bounded_work.ts";
import type { Embedder } from "../embed/embedder.ts";
import { vectorTextSteps } from "../embed/words.ts";
import { textVectors } from "../jobs/text_vectors.ts";
import type { MemoryRow } from "../store/rows.ts";
import type { RelayerStore } from "../store/store.ts";
import {
  type IndexEntry,
  isOwnerKeyFailure,
  mayOpenLater,
  type OwnerKeyFailure,
  refusedModel,
  type RelayerVault,
} from "../vault/vault.ts";
import {
  type IndexedMemory,
  isOfClient,
  vectorFits,
  type WantedVectors,
} from "./memory_index.ts";
import { type MemoryWords, memoryWordsSteps } from "./ranking/memory_words.ts";

/** A memory whose entry has to be made again. */
export interface DueEntry {
  /** Its row. */
  readonly row: MemoryRow;
  /** The entry as it is. */
  readonly entry: IndexEntry;
}

/** What an entry has to have. */
interface WantedEntries extends WantedVectors {
  /**
   * Whether an entry needs words.
   *
   * @default {true}
   */
  readonly areWordsWanted?: boolean | undefined;
}

/**
 * Tells whether an entry is due to be renewed: it has no words, or another
 * embedder made its vector. Entries that only the client can read stay as
 * they are, and so do vectors that clients brought.
 */
export function isDue(
  { row: { keyId }, entry }: {
    readonly row: Pick<MemoryRow, "keyId">;
    readonly entry: IndexEntry;
  },
  { areWordsWanted = true, ...wanted }: WantedEntries,
): boolean {
  if (keyId === undefined) return false;
  return (areWordsWanted && entry.words === undefined) ||
    needsVector(entry, wanted);
}

function needsVector(entry: IndexEntry, wanted: WantedVectors): boolean {
  if (isOfClient(entry) || vectorFits(entry, wanted)) return false;
  return wanted.model === undefined ||
    entry.model !== refusedModel(wanted.model);
}

/** What making entries again needs of the relayer. */
export interface RenewalParts {
  /** Keeps rows. */
  readonly store: Pick<RelayerStore, "commit" | "memories">;
  /** Opens texts and seals entries. */
  readonly vault: Pick<RelayerVault, "open" | "sealIndex" | "keepsWords">;
  /** Keeps blobs. */
  readonly blobs: Pick<BlobStore, "get">;
  /** Makes vectors. */
  readonly embedder: Embedder;
  /**
   * Takes renewed entries, so that memories are found by them at once.
   *
   * @default they are found after the next start
   */
  readonly index?: { add(memory: IndexedMemory): void } | undefined;
  /** Hears why vectors cannot be made. */
  readonly logger: Logger;
}

/** The outcome for some memories of an owner. */
export interface RenewalOutcome {
  /** Entries that were made again. */
  readonly renewed: number;
  /** Ids of entries that can never be made again, with the reasons. */
  readonly failed: ReadonlyMap<string, string>;
  /** Entries whose text cannot be read now. */
  readonly later: readonly DueEntry[];
  /** Entries that the embedder has no vector for now. */
  readonly waiting: readonly DueEntry[];
  /** When it is worth asking the embedder again, where it said so. */
  readonly retryAfterMs?: number | undefined;
  /**
   * The owner's key cannot be had: no other memory of the owner opens either.
   */
  readonly locked?: OwnerKeyFailure | undefined;
}

const PARALLEL_BLOBS = 10;
/**
 * A text that every embedder accepts: when it is accepted and another text is
 * not, that text is to blame and not the embedder.
 */
const TAKEN_TEXT = "memory";

/** An entry with the text that it is made of. */
interface Opened {
  readonly due: DueEntry;
  readonly text: string;
}

/** An entry as it will be. */
interface Made {
  readonly due: DueEntry;
  readonly entry: IndexEntry;
}

/**
 * Makes entries of memories of one owner again, and writes them in one commit.
 *
 * @throws the signal's reason when it ends early, and what store and vault
 * throw
 */
export async function renewEntries(
  owner: string,
  options: RenewalParts & {
    /** The memories. */
    readonly due: readonly DueEntry[];
    /** Ends it early. */
    readonly signal: AbortSignal;
    /** Gives others their turn. */
    readonly pausing: Pausing;
  },
): Promise<RenewalOutcome> {
  const { signal } = options;
  const read = await openTexts(owner, options);
  const made = await makeEntries(read.opened, options);
  for (const { row } of made.refused) read.failed.set(row.id, "refused");
  signal.throwIfAborted();
  await write(owner, made.made, options);
  const { later, locked } = read;
  const failed = await stillThere(owner, read.failed, options);
  const { renewed, waiting, retryAfterMs } = made;
  return {
    ...{ renewed, failed, later, waiting },
    ...{ retryAfterMs, locked },
  };
}

/** Whether the embedder works at all. */
export async function isTakingTexts(
  { embedder, signal, pausing }: WorkOptions & Pick<RenewalParts, "embedder">,
): Promise<boolean> {
  const asked = await settle(() =>
    embedder.embed([TAKEN_TEXT], { signal, pausing })
  );
  return asked.kind === "ok" && asked.value.kind === "ok";
}

/**
 * Leaves out memories that were deleted or replaced meanwhile: their blobs and
 * keys are gone, which is no failure.
 */
async function stillThere(
  owner: string,
  failed: ReadonlyMap<string, string>,
  { store }: RenewalParts,
): Promise<ReadonlyMap<string, string>> {
  if (failed.size === 0) return failed;
  const rows = await store.memories(owner, [...failed.keys()]);
  const ids = new Set(
    rows.flatMap((row) =>
      row === undefined || row.supersededBy !== undefined ? [] : [row.id]
    ),
  );
  return new Map([...failed].filter(([id]) => ids.has(id)));
}

async function openTexts(
  owner: string,
  options: Parameters<typeof renewEntries>[1],
): Promise<{
  readonly opened: readonly Opened[];
  readonly failed: Map<string, string>;
  readonly later: readonly DueEntry[];
  readonly locked: OwnerKeyFailure | undefined;
}> {
  const { due, blobs, vault, signal, pausing } = options;
  const opened: Opened[] = [];
  const failed = new Map<string, string>();
  const later: DueEntry[] = [];
  let locked: OwnerKeyFailure | undefined;
  // The first one tells whether the owner's key can be had: else no other is
  // read.
  for (const group of [due.slice(0, 1), due.slice(1)]) {
    const got = locked === undefined
      ? await pooled(group, {
        parallel: PARALLEL_BLOBS,
        signal,
        work: ({ row: { blobId } }) => blobs.get(blobId, { signal }),
      })
      : [];
    for (const [at, one] of group.entries()) {
      const blob = got[at];
      if (
        blob === undefined || locked !== undefined ||
        blob.kind === "unavailable"
      ) {
        later.push(one);
        continue;
      }
      if (blob.kind === "missing") {
        failed.set(one.row.id, blob.kind);
        continue;
      }
      await pausing.pause();
      signal.throwIfAborted();
      const text = await vault.open(owner, blob.bytes, { pausing });
      if (text.kind === "failed") {
        if (isOwnerKeyFailure(text.why)) locked = text.why;
        if (mayOpenLater(text.why)) later.push(one);
        else failed.set(one.row.id, text.why);
        continue;
      }
      const { id, namespace } = text.value;
      if (id !== one.row.id || namespace !== one.row.namespace) {
        // Another memory's blob: the row was tampered with.
        failed.set(one.row.id, "damaged");
        continue;
      }
      opened.push({ due: one, text: text.value.text });
    }
  }
  return { opened, failed, later, locked };
}

async function makeEntries(
  opened: readonly Opened[],
  options: Parameters<typeof renewEntries>[1],
): Promise<{
  readonly made: readonly Made[];
  /**
   * How many of the entries are as they should be; the others still have the
   * old vector.
   */
  readonly renewed: number;
  readonly waiting: readonly DueEntry[];
  readonly refused: readonly DueEntry[];
  readonly retryAfterMs: number | undefined;
}> {
  const { embedder, logger } = options;
  const words: MemoryWords[] = [];
  const texts: string[] = [];
  const places: number[] = [];
  for (const [at, { due, text }] of opened.entries()) {
    words.push(await finishInSlices(memoryWordsSteps(text), options));
    if (!needsVector(due.entry, embedder)) continue;
    places.push(at);
    texts.push(await finishInSlices(vectorTextSteps(text), options));
  }
  const reasons = new Set<string>();
  const outcomes = await embedTexts(texts, {
    ...options,
    onFailure: (reason) => reasons.add(reason),
  });
  if (reasons.size > 0) {
    logger.warn("Cannot renew all vectors", {
      reason: [...reasons].join("; "),
    });
  }
  const made: Made[] = [];
  const waiting: DueEntry[] = [];
  const refused: DueEntry[] = [];
  let retryAfterMs: number | undefined;
  const vectorAt = new Map(places.map((at, place) => [at, outcomes[place]]));
  let renewed = 0;
  for (const [at, { due }] of opened.entries()) {
    const outcome = vectorAt.get(at);
    const withWords = { ...due.entry, words: words[at] };
    if (outcome?.kind === "failed") {
      const { failure } = outcome;
      // Words find the memory whatever becomes of its vector.
      const isRefused = !failure.isPassing && due.entry.vector.length === 0;
      const kept = isRefused
        ? { ...withWords, model: refusedModel(embedder.model) }
        : withWords;
      if (isRefused || due.entry.words === undefined) {
        made.push({ due, entry: kept });
      }
      const left = { ...due, entry: kept };
      (failure.isPassing ? waiting : refused).push(left);
      retryAfterMs ??= failure.retryAfterMs;
      continue;
    }
    const fresh = outcome && { vector: outcome.vector, model: embedder.model };
    made.push({ due, entry: { ...withWords, ...fresh } });
    renewed++;
  }
  return { made, renewed, waiting, refused, retryAfterMs };
}

/**
 * Makes vectors of texts. When the embedder refuses some, the texts to blame
 * are looked for only if it works at all.
 */
async function embedTexts(
  texts: readonly string[],
  { embedder, signal, pausing, onFailure }:
    & Parameters<typeof renewEntries>[1]
    & { readonly onFailure: (reason: string) => void },
): ReturnType<typeof textVectors> {
  if (texts.length === 0) return [];
  const options = { embedder, signal, pausing, onFailure };
  let isRefused = false;
  const all = await textVectors(texts, {
    ...{ ...options, maxSearchCalls: 0 },
    embedder: {
      width: embedder.width,
      async embed(some, work) {
        const outcome = await embedder.embed(some, work);
        isRefused = outcome.kind === "unavailable" && !outcome.isPassing;
        return outcome;
      },
    },
  });
  if (!isRefused || !await isTakingTexts(options)) return all;
  return (await textVectors([TAKEN_TEXT, ...texts], options)).slice(1);
}

async function write(
  owner: string,
  made: readonly Made[],
  { store, vault, index, embedder }: RenewalParts,
): Promise<void> {
  if (made.length === 0) return;
  // Where the vault keeps no words, an entry that only gained words is not
  // written.
  const changed = made.filter(({ due, entry }) =>
    vault.keepsWords || entry.vector !== due.entry.vector ||
    entry.model !== due.entry.model
  );
  const changes = await Promise.all(
    changed.map(async ({ due: { row: { id } }, entry }) => ({
      ...{ kind: "reindex" as const, owner, id },
      sealedIndex: await vault.sealIndex(owner, entry),
    })),
  );
  const sealed = new Map(changes.map((of) => [of.id, of.sealedIndex]));
  if (changes.length > 0) await store.commit(changes, { canWait: true });
  if (index === undefined) return;
  // Rows may be deleted or replaced at any moment.
  const rows = await store.memories(owner, made.map(({ due }) => due.row.id));
  for (const [at, { due, entry }] of made.entries()) {
    const row = rows[at];
    if (row === undefined || row.supersededBy !== undefined) continue;
    const { metadata, words } = entry;
    const vector = vectorFits(entry, embedder) ? entry.vector : undefined;
    try {
      // The row may have another entry by now.
      const sealedIndex = sealed.get(due.row.id) ?? due.row.sealedIndex;
      index.add({ ...row, sealedIndex, metadata, vector, words });
    } catch (error) {
      // The index is full, which was logged when the owner was loaded.
      if (!(error instanceof RangeError)) throw error;
    }
  }
}
