/**
 * The port of the relayer's store: jobs, the rows of the index, tombstones,
 * nonces, rate windows and snapshots. Texts, vectors and metadata are sealed
 * before they reach the store, which cannot read them without the owner's key.
 *
 * @module
 */

import type {
  CommonNotice,
  InstanceStore,
} from "../../shared/instance_store.ts";
import type { KeyNotice } from "../vault/key_rows.ts";
import type { Change, CommitOutcome } from "./changes.ts";
import type {
  JobRow,
  KeyClaim,
  MemoryRow,
  RateWindow,
  Tombstone,
} from "./rows.ts";

export { StoreBusyError } from "../../shared/store_failed.ts";

/** A snapshot of an owner's index. */
export interface IndexSnapshot {
  /** Its name. */
  readonly name: string;
  /** The number of the last change that the snapshot contains. */
  readonly change: number;
  /** How many parts it has. */
  readonly parts: number;
}

/** The name of a job. */
export interface JobName {
  /** The owner's address. */
  readonly owner: string;
  /** The job's id. */
  readonly id: string;
}

/** Which jobs an instance takes, and for how long. */
export interface JobLeases {
  /** The time, in milliseconds since the epoch. */
  readonly nowMs: number;
  /**
   * Until when the next attempt of a job has to be due, in milliseconds since
   * the epoch.
   *
   * @default {nowMs}
   */
  readonly dueMs?: number | undefined;
  /** Most jobs. */
  readonly limit: number;
  /**
   * Most bytes that their payloads have together; a single job may have more.
   *
   * @default no limit
   */
  readonly maxBytes?: number | undefined;
  /** The instance. */
  readonly instance: string;
  /** For how many milliseconds no other instance takes them. */
  readonly leaseMs: number;
}

/** What relayers tell each other. */
export type Notice =
  /** Recall finds a job's memory, or the job has failed or was deleted. */
  | ({ readonly kind: "job_ended" } & JobName)
  | KeyNotice
  | CommonNotice;

/** A position in a feed of changes. */
export interface FeedPosition {
  /** The number of the last change that the client has seen. */
  readonly change: number;
}

/** Selects a page of a feed. */
export interface FeedQuery {
  /** Most rows of the page. */
  readonly limit: number;
  /**
   * The position after which the page begins.
   * @default the first change
   */
  readonly after?: FeedPosition | undefined;
}

/** Selects a page of a scan over rows by id. */
export interface ScanQuery {
  /**
   * Most rows of the page. A scan of all owners may return more: all rows that
   * have the last row's id.
   */
  readonly limit: number;
  /** The id that the page before ended with; absent for the first page. */
  readonly afterId?: string | undefined;
  /** The owner's address; absent for the rows of all owners. */
  readonly owner?: string | undefined;
}

/** An owner that has memories, and how many. */
export interface MemoryOwner {
  /** The owner's address. */
  readonly owner: string;
  /** How many memories, without those that were superseded. */
  readonly memories: number;
}

/** A page of rows in the order of their last change. */
export interface MemoryPage {
  /** The rows. */
  readonly memories: readonly MemoryRow[];
  /**
   * Tombstones of rows that were removed within this page, in the same order.
   */
  readonly deleted: readonly Tombstone[];
  /** Whether there are more changes after this page. */
  readonly hasMore: boolean;
  /** Where the next page begins; undefined if the owner's feed is empty. */
  readonly next: FeedPosition | undefined;
  /**
   * Whether removals after the query's position are no longer known, so that
   * the client has to read the whole feed again.
   */
  readonly mustResync: boolean;
}

/** A namespace as listings show it. */
export interface NamespaceRow {
  /** Its name. */
  readonly name: string;
  /** How many memories, without those that were superseded. */
  readonly memoryCount: number;
  /** Bytes of all its blobs, with those of superseded memories. */
  readonly storageBytes: number;
  /** When one of its rows changed last, in milliseconds since the epoch. */
  readonly updatedAtMs: number;
  /** The number of that change. */
  readonly change: number;
}

/** Options of {@linkcode RelayerStore.commit}. */
export interface CommitOptions {
  /**
   * Whether the commit may wait a moment to share a transaction with others.
   * An owner's commits stay in the order of the calls.
   *
   * @default {false}
   */
  readonly canWait?: boolean | undefined;
}

/**
 * Stores all data of the relayer except blobs and keys, for one instance or for
 * several.
 */
export interface RelayerStore extends InstanceStore<Notice> {
  /** Opens the store and migrates its tables. */
  start(): Promise<void>;
  /** Writes waiting commits and closes the store. */
  stop(): Promise<void>;
  /**
   * Applies changes; resolves when they are on disk. Commits of one turn share
   * transactions. Those of one owner are applied, and settle, in the order of
   * the calls. A commit's owner is that of its first change that has one.
   *
   * @throws {StoreBusyError} when too many commits wait to be written
   */
  commit(
    changes: readonly Change[],
    options?: CommitOptions,
  ): Promise<CommitOutcome>;
  /**
   * Jobs in the order of `ids`; undefined for ids that the owner does not have.
   */
  jobs(
    owner: string,
    ids: readonly string[],
  ): Promise<readonly (JobRow | undefined)[]>;
  /**
   * Those of some jobs for which a request waits no longer: recall finds their
   * memories, they have failed, or there are none such.
   */
  settledJobs(jobs: readonly JobName[]): Promise<readonly JobName[]>;
  /**
   * Takes unfinished jobs whose next attempt is due, the longest waiting first,
   * for an instance. Until their lease ends, or the instance is no longer among
   * the members, no other instance gets them. A lease is no change: a job's version
   * stays, and of two that work on it the first that changes it goes on.
   */
  leaseJobs(leases: JobLeases): Promise<readonly JobRow[]>;
  /**
   * Sets when an instance's leases of jobs end, in milliseconds since the epoch;
   * an instant that has passed gives them back. Jobs that the instance does not
   * have stay as they are.
   */
  renewLeases(
    leases: {
      readonly instance: string;
      readonly jobs: readonly JobName[];
      readonly untilMs: number;
    },
  ): Promise<void>;
  /**
   * When the next attempt of any unfinished job is due, or its lease ends if
   * that is later, in milliseconds since the epoch. It is undefined when all
   * jobs are finished.
   */
  nextJobMs(): Promise<number | undefined>;
  /**
   * Jobs that were deleted, at most `limit`, and whose `nextAttemptAtMs` is by
   * now, the earliest first. A deleted job has failed, and has no payload.
   */
  deletedJobs(
    query: { readonly nowMs: number; readonly limit: number },
  ): Promise<readonly JobRow[]>;
  /**
   * How many jobs of an owner are unfinished, and the bytes of their payloads.
   */
  openJobs(
    owner: string,
  ): Promise<{ readonly jobs: number; readonly bytes: number }>;
  /**
   * The claim of a client's key; undefined when the key is unused or expired.
   */
  keyClaim(
    owner: string,
    key: string,
    nowMs: number,
  ): Promise<KeyClaim | undefined>;
  /**
   * Rows in the order of `ids`; undefined for ids that the owner does not have.
   */
  memories(
    owner: string,
    ids: readonly string[],
  ): Promise<readonly (MemoryRow | undefined)[]>;
  /** All rows of an owner, or of all owners, in pages by id. */
  scanMemories(query: ScanQuery): Promise<readonly MemoryRow[]>;
  /** Owners that have rows, in pages by their addresses. */
  memoryOwners(query: {
    /** Most owners of the page. */
    readonly limit: number;
    /** The address that the last page ended with. */
    readonly after?: string | undefined;
  }): Promise<readonly MemoryOwner[]>;
  /** How many memories all owners have, without those that were superseded. */
  memoryCount(): Promise<number>;
  /** Returns those of these blobs that are noted as impossible to restore. */
  badBlobs(
    owner: string,
    blobIds: readonly string[],
  ): Promise<ReadonlySet<string>>;
  /**
   * A number that no change of an owner's feeds exceeds; 0 when there was never
   * one. A reader of {@linkcode RelayerStore.indexFeed} up to it has everything
   * that was committed before the call, by any instance.
   */
  head(owner: string): Promise<number>;
  /** Rows of an owner in the order of their last change. */
  memoryFeed(
    owner: string,
    options: FeedQuery,
  ): Promise<MemoryPage>;
  /**
   * As {@linkcode RelayerStore.memoryFeed}, for an index: a new vector counts as
   * a change of its row as well, and {@linkcode MemoryRow.change} is the number
   * of either.
   */
  indexFeed(owner: string, options: FeedQuery): Promise<MemoryPage>;
  /** Namespaces of an owner in the order of their last change. */
  namespaceFeed(
    owner: string,
    options: FeedQuery,
  ): Promise<
    { readonly namespaces: readonly NamespaceRow[]; readonly hasMore: boolean }
  >;
  /** Memories and bytes of an owner in a namespace, or in all namespaces. */
  stats(
    owner: string,
    namespace?: string,
  ): Promise<{ readonly memories: number; readonly bytes: number }>;
  /** Public keys of the delegates that wrote an owner's rows. */
  agents(owner: string): Promise<readonly string[]>;
  /** Nonces that have not expired; read once, at startup. */
  nonces(nowMs: number): Promise<readonly string[]>;
  /** Rate windows from a minute on; read once, at startup. */
  rateWindows(fromMinute: number): Promise<readonly RateWindow[]>;
  /** Rate windows of some names in some minutes, in no order. */
  rateWindowsOf(
    of: {
      readonly names: readonly string[];
      readonly minutes: readonly number[];
    },
  ): Promise<readonly RateWindow[]>;
  /**
   * The snapshot of an owner's index; undefined when there is no complete one.
   */
  snapshot(owner: string): Promise<IndexSnapshot | undefined>;
  /** The bytes of a part of a snapshot; undefined when it is gone. */
  snapshotPart(name: string, part: number): Promise<Uint8Array | undefined>;
  /**
   * Removes at most `limit` rows: nonces, key claims and windows that expired,
   * finished jobs and tombstones older than the bounds, parts of dropped
   * snapshots.
   *
   * @returns the number of removed rows
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

/** Why a store does not start on rows that are being imported. */
export const IMPORT_UNDER_WAY: string =
  "Cannot start: an import to this store has not ended; run `relayer import` " +
  "of the same file again";

/** Owners that are read at a time. */
const OWNERS_PAGE = 500;

/** Yields all owners that have rows, in the order of their addresses. */
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
