/**
 * What a commit changes, and how it ends.
 *
 * @module
 */

import type {
  JobRow,
  KeyClaim,
  NewJob,
  NewMemory,
  RateWindow,
} from "./rows.ts";

/** One change of a commit. A commit applies all of its changes, or none. */
export type Change =
  /** Adds a job; conflicts when the owner has one of that id. */
  | { readonly kind: "new_job"; readonly job: NewJob }
  /**
   * Stores a client's idempotency key with the jobs that were made for it.
   * Conflicts when the owner has used that key and it has not expired.
   */
  | { readonly kind: "claim_key"; readonly claim: KeyClaim }
  /**
   * Changes a job; conflicts unless its version is still the expected one. A
   * job that is put off by `nextAttemptAtMs`, or that is finished, is given back
   * by the instance that had it.
   */
  | {
    readonly kind: "job";
    readonly owner: string;
    readonly id: string;
    readonly expectedVersion: number;
    readonly patch: JobPatch;
  }
  /**
   * Adds a row to the index; does nothing when the owner has one of that id.
   */
  | { readonly kind: "new_memory"; readonly memory: NewMemory }
  /** Marks a row as replaced by another; does nothing when it is gone. */
  | {
    readonly kind: "supersede";
    readonly owner: string;
    readonly id: string;
    readonly supersededBy: string;
  }
  /**
   * Replaces a row's vector and metadata; does nothing when the row is gone.
   * The fields that listings show stay as they are, and so does the row's place
   * in {@linkcode RelayerStore.memoryFeed}: clients have nothing to read again.
   */
  | {
    readonly kind: "reindex";
    readonly owner: string;
    readonly id: string;
    readonly sealedIndex: Uint8Array;
  }
  /**
   * Replaces the blob id of a row; does nothing when the row is gone or no
   * longer has the blob `fromBlobId`.
   */
  | {
    readonly kind: "move_blob";
    readonly owner: string;
    readonly id: string;
    readonly fromBlobId: string;
    readonly blobId: string;
    readonly sizeBytes: number;
  }
  /**
   * Removes a row and leaves a tombstone; does nothing when there is no such
   * row.
   */
  | {
    readonly kind: "remove_memory";
    readonly owner: string;
    readonly id: string;
  }
  /**
   * Removes all rows of a namespace; leaves their tombstones. As a commit's
   * only change it may be done in several transactions, with other work between
   * them. A crash leaves the rows of the later ones; repeating the change
   * removes those.
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
  /**
   * Stores a nonce, so that it is known after a restart, and to other
   * instances; conflicts when it is there and has not expired. A store of one
   * instance may find only one that expires at the same instant: the instance's
   * memory has the others.
   */
  | {
    readonly kind: "nonce";
    readonly nonce: string;
    readonly expiresAtMs: number;
  }
  /** Adds points to a rate window, so that they are known after a restart. */
  | { readonly kind: "rate"; readonly window: RateWindow }
  /**
   * Begins a snapshot of an owner's index. It replaces the owner's former
   * snapshot. An index that lacks a removal or a new vector must not become a
   * snapshot. The store then begins none, and drops the parts that are written
   * to it.
   */
  | {
    readonly kind: "begin_snapshot";
    readonly owner: string;
    readonly name: string;
    /**
     * The number of the last change that the index has.
     *
     * @default that of the last change of the owner
     */
    readonly change?: number | undefined;
  }
  /** Adds a part to a snapshot. */
  | { readonly kind: "snapshot_part"; readonly part: SnapshotPart }
  /**
   * Marks a snapshot as complete with that many parts; 0 parts give it up. Does
   * nothing when the snapshot was dropped since it was begun: `remove_memory`,
   * `remove_namespace` and `reindex` drop the owner's snapshot.
   */
  | {
    readonly kind: "end_snapshot";
    readonly owner: string;
    readonly name: string;
    readonly parts: number;
  };

/** A part of a snapshot. */
export interface SnapshotPart {
  /** The snapshot's name, which no other snapshot has. */
  readonly name: string;
  /** The part's number, from 0. */
  readonly part: number;
  /** The part's content, sealed. */
  readonly bytes: Uint8Array;
}

/** The fields of a job that may change. Absent fields stay; null clears one. */
interface JobPatch {
  /** The job's status. */
  readonly status?: JobRow["status"];
  /** How many attempts have begun. */
  readonly attempts?: number;
  /**
   * When the next attempt may begin, in milliseconds since the epoch; of a
   * deleted job, when its blob is removed once more.
   */
  readonly nextAttemptAtMs?: number;
  /** The id of its blob, once the blob is stored or about to be. */
  readonly blobId?: string | undefined;
  /** Why the job failed, in words fit for its owner. */
  readonly error?: string | null | undefined;
  /** The blob to be stored; null once it is in the blob store. */
  readonly payload?: Uint8Array | null | undefined;
}

/** The outcome of a commit. */
export type CommitOutcome =
  | { readonly kind: "ok" }
  /**
   * The change at this index conflicts with stored data; nothing was written.
   */
  | { readonly kind: "conflict"; readonly change: number };

/** Bytes that a change takes beside what it carries. */
const CHANGE_BYTES = 512;

/** About how many bytes of memory changes take while they are queued. */
export function estimateBytes(changes: readonly Change[]): number {
  let bytes = 0;
  for (const change of changes) {
    bytes += CHANGE_BYTES;
    if (change.kind === "new_job") bytes += change.job.payload.length;
    if (change.kind === "job") bytes += change.patch.payload?.length ?? 0;
    if (change.kind === "snapshot_part") bytes += change.part.bytes.length;
    if (change.kind === "reindex") bytes += change.sealedIndex.length;
    if (change.kind === "new_memory") {
      bytes += change.memory.sealedIndex.length;
    }
  }
  return bytes;
}
