/**
 * Sample jobs and memories for tests of the routes.
 *
 * @module
 */

import type { Caller } from "../../auth/authenticate.ts";
import type { JobRow, MemoryRow, NewJob, NewMemory } from "../../store/rows.ts";
import { KEY_BYTES, sealEnvelope } from "../../vault/envelope.ts";
import type { TestRelayer } from "./test_relayer.ts";

/** Makes a running job of a caller; `members` replace the defaults. */
export function sampleJob(
  caller: Caller,
  members: Partial<NewJob & JobRow> & { readonly id: string },
): NewJob & Partial<JobRow> {
  return {
    owner: caller.owner,
    namespace: "default",
    agentId: caller.publicKey,
    status: "running",
    nextAttemptAtMs: 1,
    createdAtMs: 1,
    payload: Uint8Array.of(1),
    keyId: `key-${members.id}`,
    importance: 0.5,
    ...members,
  };
}

/**
 * Stores a memory as the runner does: key, blob, row, entry of the catalogue,
 * place in the index.
 */
export async function storeSample(
  relayer: TestRelayer,
  caller: Caller,
  members: Partial<NewMemory> & { readonly id: string },
): Promise<MemoryRow> {
  const { owner, publicKey: agentId } = caller;
  const { id, namespace = "default" } = members;
  const keyId = `key-${id}`;
  relayer.vault.addKey(owner, keyId);
  const bytes = sealEnvelope(new TextEncoder().encode(`text of ${id}`), {
    kind: "blob",
    keyId,
    key: new Uint8Array(KEY_BYTES),
    context: [],
  });
  const blobId = await relayer.blobs.put(bytes);
  const memory: NewMemory = {
    owner,
    namespace,
    blobId,
    sizeBytes: bytes.length,
    createdAtMs: 1_700_000_000_000,
    agentId,
    packageId: null,
    importance: 0.5,
    keyId,
    sealedIndex: Uint8Array.of(1),
    ...members,
  };
  await relayer.store.commit([{ kind: "new_memory", memory }]);
  await relayer.catalog.add({
    blobId,
    owner,
    namespace,
    memoryId: id,
    createdAtMs: memory.createdAtMs,
    agentId,
    sizeBytes: bytes.length,
  });
  relayer.index.add({
    ...memory,
    metadata: {},
    vector: Float32Array.of(1, 0, 0, 0),
  });
  const row = relayer.store.memoryRows.get(id);
  if (row === undefined) throw new Error("Cannot store sample: no row came");
  return row;
}
