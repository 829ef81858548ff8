/**
 * Memories and jobs in the form in which the mock stores them.
 *
 * @module
 */

import type { Metadata } from "../memory/remember_types.ts";
import type { BodyOf } from "./mock_bodies.ts";

/** A memory as the mock keeps it. */
export interface MockMemory {
  /** Its id; that of the job that stored it. */
  readonly id: string;
  /** The text; undefined where the application encrypted it. */
  readonly text: string | undefined;
  /** The namespace that recalls look in. */
  readonly namespace: string;
  /** The id of the blob that would hold the memory. */
  readonly blobId: string;
  /** When it was accepted, in milliseconds since the Unix epoch. */
  readonly createdAtMs: number;
  /**
   * How important the memory is, 0 to 1; undefined where the application
   * encrypted it.
   */
  readonly importance: number | undefined;
  /** The metadata that the application gave. */
  readonly metadata: Metadata;
  /** The memory that this one replaced, if any. */
  readonly supersedes: string | undefined;
}

/** A text that is to be remembered. */
export type NewText = Omit<BodyOf<"POST /api/remember">, "idempotency_key">;

/** A memory that the application encrypted and embedded. */
export interface SealedData
  extends Pick<BodyOf<"POST /api/remember/manual">, "vector" | "namespace"> {
  /** The encrypted bytes in Base64. */
  readonly data: string;
}

/** The final status of a job. */
export type JobEnd = "done" | "failed";

/** A job, which makes a memory of a text. */
export interface MockJob {
  /** The memory that the job stores. */
  readonly memory: MockMemory;
  /** The job's status. */
  readonly status: "pending" | "running" | JobEnd;
  /** Why the job failed. */
  readonly error: string | undefined;
  /** Whether the memory was deleted, so that the job is not started again. */
  readonly isDeleted: boolean;
}

/** A memory that was stored, and its current state. */
export interface MockRow {
  /** What was stored. */
  readonly memory: MockMemory;
  /** The vector by which recalls find the memory, of length 1. */
  readonly vector: readonly number[];
  /** Bytes of its blob. */
  readonly sizeBytes: number;
  /**
   * The encrypted bytes in Base64, where the application encrypted the memory.
   */
  readonly data: string | undefined;
  /** The number of the memory's last change, by which listings are ordered. */
  readonly change: number;
  /** When the last change was, in milliseconds since the Unix epoch. */
  readonly changedAtMs: number;
  /** The memory that replaced this one, if any. */
  readonly supersededBy: string | undefined;
  /** `forgotten`: removed from the index, and restore puts the memory back. */
  readonly state: "kept" | "forgotten" | "deleted";
}

/** A namespace with at least one memory in the index. */
export interface MockNamespace {
  /** What requests call the namespace. */
  readonly name: string;
  /** The number of its memories, without those that were replaced. */
  readonly memoryCount: number;
  /** Bytes of all its blobs. */
  readonly sizeBytes: number;
  /**
   * The number of the namespace's last change, by which listings are ordered.
   */
  readonly change: number;
  /** When the last change was, in milliseconds since the Unix epoch. */
  readonly changedAtMs: number;
}
