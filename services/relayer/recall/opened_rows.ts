/**
 * Opens the entries of an owner's rows, a few at a time, and puts them into the
 * index.
 *
 * @module
 */

import type { Pausing } from "../../shared/slices.ts";
import type { MemoryRow } from "../store/rows.ts";
import type { IndexEntry, Opened, RelayerVault } from "../vault/vault.ts";
import type { WritableCounts } from "./load_counts.ts";
import {
  type IndexedMemory,
  isOfClient,
  vectorFits,
  type WantedVectors,
} from "./memory_index.ts";
import { isDue } from "./renewed_entries.ts";

/** What opens rows, and where they go. */
export interface RowParts {
  /** Opens entries: vectors, words and metadata. */
  readonly vault: Pick<RelayerVault, "openIndex">;
  /** The index that memories are added to. */
  readonly index: { add(memory: IndexedMemory): void };
  /** Which vectors the index takes. */
  readonly wanted: WantedVectors;
}

/** How work gives way to other work, and what ends it. */
export interface RowOptions {
  /** Gives others their turn. */
  readonly pausing: Pausing;
  /** Ends it early. */
  readonly signal: AbortSignal;
}

/**
 * Rows that are opened between two pauses for other work: half a millisecond.
 */
const STEP_ROWS = 8;

/** Opens rows into room that it uses again. */
export class RowOpener {
  readonly #owner: string;
  readonly #parts: RowParts;
  #room: readonly Float32Array<ArrayBuffer>[] | undefined;

  /** For the rows of an owner. */
  constructor(owner: string, parts: RowParts) {
    this.#owner = owner;
    this.#parts = parts;
  }

  /**
   * Opens rows that are not superseded, and gives each with its entry to `take`,
   * which must copy the vector.
   *
   * @throws the signal's reason when it ends early, and what the vault throws
   */
  async open(
    rows: readonly MemoryRow[],
    { pausing, signal }: RowOptions,
    take: (row: MemoryRow, entry: Opened<IndexEntry>) => void,
  ): Promise<void> {
    const { vault, wanted } = this.#parts;
    // The index copies vectors into its own form, so that the room can be
    // reused.
    const room = this.#room ??= Array.from(
      { length: STEP_ROWS },
      () => new Float32Array(wanted.width),
    );
    for (let from = 0; from < rows.length; from += STEP_ROWS) {
      await pausing.pause();
      signal.throwIfAborted();
      const step = rows.slice(from, from + STEP_ROWS);
      // Long entries are opened beside this thread, several at a time.
      const entries = await Promise.all(
        step.map((row, at) =>
          vault.openIndex(this.#owner, row.sealedIndex, { into: room[at] })
        ),
      );
      for (const [at, row] of step.entries()) take(row, entries[at]!);
    }
  }

  /** Puts an opened row into the index, and counts what became of it. */
  add(
    row: MemoryRow,
    entry: Opened<IndexEntry>,
    counts: WritableCounts,
  ): void {
    if (entry.kind === "failed") {
      counts.unreadable++;
      return;
    }
    const { wanted } = this.#parts;
    const { metadata, words } = entry.value;
    if (isDue({ row, entry: entry.value }, wanted)) counts.due++;
    const fits = vectorFits(entry.value, wanted);
    if (!fits) {
      counts.otherEmbedder++;
      if (isOfClient(entry.value)) counts.misfitOfClients++;
      if (words === undefined) return;
    }
    const vector = fits ? entry.value.vector : undefined;
    if (!this.put({ ...row, metadata, vector, words }, counts)) return;
    if (fits) counts.loaded++;
  }

  /** Puts a memory into the index; returns whether there is room. */
  put(memory: IndexedMemory, counts: WritableCounts): boolean {
    try {
      this.#parts.index.add(memory);
      return true;
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
      counts.full++;
      return false;
    }
  }
}
