import { assert, assertEquals } from "@std/assert";
import { BlobStoreError, computeBlobId } from "../../blobs/blob_store.ts";
import { DELETED_ERROR } from "../../jobs/job_failure.ts";
import { sampleJob, storeSample } from "../testing/sample_rows.ts";
import { ANN, BEN } from "../testing/test_parts.ts";
import { openTestRelayer, type TestRelayer } from "../testing/test_relayer.ts";

Deno.test("DELETE removes key, row, blob, entry and place in the index", async () => {
  const relayer = openTestRelayer();
  const { blobId } = await storeSample(relayer, ANN, { id: "m1" });
  await storeSample(relayer, ANN, { id: "m2" });
  const { status, json } = await relayer.call("DELETE", "/api/memories/m1");
  assertEquals(status, 200);
  assertEquals(json, {
    ...{ deleted: true, memory_id: "m1", blob_id: blobId },
    receipt: {
      ...{ version: 1, kind: "delete", owner: ANN.owner, memory_id: "m1" },
      ...{ namespace: "default", blob_id: blobId, key_id: "test" },
      ...{ signature: "signed", time_ms: relayer.clock.nowMs() },
    },
  });
  assertEquals(findTraces(relayer), ["blob", "entry", "index", "key", "row"]);
  assertEquals([...relayer.store.memoryRows.keys()], ["m2"]);
  assertEquals([...relayer.index.memories.keys()], ["m2"]);
  assertEquals(relayer.store.tombstones.map(({ id }) => id), ["m1"]);
  const again = await relayer.call("DELETE", "/api/memories/m1");
  assertEquals(again.status, 404);
  assertEquals(again.json, {
    error: "Cannot delete memory: it does not exist",
  });
});

Deno.test("DELETE can be repeated after a fault at any point", async () => {
  const faults: readonly ((relayer: TestRelayer) => void)[] = [
    ({ vault }) => vault.nextError = new Error("crash"),
    ({ store }) => store.nextError = new Error("crash"),
    ({ blobs }) => blobs.nextError = new Error("crash"),
    ({ catalog }) => catalog.nextError = new Error("crash"),
  ];
  for (const [place, fault] of faults.entries()) {
    const relayer = openTestRelayer();
    await storeSample(relayer, ANN, { id: "m1" });
    fault(relayer);
    const broken = await relayer.call("DELETE", "/api/memories/m1");
    assertEquals(broken.status, 500, `${place}`);
    assert(findTraces(relayer).length > 0, `${place}`);
    const again = await relayer.call("DELETE", "/api/memories/m1");
    assertEquals(again.status, 200, `${place}`);
    assertEquals(findTraces(relayer), [], `${place}`);
    const gone = await relayer.call("DELETE", "/api/memories/m1");
    assertEquals(gone.status, 404, `${place}`);
  }
});

Deno.test("DELETE destroys the key before anything else", async () => {
  const relayer = openTestRelayer();
  await storeSample(relayer, ANN, { id: "m1" });
  relayer.store.nextError = new Error("crash");
  await relayer.call("DELETE", "/api/memories/m1");
  assertEquals(findTraces(relayer), ["blob", "entry", "index", "row"]);
});

Deno.test("DELETE answers 503 when the blob store does not answer, and goes on later", async () => {
  const relayer = openTestRelayer();
  await storeSample(relayer, ANN, { id: "m1" });
  relayer.blobs.nextError = new BlobStoreError("away", { isPassing: true });
  const away = await relayer.call("DELETE", "/api/memories/m1");
  assertEquals(away.status, 503);
  assertEquals(findTraces(relayer), ["blob", "entry"]);
  const later = await relayer.call("DELETE", "/api/memories/m1");
  assertEquals(later.status, 200);
  assertEquals(findTraces(relayer), []);
});

Deno.test("DELETE finds by the catalogue what the index has lost", async () => {
  const relayer = openTestRelayer();
  await storeSample(relayer, ANN, { id: "m1" });
  relayer.store.memoryRows.clear();
  relayer.index.memories.clear();
  const { status } = await relayer.call("DELETE", "/api/memories/m1");
  assertEquals(status, 200);
  assertEquals(findTraces(relayer), []);
});

Deno.test("DELETE ends a job that is on its way", async () => {
  for (const status of ["pending", "running", "failed"] as const) {
    const relayer = openTestRelayer();
    relayer.store.putJob(sampleJob(ANN, { id: "j1", status }));
    relayer.vault.addKey(ANN.owner, "key-j1");
    const { status: answered, json } = await relayer.call(
      "DELETE",
      "/api/memories/j1",
    );
    assertEquals(answered, 200);
    const { receipt, ...rest } = json as { receipt: object };
    assertEquals(rest, { deleted: true, memory_id: "j1", blob_id: "" });
    assertEquals("blob_id" in receipt, false);
    const job = relayer.store.jobRows.get("j1");
    assertEquals([job?.status, job?.payload], ["failed", undefined]);
    assertEquals(job?.error, DELETED_ERROR);
    assertEquals(relayer.vault.keys.size, 0);
    const again = await relayer.call("DELETE", "/api/memories/j1");
    assertEquals(again.status, 404);
  }
});

Deno.test("DELETE tries again when the runner was faster, and gives up politely", async () => {
  const relayer = openTestRelayer();
  const { store } = relayer;
  store.putJob(sampleJob(ANN, { id: "j1", status: "running" }));
  relayer.vault.addKey(ANN.owner, "key-j1");
  const commit = store.commit.bind(store);
  let interruptions = 1;
  store.commit = (changes) => {
    const job = store.jobRows.get("j1");
    if (interruptions-- > 0 && job !== undefined) {
      store.jobRows.set("j1", { ...job, version: job.version + 1 });
    }
    return commit(changes);
  };
  const { status } = await relayer.call("DELETE", "/api/memories/j1");
  assertEquals(status, 200);
  store.putJob(sampleJob(ANN, { id: "j1", status: "running" }));
  interruptions = Infinity;
  const busy = await relayer.call("DELETE", "/api/memories/j1");
  assertEquals([busy.status, busy.headers["retry-after"]], [503, "1"]);
});

Deno.test("DELETE finds nothing more of a finished job whose memory is gone", async () => {
  const relayer = openTestRelayer();
  const { blobId } = await storeSample(relayer, ANN, { id: "m1" });
  const bytes = relayer.blobs.blobs.get(blobId) ?? new Uint8Array();
  const { payload: _payload, ...job } = sampleJob(ANN, {
    id: "m1",
    status: "done",
    blobId,
  });
  relayer.store.jobRows.set("m1", {
    version: 1,
    attempts: 1,
    updatedAtMs: 1,
    ...job,
  });
  assertEquals((await relayer.call("DELETE", "/api/memories/m1")).status, 200);
  assertEquals((await relayer.call("DELETE", "/api/memories/m1")).status, 404);
  // A crash left the blob, and only the job knows of it.
  await relayer.blobs.put(bytes);
  assertEquals((await relayer.call("DELETE", "/api/memories/m1")).status, 200);
  assertEquals(relayer.blobs.blobs.size, 0);
  assertEquals((await relayer.call("DELETE", "/api/memories/m1")).status, 404);
});

Deno.test("DELETE keeps bytes that a client sealed while another memory has them", async () => {
  const relayer = openTestRelayer();
  const body = { encrypted_data: "AAAA", vector: [1, 0, 0, 0] };
  await relayer.call("POST", "/api/remember/manual", { body });
  await relayer.call("POST", "/api/remember/manual", { body, as: "ben" });
  assertEquals(relayer.blobs.blobs.size, 1);
  const ann = await relayer.call("DELETE", "/api/memories/id-1");
  assertEquals(ann.status, 200);
  assertEquals(relayer.blobs.blobs.size, 1);
  const ben = await relayer.call("DELETE", "/api/memories/id-2", {
    as: "ben",
  });
  assertEquals(ben.status, 200);
  assertEquals(findTraces(relayer), []);
});

Deno.test("DELETE of two memories with the same bytes at once leaves no bytes", async () => {
  const relayer = openTestRelayer();
  const body = { encrypted_data: "AAAA", vector: [1, 0, 0, 0] };
  await relayer.call("POST", "/api/remember/manual", { body });
  await relayer.call("POST", "/api/remember/manual", { body });
  await Promise.all([
    relayer.call("DELETE", "/api/memories/id-1"),
    relayer.call("DELETE", "/api/memories/id-2"),
  ]);
  assertEquals(findTraces(relayer), []);
});

Deno.test("DELETE leaves the bytes to a memory that is stored in that moment", async () => {
  const relayer = openTestRelayer();
  const body = { encrypted_data: "AAAA", vector: [1, 0, 0, 0] };
  await relayer.call("POST", "/api/remember/manual", { body });
  const add = relayer.catalog.add.bind(relayer.catalog);
  let deleting: Promise<unknown> | undefined;
  relayer.catalog.add = async (entry) => {
    deleting = relayer.call("DELETE", "/api/memories/id-1");
    for (let turn = 0; turn < 50; turn++) await Promise.resolve();
    await add(entry);
  };
  await relayer.call("POST", "/api/remember/manual", { body });
  await deleting;
  const blobId = relayer.store.memoryRows.get("id-2")?.blobId ?? "";
  assertEquals([...relayer.store.memoryRows.keys()], ["id-2"]);
  assertEquals(relayer.blobs.blobs.has(blobId), true);
});

Deno.test("DELETE of copied bytes does not take them from their owner", async () => {
  const relayer = openTestRelayer();
  const { blobId } = await storeSample(relayer, ANN, { id: "m1" });
  const bytes = relayer.blobs.blobs.get(blobId) ?? new Uint8Array();
  await relayer.call("POST", "/api/remember/manual", {
    as: "ben",
    body: { encrypted_data: bytes.toBase64(), vector: [1, 0, 0, 0] },
  });
  assertEquals(relayer.store.memoryRows.get("id-1")?.blobId, blobId);
  assertEquals(relayer.store.memoryRows.get("id-1")?.owner, BEN.owner);
  await relayer.call("DELETE", "/api/memories/id-1", { as: "ben" });
  assertEquals(relayer.blobs.blobs.has(blobId), true);
  assertEquals([...relayer.store.memoryRows.keys()], ["m1"]);
});

Deno.test("DELETE tells those who wait, gives the room back and marks the job", async () => {
  for (const status of ["pending", "running", "uploaded", "done"] as const) {
    const told: string[] = [];
    const relayer = openTestRelayer({
      jobWatch: {
        wait: () => Promise.resolve(undefined),
        tell: ({ id }) => void told.push(id),
      },
    });
    const isStored = status === "uploaded" || status === "done";
    if (isStored) await storeSample(relayer, ANN, { id: "m1" });
    const payload = Uint8Array.of(1, 2, 3);
    relayer.store.putJob(sampleJob(ANN, { id: "m1", status, payload }));
    const { status: answered } = await relayer.call(
      "DELETE",
      "/api/memories/m1",
    );
    assertEquals(answered, 200);
    assertEquals(told, ["m1"]);
    const job = relayer.store.jobRows.get("m1");
    assertEquals([job?.status, job?.payload], ["failed", undefined]);
    assertEquals(job?.error, DELETED_ERROR);
    assertEquals(
      relayer.asked.find(({ what }) => what === "usage")?.with,
      ANN.owner,
    );
    const again = await relayer.call("DELETE", "/api/memories/m1");
    assertEquals(again.status, 404, status);
  }
});

Deno.test("DELETE removes a blob that a crash left before anybody noted it", async () => {
  const relayer = openTestRelayer();
  const payload = Uint8Array.of(1, 2, 3);
  relayer.store.putJob(sampleJob(ANN, { id: "j1", payload }));
  relayer.blobs.blobs.set(computeBlobId(payload), payload);
  assertEquals((await relayer.call("DELETE", "/api/memories/j1")).status, 200);
  assertEquals(findTraces(relayer), []);
});

/** Returns the names of the places that still hold something of any memory. */
function findTraces(relayer: TestRelayer): readonly string[] {
  const { blobs, catalog, index, store, vault } = relayer;
  const counts: readonly (readonly [string, number])[] = [
    ["blob", blobs.blobs.size],
    ["entry", catalog.entries.size],
    ["index", index.size],
    ["key", vault.keys.size],
    ["row", store.memoryRows.size],
  ];
  return counts.flatMap(([kind, count]) => count > 0 ? kind : []);
}
