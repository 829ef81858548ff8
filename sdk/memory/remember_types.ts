/**
 * Options and results of remembering texts.
 *
 * @module
 */

import type { CallOptions } from "./life.ts";
import type { ReceiptedText } from "./receipt.ts";

/**
 * Data that an application stores with a memory, to filter recalls by: names
 * with texts, numbers or booleans, without nested objects.
 */
export type Metadata = Readonly<Record<string, string | number | boolean>>;

/** What an application can store with a text, besides its namespace. */
export interface MemoryNotes {
  /**
   * Data to filter recalls by, with the option `filter`.
   *
   * @default nothing
   */
  readonly metadata?: Metadata | undefined;
  /**
   * The id of the memory that this one replaces; recall no longer finds the
   * replaced memory.
   *
   * @default none
   */
  readonly supersedes?: string | undefined;
  /**
   * How important the memory is, 0 to 1, for recalls whose weights include
   * importance.
   *
   * @default {0.5}
   */
  readonly importance?: number | undefined;
}

/** What `remember` takes besides the text. */
export interface RememberOptions extends MemoryNotes, CallOptions {
  /**
   * The memory's namespace.
   *
   * @default the client's namespace
   */
  readonly namespace?: string | undefined;
  /**
   * The idempotency key of this write: when the write is sent again under the
   * same key, no second memory is made.
   *
   * @default a key made from the text and from the half hour in which it is
   * first sent
   */
  readonly idempotencyKey?: string | undefined;
}

/** Options of waiting for jobs. */
export interface WaitOptions extends CallOptions {
  /**
   * Milliseconds from the first request for the status to the second, at least
   * 100; later pauses are longer.
   *
   * @default 1500, or 100 for a relayer that can delay its answer until the
   * status changes
   */
  readonly pollIntervalMs?: number | undefined;
  /**
   * The most milliseconds to wait in total; `Infinity` for no timeout.
   *
   * @default 60,000 for one job, 120,000 for several
   */
  readonly timeoutMs?: number | undefined;
}

/** What `rememberAndWait` takes besides the text. */
export interface RememberAndWaitOptions extends RememberOptions, WaitOptions {}

/** One of several texts to remember. */
export interface RememberBulkItem
  extends MemoryNotes, Pick<RememberOptions, "namespace"> {
  /** What is remembered. */
  readonly text: string;
}

/** What `rememberBulk` takes besides the texts. */
export interface RememberBulkOptions extends CallOptions {
  /**
   * The idempotency key of this write: when the write is sent again under the
   * same key, no more memories are made.
   *
   * @default a key made from the texts and from the half hour in which they are
   * first sent
   */
  readonly idempotencyKey?: string | undefined;
}

/** What `rememberBulkAndWait` takes besides the texts. */
export interface RememberBulkAndWaitOptions
  extends RememberBulkOptions, WaitOptions {}

/** The result of `remember`: the text was accepted, and a job stores it. */
export interface RememberAcceptedResult {
  /** The job's id, which is also the id of the memory to come. */
  readonly job_id: string;
  /** The job's status, usually `running`. */
  readonly status: string;
}

/**
 * The result of `rememberBulk`: the texts were accepted, and a job stores each.
 */
export interface RememberBulkAcceptedResult {
  /** The ids of the jobs, in the order of the texts. */
  readonly job_ids: readonly string[];
  /** The number of jobs. */
  readonly total: number;
  /** The jobs' status, usually `running`. */
  readonly status: string;
}

/** A memory was written. */
export interface RememberResult extends ReceiptedText {
  /** The memory's id. */
  readonly id: string;
  /** The job that wrote it; the same as `id`. */
  readonly job_id: string;
  /** The blob that holds it, encrypted. */
  readonly blob_id: string;
  /** Address of the owner. */
  readonly owner: string;
  /** The memory's namespace. */
  readonly namespace: string;
}

/**
 * Status of a job. `uploaded`: the memory is stored and recall finds it, but
 * the job is not finished. `done` and `failed` are final. `not_found`: the
 * owner has no such job.
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
  /** Which job it is; also the memory that it stores. */
  readonly job_id: string;
  /** The job's status. */
  readonly status: RememberJobState;
  /** Address of the owner. */
  readonly owner?: string;
  /** The memory's namespace. */
  readonly namespace?: string;
  /** The blob that holds it, as soon as there is one. */
  readonly blob_id?: string;
  /** Why the job failed. */
  readonly error?: string;
}

/** The states of several jobs. */
export interface RememberBulkStatusResult {
  /** The state of each job that was asked for, in that order. */
  readonly results: readonly RememberJobStatus[];
}

/** The outcome of one of several jobs. */
export interface RememberBulkItemResult extends ReceiptedText {
  /** The id of the job, and of the memory when the job is done. */
  readonly id: string;
  /** The same as `id`. */
  readonly job_id: string;
  /** `done`, `failed`, or `timeout` when the job was not done in time. */
  readonly status: "done" | "failed" | "timeout";
  /** The blob that holds the memory; empty while no blob holds it. */
  readonly blob_id: string;
  /** The memory's namespace; empty when it is not known. */
  readonly namespace: string;
  /** Why the job is not done. */
  readonly error?: string;
}

/** The outcomes of several jobs. */
export interface RememberBulkResult {
  /** One outcome for each text, in their order. */
  readonly results: readonly RememberBulkItemResult[];
  /** The number of jobs. */
  readonly total: number;
  /** How many are done. */
  readonly succeeded: number;
  /** How many failed. */
  readonly failed: number;
  /** How many were not done in time. */
  readonly timedOut: number;
}
