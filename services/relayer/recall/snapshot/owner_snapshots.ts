/**
 * Snapshots of owners' indexes in the store, sealed part by part: an owner with
 * 100,000 memories is back in memory in a tenth of the time that the entries of
 * their rows take.
 *
 * @module
 */

import type { Logger } from "../../../shared/logger.ts";
import { describeError } from "../../../shared/settled.ts";
import type { IndexSnapshot, RelayerStore } from "../../store/store.ts";
import type { RelayerVault } from "../../vault/vault.ts";
import type { OwnerColumns } from "../vector_index.ts";
import { ColumnReader } from "./columns.ts";
import {
  ownerPieces,
  readOwner,
  type SnapshotMakers,
} from "./owner_columns.ts";
import type { Pausing } from "../../../shared/slices.ts";

/** Options of {@linkcode OwnerSnapshots}. */
interface OwnerSnapshotsOptions {
  /** Keeps snapshots. */
  readonly store: Pick<RelayerStore, "commit" | "snapshot" | "snapshotPart">;
  /** Seals and opens the parts of snapshots. */
  readonly vault: Pick<RelayerVault, "sealPart" | "openPart">;
  /** What the index is made with. */
  readonly makers: SnapshotMakers;
  /** Gives random bytes fit for names. */
  readonly randomBytes: (length: number) => Uint8Array;
  /** Hears of snapshots that cannot be read. */
  readonly logger: Logger;
  /**
   * Bytes of a part, which is written in one go.
   *
   * @default {1048576}
   */
  readonly partBytes?: number | undefined;
}

/** What a snapshot has. */
interface ReadSnapshot {
  /** The index. */
  readonly columns: OwnerColumns;
  /** The number of the last change of the store that the snapshot has. */
  readonly change: number;
}

const NAME_BYTES = 16;
/** Parts that are opened at the same time, beside the thread. */
const PARALLEL_PARTS = 4;

/** Writes and reads snapshots. */
export class OwnerSnapshots {
  readonly #options: OwnerSnapshotsOptions;

  /** Snapshots of an index that is made as `makers` say. */
  constructor(options: OwnerSnapshotsOptions) {
    this.#options = options;
  }

  /**
   * Begins a snapshot that takes the place of the owner's last one.
   *
   * @param change The number up to which the index has all changes; undefined
   * where it has all changes of the store.
   * @returns its name
   * @throws what the store throws
   */
  async begin(owner: string, change?: number): Promise<string> {
    const { store, randomBytes } = this.#options;
    const name = randomBytes(NAME_BYTES).toHex();
    await store.commit([{ kind: "begin_snapshot", owner, name, change }]);
    return name;
  }

  /**
   * Writes the parts of a snapshot that was begun.
   *
   * @param isValid Tells whether nothing has changed since the snapshot was
   * begun.
   * @returns whether the snapshot is whole
   * @throws what store and vault throw, and the signal's reason when it ends
   * early
   */
  async write(
    { owner, name, columns }: {
      readonly owner: string;
      readonly name: string;
      readonly columns: OwnerColumns;
    },
    options: {
      readonly isValid: () => boolean | Promise<boolean>;
      readonly signal: AbortSignal;
      readonly pausing: Pausing;
    },
  ): Promise<boolean> {
    const { store } = this.#options;
    let parts = 0;
    try {
      parts = await this.#writeParts({ owner, name, columns }, options);
    } finally {
      // A snapshot that is given up leaves nothing that has to be swept later.
      await store.commit([{ kind: "end_snapshot", owner, name, parts }]);
    }
    return parts > 0;
  }

  /** Writes all parts; answers with 0 when something has changed. */
  async #writeParts(
    { owner, name, columns }: Parameters<OwnerSnapshots["write"]>[0],
    { isValid, signal, pausing }: Parameters<OwnerSnapshots["write"]>[1],
  ): Promise<number> {
    const { store, vault, makers, partBytes = 1_048_576 } = this.#options;
    let parts = 0;
    let writing: Promise<unknown> = Promise.resolve();
    for (const bytes of joined(ownerPieces(columns, makers), partBytes)) {
      if (bytes === undefined) {
        await pausing.pause();
        continue;
      }
      signal.throwIfAborted();
      const place = { name, part: parts++ };
      const sealed = await vault.sealPart(owner, bytes, place);
      await writing;
      if (!await isValid()) return 0;
      const part = { ...place, bytes: sealed };
      writing = store.commit([{ kind: "snapshot_part", part }]);
      // The commit is awaited before the next one, and after the loop.
      writing.catch(() => {});
    }
    await writing;
    return await isValid() ? parts : 0;
  }

  /**
   * Reads an owner's snapshot.
   *
   * @returns undefined where there is no snapshot that can be used
   * @throws what store and vault throw, and the signal's reason when it ends
   * early
   */
  async read(
    owner: string,
    signal: AbortSignal,
  ): Promise<ReadSnapshot | undefined> {
    const { store, makers, logger } = this.#options;
    const snapshot = await store.snapshot(owner);
    if (snapshot === undefined) return undefined;
    const next = this.#createPartReader(owner, snapshot, signal);
    try {
      const columns = await readOwner(new ColumnReader(next), makers);
      return columns && { columns, change: snapshot.change };
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
      logger.warn("Cannot use a snapshot of the index; building it again", {
        owner,
        error: describeError(error),
      });
      return undefined;
    }
  }

  /** Gives the parts in their order; the next ones are opened meanwhile. */
  #createPartReader(
    owner: string,
    { name, parts }: IndexSnapshot,
    signal: AbortSignal,
  ): () => Promise<Uint8Array | undefined> {
    const ahead: Promise<Uint8Array | undefined>[] = [];
    let begun = 0;
    return async () => {
      signal.throwIfAborted();
      while (begun < parts && ahead.length < PARALLEL_PARTS) {
        const opening = this.#openPart(owner, { name, part: begun++ });
        // The part is awaited when it is asked for.
        opening.catch(() => {});
        ahead.push(opening);
      }
      return await ahead.shift();
    };
  }

  async #openPart(
    owner: string,
    place: { readonly name: string; readonly part: number },
  ): Promise<Uint8Array> {
    const { store, vault } = this.#options;
    const sealed = await store.snapshotPart(place.name, place.part);
    if (sealed === undefined) {
      throw new RangeError(`Cannot read part ${place.part}: it is not there`);
    }
    const opened = await vault.openPart(owner, sealed, place);
    if (opened.kind === "ok") return opened.value;
    throw new RangeError(`Cannot open part ${place.part}: ${opened.why}`);
  }
}

/**
 * Joins pieces into parts of `partBytes` bytes; gives undefined after each
 * piece, so that other work can have its turn.
 */
function* joined(
  pieces: Iterable<Uint8Array>,
  partBytes: number,
): Generator<Uint8Array<ArrayBuffer> | undefined> {
  let part = new Uint8Array(partBytes);
  let filled = 0;
  for (const piece of pieces) {
    for (let from = 0; from < piece.length;) {
      const end = Math.min(piece.length, from + partBytes - filled);
      part.set(piece.subarray(from, end), filled);
      filled += end - from;
      from = end;
      if (filled < partBytes) continue;
      yield part;
      part = new Uint8Array(partBytes);
      filled = 0;
    }
    yield undefined;
  }
  if (filled > 0) yield part.subarray(0, filled);
}
