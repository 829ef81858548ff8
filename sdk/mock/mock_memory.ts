/**
 * Memories and jobs as the mock keeps them.
 *
 * @module
 */

import type { Metadata } from "../memory/remember_types.ts";

/** A memory of a mock. */
export interface MockMemory {
  /** Its id; that of the job that stored it. */
  readonly id: string;
  /** The text; undefined where the application encrypted it. */
  readonly text: string | undefined;
  /** The namespace. */
  readonly namespace: string;
  /** The blob that would hold it. */
  readonly blobId: string;
  /** When it was accepted, in milliseconds since the Unix epoch. */
  readonly createdAtMs: number;
  /** How much it matters, 0 to 1; undefined where the application encrypted it. */
  readonly importance: number | undefined;
  /** What the application said of it. */
  readonly metadata: Metadata;
  /** The memory whose place it took, if any. */
  readonly supersedes: string | undefined;
}

/** A text that is to be remembered. */
export interface NewText {
  /** The text. */
  readonly text: string;
  /** The namespace. */
  readonly namespace: string;
  /** How much it matters; undefined for 0.5. */
  readonly importance: number | undefined;
  /** What is said of it; undefined for nothing. */
  readonly metadata: Metadata | undefined;
  /** The memory whose place it takes, if any. */
  readonly supersedes: string | undefined;
}

/** A memory that the application encrypted and embedded. */
export interface SealedData {
  /** Its bytes in base64. */
  readonly data: string;
  /** What it is found by, of length 1. */
  readonly vector: readonly number[];
  /** The namespace. */
  readonly namespace: string;
}

/** How a job ends. */
export type JobEnd = "done" | "failed";

/** A job, which makes a memory of a text. */
export interface MockJob {
  /** The memory that it makes. */
  readonly memory: MockMemory;
  /** How far it is. */
  readonly status: "pending" | "running" | JobEnd;
  /** Why it failed. */
  readonly error: string | undefined;
  /** Whether there is a blob of it, or was. */
  readonly hasBlob: boolean;
  /** Whether its memory was deleted, so that it is never begun again. */
  readonly isDeleted: boolean;
}

/** A memory that was stored, and what became of it. */
export interface MockRow {
  /** The memory. */
  readonly memory: MockMemory;
  /** What it is found by, of length 1. */
  readonly vector: readonly number[];
  /** Bytes of its blob. */
  readonly sizeBytes: number;
  /** Its bytes in base64, where the application encrypted it. */
  readonly data: string | undefined;
  /** The number of its last change. */
  readonly change: number;
  /** When that was, in milliseconds since the Unix epoch. */
  readonly changedAtMs: number;
  /** The memory that took its place, if any. */
  readonly supersededBy: string | undefined;
  /** `forgotten`: taken from the index, and restore brings it back. */
  readonly state: "kept" | "forgotten" | "deleted";
}

/** A namespace with at least one memory in the index. */
export interface MockNamespace {
  /** Its name. */
  readonly name: string;
  /** Memories that were not superseded. */
  readonly memoryCount: number;
  /** Bytes of all its blobs. */
  readonly sizeBytes: number;
  /** The number of its last change. */
  readonly change: number;
  /** When that was, in milliseconds since the Unix epoch. */
  readonly changedAtMs: number;
}
