/**
 * What is said about memories that are to be written, and what comes back.
 *
 * @module
 */

import type { ReceiptedText } from "./receipt.ts";

/**
 * What an application says of a memory, to find it by later: names with texts,
 * numbers, or true and false. It is no deeper than that.
 */
export type Metadata = Readonly<Record<string, string | number | boolean>>;

/** What may be said of a text beside where it belongs. */
export interface MemoryNotes {
  /**
   * What to find it by later, with the `filter` of a recall.
   *
   * @default nothing
   */
  readonly metadata?: Metadata | undefined;
  /**
   * The id of the memory whose place it takes; that one is found no more.
   *
   * @default none
   */
  readonly supersedes?: string | undefined;
  /**
   * How much it matters, 0 to 1, for recalls that weigh it.
   *
   * @default {0.5}
   */
  readonly importance?: number | undefined;
}

/** What `remember` may be told beside the text. */
export interface RememberOptions extends MemoryNotes {
  /**
   * Where the memory belongs.
   *
   * @default the client's namespace
   */
  readonly namespace?: string | undefined;
  /**
   * Names this write: when it is sent again under the same key, there is still
   * one memory.
   *
   * @default one made of the text, and of the half hour it is first sent in
   */
  readonly idempotencyKey?: string | undefined;
}

/** How to wait for jobs. */
export interface WaitOptions {
  /**
   * Milliseconds between two looks at first, at least 100; later ones are
   * further apart. A relayer that tells when a job is done is not asked by it.
   *
   * @default {1500}
   */
  readonly pollIntervalMs?: number | undefined;
  /**
   * Milliseconds to wait altogether; `Infinity` for without an end.
   *
   * @default 60,000 for one job, 120,000 for several
   */
  readonly timeoutMs?: number | undefined;
}

/** What `rememberAndWait` may be told beside the text. */
export interface RememberAndWaitOptions extends RememberOptions, WaitOptions {}

/** One text of many. */
export interface RememberBulkItem extends MemoryNotes {
  /** The text. */
  readonly text: string;
  /**
   * Where the memory belongs.
   *
   * @default the client's namespace
   */
  readonly namespace?: string | undefined;
}

/** What `rememberBulk` may be told beside the texts. */
export interface RememberBulkOptions {
  /**
   * Names this write: when it is sent again under the same key, there are no
   * more memories.
   *
   * @default one made of the texts, and of the half hour they are first sent in
   */
  readonly idempotencyKey?: string | undefined;
}

/** What `rememberBulkAndWait` may be told beside the texts. */
export interface RememberBulkAndWaitOptions
  extends RememberBulkOptions, WaitOptions {}

/** A text was accepted; a job makes a memory of it. */
export interface RememberAcceptedResult {
  /** The job, and later the memory. */
  readonly job_id: string;
  /** The job's state, usually `running`. */
  readonly status: string;
}

/** Texts were accepted; a job for each makes a memory of it. */
export interface RememberBulkAcceptedResult {
  /** The jobs, in the order of the texts. */
  readonly job_ids: readonly string[];
  /** How many there are. */
  readonly total: number;
  /** The jobs' state, usually `running`. */
  readonly status: string;
}

/** A memory was written. */
export interface RememberResult extends ReceiptedText {
  /** The memory. */
  readonly id: string;
  /** The job that wrote it; the same as `id`. */
  readonly job_id: string;
  /** The blob that holds it, encrypted. */
  readonly blob_id: string;
  /** Address of the owner. */
  readonly owner: string;
  /** Where it belongs. */
  readonly namespace: string;
}

/**
 * State of a job. `uploaded`: the memory is stored and found by recall, and
 * there is a rest to do. `done` and `failed` are final. `not_found`: the owner
 * has no such job.
 */
export type RememberJobState =
  | "pending"
  | "running"
  | "uploaded"
  | "done"
  | "failed"
  | "not_found";

/** The state of a job that stores a memory. */
export interface RememberJobStatus extends ReceiptedText {
  /** The job. */
  readonly job_id: string;
  /** Its state. */
  readonly status: RememberJobState;
  /** Address of the owner. */
  readonly owner?: string;
  /** Where the memory belongs. */
  readonly namespace?: string;
  /** The blob that holds it, as soon as there is one. */
  readonly blob_id?: string;
  /** Why it failed. */
  readonly error?: string;
}

/** The states of several jobs. */
export interface RememberBulkStatusResult {
  /** The state of each job that was asked for, in that order. */
  readonly results: readonly RememberJobStatus[];
}

/** What became of one job of several. */
export interface RememberBulkItemResult extends ReceiptedText {
  /** The job, and the memory when it is done. */
  readonly id: string;
  /** The same as `id`. */
  readonly job_id: string;
  /** `done`, or `failed`, or `timeout` when it was not done in time. */
  readonly status: "done" | "failed" | "timeout";
  /** The blob that holds it; empty when there is none. */
  readonly blob_id: string;
  /** Where it belongs; empty when that is not known. */
  readonly namespace: string;
  /** Why it is not done. */
  readonly error?: string;
}

/** What became of several jobs. */
export interface RememberBulkResult {
  /** One for each, in the order of the texts. */
  readonly results: readonly RememberBulkItemResult[];
  /** How many there are. */
  readonly total: number;
  /** How many are done. */
  readonly succeeded: number;
  /** How many failed. */
  readonly failed: number;
  /** How many were not done in time. */
  readonly timedOut: number;
}
