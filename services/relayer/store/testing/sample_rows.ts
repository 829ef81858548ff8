/**
 * Jobs and rows for tests of stores.
 *
 * @module
 */

import type { NewJob, NewMemory } from "../rows.ts";

/** An owner's address. */
export const ALICE = `0x${"a1".repeat(32)}`;
/** Another owner's address. */
export const BOB = `0x${"b2".repeat(32)}`;
/** A delegate's public key. */
export const AGENT = "c3".repeat(32);

/** When sample rows were made, in milliseconds since the epoch. */
export const SAMPLE_MS = 1_800_000_000_000;

/** A job, Alice's unless said otherwise. */
export function sampleJob(job: Partial<NewJob> = {}): NewJob {
  return {
    id: "job-1",
    owner: ALICE,
    namespace: "default",
    agentId: AGENT,
    status: "pending",
    nextAttemptAtMs: SAMPLE_MS,
    createdAtMs: SAMPLE_MS,
    payload: Uint8Array.of(1, 2, 3, 4),
    keyId: "key-1",
    importance: 0.5,
    ...job,
  };
}

/** A row of the index, Alice's unless said otherwise. */
export function sampleMemory(memory: Partial<NewMemory> = {}): NewMemory {
  const { id = "memory-1" } = memory;
  return {
    id,
    owner: ALICE,
    namespace: "default",
    blobId: `blob-of-${id}`,
    sizeBytes: 100,
    createdAtMs: SAMPLE_MS,
    agentId: AGENT,
    packageId: "0xp",
    importance: 0.5,
    keyId: `key-of-${id}`,
    sealedIndex: Uint8Array.of(9, 8, 7),
    ...memory,
  };
}
