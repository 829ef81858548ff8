/**
 * Renews those entries of one owner that are due, page by page and batch by
 * batch. It is no faster than the limit, and waits for the embedder as long as
 * it takes.
 *
 * @module
 */

import { type Clock, steadyClock, steadyMs } from "../../shared/clock.ts";
import { pause } from "../../shared/periodic.ts";
import type { Pausing } from "../../shared/slices.ts";
import { splitBatches } from "../concurrency/bounded_work.ts";
import type { MemoryRow } from "../store/rows.ts";
import type { RelayerStore } from "../store/store.ts";
import type { OwnerKeyFailure, RelayerVault } from "../vault/vault.ts";
import {
  type DueEntry,
  isDue,
  isTakingTexts,
  type RenewalOutcome,
  type RenewalParts,
  renewEntries,
} from "./renewed_entries.ts";

/** What going through the memories of an owner needs of the relayer. */
export interface OwnerRenewalParts extends RenewalParts {
  /** Keeps rows. */
  readonly store: RenewalParts["store"] & Pick<RelayerStore, "scanMemories">;
  /** Opens texts and entries, and seals entries. */
  readonly vault: RenewalParts["vault"] & Pick<RelayerVault, "openIndex">;
  /** Most entries a second, more than 0. */
  readonly perSecond: number;
  /** The time. */
  readonly clock: Clock;
}

/** Gets the progress of a renewal. */
export interface RenewalListener {
  /** So many memories were looked at. */
  checked(memories: number): void;
  /** So many entries were made again. */
  renewed(entries: number): void;
  /** An entry can never be made again. */
  failed(reason: string): void;
  /** So many entries wait for the embedder. */
  waiting(entries: number): void;
}

/** The entries of an owner that have to wait. */
export interface LeftEntries {
  /** How many entries have to wait. */
  readonly entries: number;
  /** The id after which a scan of rows finds all of these entries. */
  readonly afterId: string | undefined;
  /** Why the owner's key cannot be had, where that is the reason. */
  readonly locked: OwnerKeyFailure | undefined;
}

/** Options of {@linkcode renewOwner}. */
interface RenewOwnerOptions extends OwnerRenewalParts {
  /** The entries that had to wait the last time; undefined the first time. */
  readonly before: LeftEntries | undefined;
  /** The id after which the first pass goes on; undefined when it begins. */
  readonly fromId: string | undefined;
  /** Ids of entries that can never be renewed; those that are found are added. */
  readonly failed: Set<string>;
  /** Hears what is done. */
  readonly listener: RenewalListener;
  /** Gives others their turn. */
  readonly pausing: Pausing;
  /** Ends it early. */
  readonly signal: AbortSignal;
}

/** How far a pass over an owner's memories has come. */
interface OwnerRenewed {
  /** The entries that have to wait; undefined when there are not any. */
  readonly left: LeftEntries | undefined;
  /**
   * The id after which the pass goes on once other owners had their turn;
   * undefined when it is complete.
   */
  readonly nextId: string | undefined;
}

/** Entries of a page that have to be made again. */
interface DuePage {
  readonly due: readonly DueEntry[];
  /** The id that the page before ended with. */
  readonly afterId: string | undefined;
  /** The id that this one ends with; undefined when it is the last. */
  readonly endId: string | undefined;
}

/**
 * Due entries of an owner that are handled before other owners have their turn.
 */
const TURN_ENTRIES = 1_000;
const PAGE_ROWS = 200;
/**
 * Rows that are opened between two pauses for other work: half a millisecond.
 */
const STEP_ROWS = 8;
/** Memories of one call of the embedder and one commit. */
const BATCH_ROWS = 64;
/** Most bytes of the blobs of one batch; a single blob may have more. */
const BATCH_BYTES = 4 * 1_048_576;
const FIRST_WAIT_MS = 2_000;
const MAX_WAIT_MS = 300_000;

/**
 * Goes through the memories of an owner once, and renews the entries that are
 * due. The first pass comes back early where many are due, so that other owners
 * need not wait for all of them.
 *
 * @throws the signal's reason when it ends early, and what store and vault
 * throw
 */
export async function renewOwner(
  owner: string,
  options: RenewOwnerOptions,
): Promise<OwnerRenewed> {
  const { before } = options;
  let entries = 0;
  let tried = 0;
  let afterId: string | undefined;
  let nextId: string | undefined;
  let locked: OwnerKeyFailure | undefined;
  for await (const page of duePages(owner, options)) {
    const batches = splitBatches(page.due, {
      ...{ maxItems: BATCH_ROWS, maxBytes: BATCH_BYTES },
      countBytes: ({ row }) => row.sizeBytes,
    });
    for (const batch of batches) {
      if (locked !== undefined) {
        entries += batch.length;
        continue;
      }
      const outcome = await renewBatch(owner, { ...options, batch });
      const { later } = outcome;
      locked = outcome.locked;
      // All entries that wait were counted the last time.
      if (locked !== undefined && before !== undefined) {
        return { left: { ...before, locked }, nextId: undefined };
      }
      if (later > 0 && entries === 0) afterId = page.afterId;
      entries += later;
    }
    tried += page.due.length;
    const isForOthers = tried >= TURN_ENTRIES && locked === undefined &&
      before === undefined;
    if (isForOthers) {
      nextId = page.endId;
      break;
    }
  }
  const left = entries > 0 ? { entries, afterId, locked } : undefined;
  return { left, nextId };
}

async function renewBatch(
  owner: string,
  options: RenewOwnerOptions & { readonly batch: readonly DueEntry[] },
): Promise<
  & { readonly later: number }
  & Pick<RenewalOutcome, "locked">
> {
  const { clock, perSecond, listener } = options;
  let later = 0;
  let queue = options.batch;
  let size = queue.length;
  let waitMs = FIRST_WAIT_MS;
  for (;;) {
    const due = queue.slice(0, size);
    const startedMs = steadyMs(clock);
    const outcome = await renewEntries(owner, { ...options, due });
    const { waiting, locked, retryAfterMs = 0 } = outcome;
    listener.renewed(outcome.renewed);
    for (const [id, reason] of outcome.failed) {
      options.failed.add(id);
      listener.failed(reason);
    }
    later += outcome.later.length;
    queue = [...waiting, ...queue.slice(size)];
    listener.waiting(waiting.length === 0 ? 0 : queue.length);
    if (waiting.length < due.length) {
      waitMs = FIRST_WAIT_MS;
      const tookMs = steadyMs(clock) - startedMs;
      const paceMs = 1_000 * due.length / perSecond - tookMs;
      if (paceMs > 0) await rest(paceMs, options);
    }
    if (queue.length === 0 || locked !== undefined) {
      return { later: later + queue.length, locked };
    }
    if (waiting.length < due.length) continue;
    if (due.length === 1 && await isTakingTexts(options)) {
      // The embedder works: it is this text that takes too long.
      later++;
      queue = queue.slice(1);
      if (queue.length === 0) return { later, locked };
      continue;
    }
    await rest(Math.min(MAX_WAIT_MS, Math.max(retryAfterMs, waitMs)), options);
    waitMs *= 2;
    // Fewer texts may be done in time where many are not.
    size = Math.ceil(size / 2);
  }
}

/** Lets time pass; throws the signal's reason when that comes first. */
async function rest(
  ms: number,
  { clock, signal }: Pick<RenewOwnerOptions, "clock" | "signal">,
): Promise<void> {
  await pause(ms, { clock: steadyClock(clock), signal });
  signal.throwIfAborted();
}

async function* duePages(
  owner: string,
  options: RenewOwnerOptions,
): AsyncGenerator<DuePage> {
  const { store, embedder, signal, pausing, listener } = options;
  const { before, fromId } = options;
  const room = Array.from(
    { length: STEP_ROWS },
    () => new Float32Array(embedder.width),
  );
  let afterId = before === undefined ? fromId : before.afterId;
  for (;;) {
    signal.throwIfAborted();
    const rows = await store.scanMemories({
      ...{ owner, limit: PAGE_ROWS, afterId },
    });
    const current = rows.filter((row) => row.supersededBy === undefined);
    const due: DueEntry[] = [];
    for (let from = 0; from < current.length; from += STEP_ROWS) {
      await pausing.pause();
      signal.throwIfAborted();
      const step = current.slice(from, from + STEP_ROWS);
      due.push(...await findDue(step, { ...options, room }));
    }
    if (before === undefined) listener.checked(current.length);
    const endId = rows.length < PAGE_ROWS ? undefined : rows.at(-1)?.id;
    yield { due, afterId, endId };
    if (endId === undefined) return;
    afterId = endId;
  }
}

async function findDue(
  rows: readonly MemoryRow[],
  { vault, embedder, index, failed, room }: RenewOwnerOptions & {
    readonly room: readonly Float32Array<ArrayBuffer>[];
  },
): Promise<readonly DueEntry[]> {
  const opened = await Promise.all(
    rows.map((row, at) =>
      vault.openIndex(row.owner, row.sealedIndex, { into: room[at] })
    ),
  );
  return rows.flatMap((row, at) => {
    const entry = opened[at];
    // Entries that do not open are logged when the owner's index is loaded.
    if (entry?.kind !== "ok" || failed.has(row.id)) return [];
    const { width, model } = embedder;
    const areWordsWanted = vault.keepsWords || index !== undefined;
    const wanted = { width, model, areWordsWanted };
    if (!isDue({ row, entry: entry.value }, wanted)) return [];
    // A copy, since the room is reused for the next rows.
    const vector = entry.value.vector.slice();
    return [{ row, entry: { ...entry.value, vector } }];
  });
}
