import { assert, assertEquals } from "@std/assert";
import { ANN, BEN } from "../testing/test_parts.ts";
import { openTestRelayer } from "../testing/test_relayer.ts";

const DATA = Uint8Array.of(1, 2, 3, 4);
const BODY = {
  encrypted_data: DATA.toBase64(),
  vector: [3, 0, 4, 0],
  namespace: "n",
};

/** A relayer that has lost the rows of a memory which a client sealed. */
async function lostMemory() {
  const relayer = openTestRelayer();
  const { json } = await relayer.call("POST", "/api/remember/manual", {
    body: BODY,
  });
  const id = String(Object(json).id);
  const { store, index } = relayer;
  store.memoryRows.delete(id);
  index.memories.delete(id);
  const give = (vector: readonly number[], as: "ann" | "ben" = "ann") =>
    relayer.call("POST", `/api/memories/${id}/vector`, {
      as,
      body: { vector },
    });
  return { ...relayer, id, give };
}

Deno.test("POST /api/memories/:id/vector puts a memory back that only its client can open", async () => {
  const { id, give, store, index, catalog, blobs, call } = await lostMemory();
  const before = await catalog.findEntry(ANN.owner, id);
  const blob = await call("GET", `/api/memories/${id}/blob`);
  assertEquals(Object(blob.json).data, BODY.encrypted_data);
  const { status, json } = await give([0, 2, 0, 0]);
  assertEquals([status, json], [200, {
    memory_id: id,
    blob_id: before?.blobId,
  }]);
  const row = store.memoryRows.get(id);
  assertEquals(
    [row?.owner, row?.namespace, row?.createdAtMs, row?.agentId],
    [ANN.owner, "n", before?.createdAtMs, ANN.publicKey],
  );
  assertEquals([...index.memories.get(id)?.vector ?? []], [0, 1, 0, 0]);
  const entry = await catalog.findEntry(ANN.owner, id);
  assertEquals(entry?.sealedIndex, row?.sealedIndex);
  assertEquals(blobs.blobs.size, 1);
  // A second time changes only the vector.
  assertEquals((await give([1, 0, 0, 0])).status, 200);
  assertEquals(store.memoryRows.size, 1);
});

Deno.test("POST /api/memories/:id/vector takes none of other owners, of unknown memories, or of texts", async () => {
  const { id, give, call, catalog, store, blobs } = await lostMemory();
  assertEquals((await give([1, 0, 0, 0], "ben")).status, 404);
  const body = { vector: [1, 0, 0, 0] };
  for (const other of ["unknown", "no%20id"]) {
    const path = `/api/memories/${other}/vector`;
    assertEquals((await call("POST", path, { body })).status, 404);
  }
  assertEquals((await give([1, 0])).status, 400);
  assertEquals((await give([0, 0, 0, 0])).status, 400);
  const entry = await catalog.findEntry(ANN.owner, id);
  assert(entry !== undefined);
  // Without a sealed index in the catalogue, the memory is a text that the
  // relayer opens by itself, so no client may set its vector.
  catalog.entries.clear();
  await catalog.add({ ...entry, sealedIndex: undefined });
  assertEquals((await give([1, 0, 0, 0])).status, 404);
  catalog.entries.clear();
  await catalog.add(entry);
  blobs.blobs.clear();
  assertEquals((await give([1, 0, 0, 0])).status, 404);
  assertEquals(store.memoryRows.size, 0);
  assertEquals(await catalog.findEntry(BEN.owner, id), undefined);
});

Deno.test("POST /api/memories/:id/vector keeps history out of the index", async () => {
  const { id, give, catalog, index, store } = await lostMemory();
  const entry = await catalog.findEntry(ANN.owner, id);
  assert(entry !== undefined);
  catalog.entries.clear();
  await catalog.add({ ...entry, supersededBy: "later" });
  assertEquals((await give([1, 0, 0, 0])).status, 200);
  assertEquals(index.memories.size, 0);
  assertEquals(store.memoryRows.get(id)?.supersededBy, "later");
});

Deno.test("POST /api/memories/:id/vector keeps a memory that a full index has no room for", async () => {
  const { id, give, index, store } = await lostMemory();
  index.isFull = true;
  assertEquals((await give([1, 0, 0, 0])).status, 200);
  assert(store.memoryRows.has(id));
});

Deno.test("POST /api/memories/:id/vector keeps out of the index what is gone when its vector is written", async () => {
  const { id, give, index, store } = await lostMemory();
  await give([1, 0, 0, 0]);
  const commit = store.commit.bind(store);
  store.commit = async (changes) => {
    if (changes[0]?.kind === "reindex") {
      await commit([{
        kind: "remove_namespace",
        owner: ANN.owner,
        namespace: BODY.namespace,
      }]);
      index.removeNamespace(ANN.owner, BODY.namespace);
    }
    return await commit(changes);
  };
  assertEquals((await give([0, 1, 0, 0])).status, 200);
  assertEquals([store.memoryRows.size, index.memories.size], [0, 0]);
  assertEquals(store.memoryRows.has(id), false);
});

Deno.test("POST /api/memories/:id/vector brings no memory back that is deleted meanwhile", async () => {
  const { id, give, call, parts, ...relayer } = await lostMemory();
  const { store, index, catalog, blobs } = relayer;
  const entry = await catalog.findEntry(ANN.owner, id);
  assert(entry !== undefined);
  const held = Promise.withResolvers<void>();
  const holding = parts.blobLocks.run(entry.blobId, () => held.promise);
  // Waits for as long as a request takes until it waits for the blob's lock.
  const turns = async () => {
    for (let turn = 0; turn < 20; turn++) {
      await new Promise((resolve) => setTimeout(resolve));
    }
  };
  // Both wait for the blob: the vector first, then the end of the deletion.
  const given = give([1, 0, 0, 0]);
  await turns();
  const deleted = call("DELETE", `/api/memories/${id}`);
  await turns();
  held.resolve();
  await holding;
  assertEquals([(await given).status, (await deleted).status], [200, 200]);
  assertEquals(
    [store.memoryRows, index.memories, catalog.entries, blobs.blobs]
      .map(({ size }) => size),
    [0, 0, 0, 0],
  );
});
