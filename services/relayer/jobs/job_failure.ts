/**
 * Why an attempt of a job failed, in words fit for the job's owner, and when
 * the job is retried.
 *
 * @module
 */

import { BlobStoreError } from "../blobs/blob_store.ts";
import { isStorageFailure } from "../store/storage_watch.ts";
import type { OpenFailure } from "../vault/vault.ts";

/**
 * The longest wait before a retry, in milliseconds, however long the other end
 * asks for.
 */
export const LONGEST_WAIT_MS = 60 * 60_000;

const LONGEST_MS = 5 * 60_000;

/** The failure of one attempt of a job. */
export interface JobFailure {
  /** The failure in words fit for the job's owner. */
  readonly reason: string;
  /** Whether a retry can succeed. */
  readonly isPassing: boolean;
  /**
   * Whether the relayer itself is at fault, so that retries end after some. Any
   * other failure that passes is retried until it has passed: what was accepted
   * is stored.
   *
   * @default {false}
   */
  readonly isOurs?: boolean | undefined;
  /**
   * How long the other end asks to wait before a retry, in milliseconds.
   * @default unknown
   */
  readonly retryAfterMs?: number | undefined;
  /**
   * The error of this machine's storage. With it, the job waits until the
   * storage works again, and the attempt does not count.
   * @default the storage did not fail
   */
  readonly storageError?: unknown;
}

/** The failure when a part of the relayer failed. */
export const INTERNAL_FAILURE: JobFailure = {
  reason: "Cannot store memory: the relayer failed",
  isPassing: true,
  isOurs: true,
};

/** The failure when a batch took longer than it may. */
export const LATE_FAILURE: JobFailure = {
  reason: "Cannot store memory: it took too long",
  isPassing: true,
};

/** The failure when the job has no content to store. */
export const GONE_FAILURE: JobFailure = {
  reason: "Cannot store memory: its content is gone",
  isPassing: false,
};

/** The error of a job whose memory was deleted. */
export const DELETED_ERROR: string =
  "Cannot store memory: it was deleted; send its " +
  "text with another idempotency_key to store it again";

const OPEN_FAILURES: Readonly<Record<OpenFailure, JobFailure>> = {
  key_gone: { reason: DELETED_ERROR, isPassing: false },
  damaged: {
    reason: "Cannot store memory: its content is damaged",
    isPassing: false,
  },
  unavailable: {
    reason: "Cannot store memory: the key server does not answer",
    isPassing: true,
  },
  key_servers_away: {
    reason: "Cannot store memory: too few key servers answer",
    isPassing: true,
  },
  session_required: {
    reason: "Cannot store memory: its owner's key servers require a session",
    isPassing: true,
  },
  refused: {
    reason: "Cannot store memory: the key servers refuse its key",
    isPassing: true,
    retryAfterMs: LONGEST_WAIT_MS,
  },
};

/** Returns the failure of a job whose content cannot be decrypted. */
export function openFailure(why: OpenFailure): JobFailure {
  return OPEN_FAILURES[why];
}

/** Returns the failure of a job whose step threw this error. */
export function thrownFailure(error: unknown): JobFailure {
  if (isStorageFailure(error)) {
    return { ...INTERNAL_FAILURE, storageError: error };
  }
  if (!(error instanceof BlobStoreError)) return INTERNAL_FAILURE;
  return {
    reason: "Cannot store memory: the blob store refuses it",
    // What it refuses today it takes once its operator has set it right.
    isPassing: true,
    retryAfterMs: error.isPassing ? error.retryAfterMs : LONGEST_MS,
  };
}

/** What decides when a job is retried. */
interface BackoffFacts {
  /** How many attempts the job has had, the failed one included. */
  readonly attempts: number;
  /** Most attempts of a job. */
  readonly maxAttempts: number;
  /** Whether the relayer itself is at fault. */
  readonly isOurs?: boolean | undefined;
  /** The present, in milliseconds since the epoch. */
  readonly nowMs: number;
  /**
   * How long the other end asks to wait before a retry, in milliseconds.
   * @default {0}
   */
  readonly retryAfterMs?: number | undefined;
  /**
   * A number from 0 up to 1, which spreads retries so that jobs do not come
   * back all at once.
   */
  readonly random: number;
}

/**
 * Returns when to retry a job, in milliseconds since the epoch; undefined when
 * the relayer's own fault has had all its attempts. The wait doubles with each
 * attempt, up to five minutes.
 */
export function nextAttemptMs(facts: BackoffFacts): number | undefined {
  const { attempts, maxAttempts, nowMs, retryAfterMs = 0, random } = facts;
  if (facts.isOurs === true && attempts >= maxAttempts) return undefined;
  const waitMs = Math.min(LONGEST_MS, 1_000 * 2 ** attempts);
  const spreadMs = waitMs * (0.75 + random / 2);
  const askedMs = Math.min(LONGEST_WAIT_MS, retryAfterMs);
  return nowMs + Math.round(Math.max(spreadMs, askedMs));
}
