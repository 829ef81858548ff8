/**
 * What accepting texts is about: the texts, the outcome, and the ids of jobs.
 *
 * @module
 */

import type { WorkOptions } from "../concurrency/bounded_work.ts";
import type { JobStatus } from "../store/rows.ts";
import type { Metadata } from "../vault/vault.ts";

/** A text to be remembered; its bounds were checked. */
export interface NewText {
  /** The text. */
  readonly text: string;
  /** The namespace. */
  readonly namespace: string;
  /**
   * How much it matters, 0 to 1.
   * @default 0.5
   */
  readonly importance?: number | undefined;
  /**
   * What the client says of it.
   * @default nothing
   */
  readonly metadata?: Metadata | undefined;
  /**
   * The memory whose place it takes.
   * @default none
   */
  readonly supersedes?: string | undefined;
}

/** Options of `JobIntake.accept()`. */
export interface AcceptOptions extends Pick<WorkOptions, "pausing"> {
  /** How the jobs begin. */
  readonly status: Extract<JobStatus, "pending" | "running">;
  /**
   * The client's key: asking the same again with it gives the same jobs.
   * @default none
   */
  readonly idempotencyKey?: string | undefined;
}

/** The outcome of accepting. */
export type AcceptOutcome =
  /** The jobs are on disk, in the order of the texts. */
  | {
    readonly kind: "accepted";
    readonly jobIds: readonly string[];
    /** Whether they were made for an earlier request with the same key. */
    readonly isRepeated: boolean;
  }
  /** The key stood for other texts. */
  | { readonly kind: "key_reused" }
  /** The owner has no such memory to take the place of. */
  | { readonly kind: "nothing_to_supersede"; readonly id: string }
  /** The owner would have more than fits. */
  | { readonly kind: "over_quota"; readonly quotaBytes: number }
  /** Too much is unfinished, of the owner or at all. */
  | { readonly kind: "busy"; readonly retryAfterMs: number };

/**
 * Makes an id that sorts by its time, as a UUID of version 7 (RFC 9562, 5.7):
 * neighbours in time are neighbours in the store, and none can be guessed.
 *
 * @param random 10 random bytes
 */
export function jobId(nowMs: number, random: Uint8Array): string {
  const bytes = new Uint8Array(16);
  let left = nowMs;
  for (let index = 5; index >= 0; index--) {
    bytes[index] = left % 256;
    left = Math.floor(left / 256);
  }
  bytes.set(random.subarray(0, 10), 6);
  bytes[6] = 0x70 | (bytes[6]! & 0x0f);
  bytes[8] = 0x80 | (bytes[8]! & 0x3f);
  const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0"))
    .join("");
  return [
    hex.slice(0, 8),
    hex.slice(8, 12),
    hex.slice(12, 16),
    hex.slice(16, 20),
    hex.slice(20),
  ].join("-");
}
