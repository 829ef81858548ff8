/**
 * Why a job did not get to its end this time, in words fit for its owner, and when it
 * is tried again.
 *
 * @module
 */

import { BlobStoreError } from "../blobs/blob_store.ts";
import { isStorageFailure } from "../store/storage_watch.ts";
import type { OpenFailure } from "../vault/vault.ts";

/** What stopped a job. */
export interface JobFailure {
  /** In words fit for its owner. */
  readonly reason: string;
  /** Whether trying again can help. */
  readonly isPassing: boolean;
  /**
   * When it is worth trying again, in milliseconds.
   * @default it is not known
   */
  readonly retryAfterMs?: number | undefined;
  /**
   * What the storage of this machine failed with. Then the job waits until it
   * works again, and no attempt is counted.
   * @default the storage did not fail
   */
  readonly storageError?: unknown;
}

/** A part of the relayer failed. */
export const INTERNAL_FAILURE: JobFailure = {
  reason: "Cannot store memory: the relayer failed",
  isPassing: true,
};

/** The job took longer than a job may. */
export const LATE_FAILURE: JobFailure = {
  reason: "Cannot store memory: it took too long",
  isPassing: true,
};

/** There is nothing to store. */
export const GONE_FAILURE: JobFailure = {
  reason: "Cannot store memory: its content is gone",
  isPassing: false,
};

/** What the job of a memory that was deleted says. */
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
    reason: "Cannot store memory: its owner's key servers want a session",
    isPassing: false,
  },
  refused: {
    reason: "Cannot store memory: the key servers refuse its key",
    isPassing: false,
  },
};

/** What it means for a job that its content does not open. */
export function openFailure(why: OpenFailure): JobFailure {
  return OPEN_FAILURES[why];
}

/** What it means for a job that a step threw. */
export function thrownFailure(error: unknown): JobFailure {
  if (isStorageFailure(error)) {
    return { ...INTERNAL_FAILURE, storageError: error };
  }
  if (!(error instanceof BlobStoreError)) return INTERNAL_FAILURE;
  return {
    reason: "Cannot store memory: the blob store does not take it",
    isPassing: error.isPassing,
    retryAfterMs: error.retryAfterMs,
  };
}

/** What decides when a job is tried again. */
interface BackoffFacts {
  /** How often the job was begun, this time included. */
  readonly attempts: number;
  /** How often it may be. */
  readonly maxAttempts: number;
  /** The present, in milliseconds since the epoch. */
  readonly nowMs: number;
  /**
   * When the other end wants to be asked again.
   * @default it did not say
   */
  readonly retryAfterMs?: number | undefined;
  /** A number from 0 up to 1, so that jobs don't come back all at once. */
  readonly random: number;
}

/** The longest wait, in milliseconds, however long the other end wants. */
export const LONGEST_WAIT_MS = 60 * 60_000;

const LONGEST_MS = 5 * 60_000;

/** When to begin again, in milliseconds since the epoch; undefined for never. */
export function nextAttemptMs(facts: BackoffFacts): number | undefined {
  const { attempts, maxAttempts, nowMs, retryAfterMs = 0, random } = facts;
  if (attempts >= maxAttempts) return undefined;
  const waitMs = Math.min(LONGEST_MS, 1_000 * 2 ** attempts);
  const spreadMs = waitMs * (0.75 + random / 2);
  const askedMs = Math.min(LONGEST_WAIT_MS, retryAfterMs);
  return nowMs + Math.round(Math.max(spreadMs, askedMs));
}
