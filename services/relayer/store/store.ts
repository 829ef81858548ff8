/**
 * What the relayer keeps, as a port: jobs, the rows of the index, tombstones,
 * nonces and rate windows. Text, vectors and metadata arrive here sealed; nothing
 * the store is given can be read without the owner's key.
 *
 * @module
 */

import type {
  JobRow,
  MemoryRow,
  NewJob,
  NewMemory,
  Tombstone,
} from "./rows.ts";

/** One change. All changes of a commit happen, or none. */
export type Change =
  /** Accepts a job. */
  | { readonly kind: "new_job"; readonly job: NewJob }
  /**
   * Remembers what a client's key stood for; conflicts when the owner used the
   * key before.
   */
  | { readonly kind: "claim_key"; readonly claim: KeyClaim }
  /** Changes a job; conflicts unless its version is still the expected one. */
  | {
    readonly kind: "job";
    readonly owner: string;
    readonly id: string;
    readonly expectedVersion: number;
    readonly patch: JobPatch;
  }
  /** Adds a row to the index, or does nothing when one of its id is there. */
  | { readonly kind: "new_memory"; readonly memory: NewMemory }
  /** Marks a row as replaced by another; does nothing when it is gone. */
  | {
    readonly kind: "supersede";
    readonly owner: string;
    readonly id: string;
    readonly supersededBy: string;
  }
  /**
   * Puts a new vector in the place of a row's; does nothing when it is gone. What
   * listings show of it stays as it is.
   */
  | {
    readonly kind: "reindex";
    readonly owner: string;
    readonly id: string;
    readonly sealedIndex: Uint8Array;
  }
  /**
   * Names the blob that took the place of a row's; does nothing when the row has
   * another one by now.
   */
  | {
    readonly kind: "move_blob";
    readonly owner: string;
    readonly id: string;
    readonly fromBlobId: string;
    readonly blobId: string;
    readonly sizeBytes: number;
  }
  /** Removes a row; leaves a tombstone when it was there. */
  | {
    readonly kind: "remove_memory";
    readonly owner: string;
    readonly id: string;
  }
  /**
   * Removes all rows of a namespace; leaves their tombstones. As a commit's only
   * change it may be done in parts, with other work between them: a crash leaves
   * the rows of the later parts, and doing it again removes those.
   */
  | {
    readonly kind: "remove_namespace";
    readonly owner: string;
    readonly namespace: string;
  }
  /** Notes that a blob can never be restored. */
  | {
    readonly kind: "bad_blob";
    readonly owner: string;
    readonly blobId: string;
  }
  /** Notes a nonce so that it is known after a restart. */
  | {
    readonly kind: "nonce";
    readonly nonce: string;
    readonly expiresAtMs: number;
  }
  /** Keeps a rate window so that it is known after a restart. */
  | { readonly kind: "rate"; readonly window: RateWindow }
  /**
   * A new snapshot of an owner's index takes the place of the one before: it is to
   * have all changes up to this commit.
   */
  | {
    readonly kind: "begin_snapshot";
    readonly owner: string;
    readonly name: string;
  }
  /** Adds a part to a snapshot. */
  | { readonly kind: "snapshot_part"; readonly part: SnapshotPart }
  /**
   * A snapshot is whole with so many parts, or given up where there are none. Does
   * nothing when it was dropped since it was begun: removals drop the owner's snapshot,
   * and so does a new vector in the place of a row's.
   */
  | {
    readonly kind: "end_snapshot";
    readonly owner: string;
    readonly name: string;
    readonly parts: number;
  };

/** A part of a snapshot. */
export interface SnapshotPart {
  /** The snapshot's name, which no other has. */
  readonly name: string;
  /** Its place, from 0. */
  readonly part: number;
  /** What is in it, sealed. */
  readonly bytes: Uint8Array;
}

/** A snapshot of an owner's index. */
export interface IndexSnapshot {
  /** Its name. */
  readonly name: string;
  /** It has all changes up to this number. */
  readonly change: number;
  /** How many parts it has. */
  readonly parts: number;
}

/** What of a job may change. Absent fields stay; null empties. */
interface JobPatch {
  /** Its state. */
  readonly status?: JobRow["status"];
  /** How often it was begun. */
  readonly attempts?: number;
  /** When it may be begun again, in milliseconds since the epoch. */
  readonly nextAttemptAtMs?: number;
  /** Its blob, once there is one. */
  readonly blobId?: string | undefined;
  /** Why it failed, in words fit for its owner. */
  readonly error?: string | null | undefined;
  /** What was to be stored; null once it is in the blob store. */
  readonly payload?: Uint8Array | null | undefined;
}

/** A client's key and what it stood for. */
export interface KeyClaim {
  /** The owner's address. */
  readonly owner: string;
  /** The key; no other owner shares it. */
  readonly key: string;
  /** A keyed digest of what was asked. */
  readonly fingerprint: string;
  /** The jobs that were made. */
  readonly jobIds: readonly string[];
  /** When it is forgotten, in milliseconds since the epoch. */
  readonly expiresAtMs: number;
}

/** Points that a key or an account spent, by the minute. */
export interface RateWindow {
  /** Whose they are, with the layer before it. */
  readonly name: string;
  /** The minute since the epoch. */
  readonly minute: number;
  /** How many. */
  readonly points: number;
}

/** A position in the order of changes. */
export interface FeedPosition {
  /** All changes up to this number were seen. */
  readonly change: number;
}

/** Which page of a feed is asked for. */
export interface FeedQuery {
  /** Most rows. */
  readonly limit: number;
  /**
   * Where it begins.
   * @default the first change
   */
  readonly after?: FeedPosition | undefined;
}

/** Which rows a scan is about. */
export interface ScanQuery {
  /** Most rows. */
  readonly limit: number;
  /** The id that the last page ended with. */
  readonly afterId?: string | undefined;
  /** Whose rows; those of all owners when absent. */
  readonly owner?: string | undefined;
}

/** An owner that has memories, and how many. */
export interface MemoryOwner {
  /** The owner's address. */
  readonly owner: string;
  /** Memories, without those that were superseded. */
  readonly memories: number;
}

/** A page of rows in the order of their last change. */
export interface MemoryPage {
  /** The rows. */
  readonly memories: readonly MemoryRow[];
  /** Rows that were removed within the span of this page, in that order. */
  readonly deleted: readonly Tombstone[];
  /** Whether there are more. */
  readonly hasMore: boolean;
  /** Where the next page begins; undefined when there is nothing at all. */
  readonly next: FeedPosition | undefined;
  /** Whether tombstones behind the position are gone already. */
  readonly mustResync: boolean;
}

/** A namespace as listings show it. */
export interface NamespaceRow {
  /** Its name. */
  readonly name: string;
  /** Rows that count. */
  readonly memoryCount: number;
  /** Bytes of their blobs. */
  readonly storageBytes: number;
  /** When one of them changed last, in milliseconds since the epoch. */
  readonly updatedAtMs: number;
  /** The number of that change. */
  readonly change: number;
}

/** Options of {@linkcode RelayerStore.commit}. */
export interface CommitOptions {
  /**
   * Whether it may reach the disk a moment later, together with other commits. It
   * stays in the order of asking.
   *
   * @default {false}
   */
  readonly canWait?: boolean | undefined;
}

/** The outcome of a commit. */
export type CommitOutcome =
  | { readonly kind: "ok" }
  /** The change at that place did not fit; nothing was written. */
  | { readonly kind: "conflict"; readonly change: number };

/** Thrown by {@linkcode RelayerStore.commit} when too much waits to be written. */
export class StoreBusyError extends Error {
  /** The name of the class. */
  override readonly name = "StoreBusyError";
  /** When it is worth trying again. */
  readonly retryAfterMs: number;

  /** An error that says when to come again. */
  constructor(retryAfterMs: number) {
    super("Cannot write: too much waits to be written already");
    this.retryAfterMs = retryAfterMs;
  }
}

/** Keeps everything but texts and keys. */
export interface RelayerStore {
  /** Opens it; brings its tables up to date. */
  start(): Promise<void>;
  /** Writes what waits and closes it. */
  stop(): Promise<void>;
  /**
   * Applies changes; answers when they are on disk. Commits that come in one turn
   * go to the disk together; they are applied in the order of asking.
   *
   * @throws {StoreBusyError} when too much waits
   */
  commit(
    changes: readonly Change[],
    options?: CommitOptions,
  ): Promise<CommitOutcome>;
  /** Jobs by id, in the order of asking; undefined for what the owner has not. */
  jobs(
    owner: string,
    ids: readonly string[],
  ): Promise<readonly (JobRow | undefined)[]>;
  /** Unfinished jobs whose time has come, the longest waiting first. */
  dueJobs(nowMs: number, limit: number): Promise<readonly JobRow[]>;
  /** When the next unfinished job's time comes; undefined when there is none. */
  nextJobMs(): Promise<number | undefined>;
  /** How many jobs of an owner are unfinished, and the bytes they hold. */
  openJobs(
    owner: string,
  ): Promise<{ readonly jobs: number; readonly bytes: number }>;
  /** What a client's key stood for. */
  keyClaim(
    owner: string,
    key: string,
    nowMs: number,
  ): Promise<KeyClaim | undefined>;
  /** Rows by id, in the order of asking; undefined for what the owner has not. */
  memories(
    owner: string,
    ids: readonly string[],
  ): Promise<readonly (MemoryRow | undefined)[]>;
  /** All rows of an owner, or of all owners, in pages by id. */
  scanMemories(query: ScanQuery): Promise<readonly MemoryRow[]>;
  /** Owners that have rows, in pages by their addresses. */
  memoryOwners(query: {
    /** Most owners. */
    readonly limit: number;
    /** The address that the last page ended with. */
    readonly after?: string | undefined;
  }): Promise<readonly MemoryOwner[]>;
  /** How many memories all owners have, without those that were superseded. */
  memoryCount(): Promise<number>;
  /** Which of these blobs are known to be beyond restoring. */
  badBlobs(
    owner: string,
    blobIds: readonly string[],
  ): Promise<ReadonlySet<string>>;
  /** Rows of an owner in the order of their last change. */
  memoryFeed(
    owner: string,
    options: FeedQuery,
  ): Promise<MemoryPage>;
  /** Namespaces of an owner in the order of their last change. */
  namespaceFeed(
    owner: string,
    options: FeedQuery,
  ): Promise<
    { readonly namespaces: readonly NamespaceRow[]; readonly hasMore: boolean }
  >;
  /** What an owner has in a namespace, or in all. */
  stats(
    owner: string,
    namespace?: string,
  ): Promise<{ readonly memories: number; readonly bytes: number }>;
  /** Public keys of the delegates that wrote an owner's rows. */
  agents(owner: string): Promise<readonly string[]>;
  /** Nonces that have not expired, to begin with after a start. */
  nonces(nowMs: number): Promise<readonly string[]>;
  /** Rate windows from a minute on, to begin with after a start. */
  rateWindows(fromMinute: number): Promise<readonly RateWindow[]>;
  /** The snapshot of an owner's index; undefined when none is whole. */
  snapshot(owner: string): Promise<IndexSnapshot | undefined>;
  /** The bytes of a part of a snapshot; undefined when it is gone. */
  snapshotPart(name: string, part: number): Promise<Uint8Array | undefined>;
  /**
   * Removes what can no longer be asked for, at most `limit` rows: expired
   * nonces, key claims and windows, finished jobs and tombstones older than the
   * bounds, parts of snapshots that were dropped.
   *
   * @returns how many it were
   */
  sweep(
    bounds: {
      readonly nowMs: number;
      readonly finishedJobsBeforeMs: number;
      readonly tombstonesBeforeMs: number;
      readonly limit: number;
    },
  ): Promise<number>;
}

/** Owners of a page. */
const OWNERS_PAGE = 500;

/** All owners that have rows, by their addresses; they are read page by page. */
export async function* storedOwners(
  store: Pick<RelayerStore, "memoryOwners">,
): AsyncGenerator<MemoryOwner> {
  let after: string | undefined;
  for (;;) {
    const page = await store.memoryOwners({ limit: OWNERS_PAGE, after });
    yield* page;
    after = page.at(-1)?.owner;
    if (page.length < OWNERS_PAGE || after === undefined) return;
  }
}
