import { hashBytes } from "../../receipts/receipt.ts";
import {
  assert,
  assertAlmostEquals,
  assertEquals,
  assertExists,
  assertStringIncludes,
} from "@std/assert";
import { BlobLocks } from "../../concurrency/semaphore.ts";
import { StoreBusyError } from "../../store/store.ts";
import { MemoryBlobs } from "../testing/memory_blobs.ts";
import { ANN } from "../testing/test_parts.ts";
import { openTestRelayer } from "../testing/test_relayer.ts";

const BODY = { encrypted_data: "AQIDBA==", vector: [3, 0, 4, 0] };

Deno.test("POST /api/remember/manual stores what it was given, found at once", async () => {
  const relayer = openTestRelayer();
  const { blobs, catalog, index, store } = relayer;
  const { status, json } = await relayer.call("POST", "/api/remember/manual", {
    body: { ...BODY, namespace: "n" },
  });
  assertEquals(status, 200);
  const [blobId = ""] = blobs.blobs.keys();
  const { receipt, ...rest } = Object(json);
  assertEquals(rest, {
    id: "id-1",
    blob_id: blobId,
    owner: ANN.owner,
    namespace: "n",
  });
  assertEquals(
    [receipt.kind, receipt.memory_id, receipt.blob_id, receipt.namespace],
    ["remember", "id-1", blobId, "n"],
  );
  assertEquals(
    receipt.content_hash,
    hashBytes(Uint8Array.of(1, 2, 3, 4)),
  );
  assertEquals(blobs.blobs.get(blobId), Uint8Array.of(1, 2, 3, 4));
  const row = store.memoryRows.get("id-1");
  assertEquals(
    [row?.keyId, row?.agentId, row?.importance, row?.sizeBytes],
    [undefined, ANN.publicKey, null, 4],
  );
  const entry = await catalog.findEntry(ANN.owner, "id-1");
  assertEquals(entry?.sealedIndex, row?.sealedIndex);
  assertExists(entry?.sealedIndex);
  const vector = index.memories.get("id-1")?.vector ?? [];
  for (const [place, expected] of [0.6, 0, 0.8, 0].entries()) {
    assertAlmostEquals(vector[place] ?? NaN, expected, 1e-6);
  }
});

Deno.test("POST /api/remember/manual stores memories that a full index has no room for, and logs that recall misses them", async () => {
  const { call, index, store, logger } = openTestRelayer();
  index.isFull = true;
  const { status, json } = await call("POST", "/api/remember/manual", {
    body: BODY,
  });
  assertEquals(status, 200);
  assert(store.memoryRows.has(Object(json).id));
  assertEquals(logger.lines.map(({ level, message }) => [level, message]), [
    ["error", "Cannot add memory to the index: recall misses it"],
  ]);
});

Deno.test("POST /api/remember/manual takes a blob that the client has put into the store, once, for the first account", async () => {
  const relayer = openTestRelayer();
  const { blobs, catalog, index, store } = relayer;
  const blobId = await blobs.put(Uint8Array.of(9, 8, 7));
  const { vector } = BODY;
  const claim = (body: object, as: "ann" | "ben" = "ann") =>
    relayer.call("POST", "/api/remember/manual", { as, body });
  const own = { blob_id: blobId, vector, namespace: "n" };
  const first = await claim(own);
  assertEquals(first.status, 200);
  const { id, receipt, ...rest } = Object(first.json);
  assertEquals(receipt.memory_id, id);
  assertEquals({ id, ...rest }, {
    id,
    blob_id: blobId,
    owner: ANN.owner,
    namespace: "n",
  });
  assertEquals(store.memoryRows.get(id)?.sizeBytes, 3);
  assertExists(index.memories.get(id));
  assertExists((await catalog.findEntry(ANN.owner, id))?.sealedIndex);
  const again = await claim(own);
  assertEquals([again.status, again.json], [200, first.json]);
  assertEquals(store.memoryRows.size, 1);
  for (const as of ["ann", "ben"] as const) {
    const other = await claim({ ...own, namespace: "m" }, as);
    assertEquals([other.status, other.json], [409, {
      error: "Cannot remember data: another memory has this blob",
    }]);
  }
  // A blob whose bytes were sent to the relayer belongs to that memory, too.
  await relayer.call("POST", "/api/remember/manual", { body: BODY });
  const [, theirs = ""] = blobs.blobs.keys();
  assertEquals((await claim({ ...own, blob_id: theirs }, "ben")).status, 409);
});

Deno.test("POST /api/remember/manual refuses blobs that are not there, and more or less than one of both forms", async () => {
  const relayer = openTestRelayer();
  const { vector } = BODY;
  const bodies: readonly object[] = [
    { vector, blob_id: "nothing" },
    { vector, blob_id: "../../etc/passwd" },
    { vector, blob_id: "" },
    { vector },
    { ...BODY, blob_id: "nothing" },
  ];
  for (const body of bodies) {
    const { status } = await relayer.call("POST", "/api/remember/manual", {
      body,
    });
    assertEquals(status, 400, JSON.stringify(body));
  }
  relayer.blobs.get = () =>
    Promise.resolve({ kind: "unavailable", reason: "secret host is down" });
  const { status, json } = await relayer.call("POST", "/api/remember/manual", {
    body: { vector, blob_id: "nothing" },
  });
  assertEquals(status, 503);
  assert(!JSON.stringify(json).includes("secret"));
  assertEquals(relayer.store.memoryRows.size, 0);
});

Deno.test("POST /api/remember/manual keeps nothing that would be over the quota", async () => {
  const relayer = openTestRelayer({ quotaBytes: 7 });
  const first = await relayer.call("POST", "/api/remember/manual", {
    body: BODY,
  });
  assertEquals(first.status, 200);
  const second = await relayer.call("POST", "/api/remember/manual", {
    body: { ...BODY, encrypted_data: "BAUGBw==" },
  });
  assertEquals(second.status, 402);
  assertEquals(relayer.blobs.blobs.size, 1);
  assertEquals(relayer.store.memoryRows.size, 1);
});

Deno.test("POST /api/remember/manual takes back what cannot be noted", async () => {
  const relayer = openTestRelayer();
  relayer.catalog.nextError = new Error("disk full");
  const { status } = await relayer.call("POST", "/api/remember/manual", {
    body: BODY,
  });
  assertEquals(status, 500);
  assertEquals(relayer.store.memoryRows.size, 0);
  assertEquals(relayer.index.size, 0);
});

Deno.test("POST /api/remember/manual leaves nothing to find of what was forgotten meanwhile", async () => {
  const relayer = openTestRelayer();
  const { catalog, index } = relayer;
  const add = catalog.add.bind(catalog);
  catalog.add = async (entry) => {
    await relayer.call("POST", "/api/forget", { body: {} });
    await add(entry);
  };
  const { status } = await relayer.call("POST", "/api/remember/manual", {
    body: BODY,
  });
  assertEquals(status, 200);
  assertEquals([index.size, catalog.entries.size], [0, 0]);
});

Deno.test("POST /api/remember/manual takes vectors of any length but 0", async () => {
  const relayer = openTestRelayer();
  for (const vector of [[1e308, 1e308, 0, 0], [0, 5e-324, 0, 0]]) {
    const { status } = await relayer.call("POST", "/api/remember/manual", {
      body: { ...BODY, vector },
    });
    assertEquals(status, 200);
  }
  for (const { vector } of relayer.index.memories.values()) {
    const length = Math.hypot(...vector ?? []);
    assertAlmostEquals(length, 1, 1e-6);
  }
});

Deno.test("POST /api/recall/manual finds blobs without their texts", async () => {
  const { call, recall } = openTestRelayer();
  recall.outcome = {
    kind: "ok",
    memories: [{
      id: "m1",
      blobId: "b1",
      distance: 0.5,
      createdAtMs: 0,
      importance: null,
    }],
    dropped: 0,
    omittedIds: [],
    readBytes: 0,
  };
  const { status, json } = await call("POST", "/api/recall/manual", {
    body: { vector: [0, 2, 0, 0], limit: 500, namespace: "n" },
  });
  assertEquals(status, 200);
  assertEquals(json, {
    results: [{
      id: "m1",
      blob_id: "b1",
      distance: 0.5,
      created_at: "1970-01-01T00:00:00.000Z",
      importance: null,
    }],
    total: 1,
  });
  const words = await call("POST", "/api/recall/manual", {
    body: { vector: [0, 2, 0, 0], ranking: "fused" },
  });
  assertEquals(words.status, 400);
  assertStringIncludes(
    JSON.stringify(words.json),
    "a vector has no words that could rank",
  );
  const plain = await call("POST", "/api/recall/manual", {
    body: { vector: [0, 2, 0, 0], ranking: "semantic" },
  });
  assertEquals(plain.status, 200);
  const request = recall.requests[0];
  assertEquals(request?.query, Float32Array.of(0, 1, 0, 0));
  assertEquals([request?.limit, request?.namespace], [100, "n"]);
});

Deno.test("GET /api/memories/:id/blob gives the bytes to the owner's delegates alone", async () => {
  const relayer = openTestRelayer();
  await relayer.call("POST", "/api/remember/manual", { body: BODY });
  const path = "/api/memories/id-1/blob";
  const { status, json } = await relayer.call("GET", path);
  const [blobId] = relayer.blobs.blobs.keys();
  assertEquals(status, 200);
  assertEquals(json, {
    memory_id: "id-1",
    blob_id: blobId,
    data: BODY.encrypted_data,
  });
  const other = await relayer.call("GET", path, { as: "ben" });
  assertEquals(other.status, 404);
  const bad = await relayer.call("GET", "/api/memories/..%2f/blob");
  assertEquals(bad.status, 404);
  relayer.blobs.blobs.clear();
  const gone = await relayer.call("GET", path);
  assertEquals([gone.status, gone.json], [404, {
    error: "Cannot return the blob: it is gone",
  }]);
});

Deno.test("GET /api/memories/:id/blob answers 503 when the blob store does not answer", async () => {
  const relayer = openTestRelayer();
  await relayer.call("POST", "/api/remember/manual", { body: BODY });
  relayer.blobs.get = () =>
    Promise.resolve({ kind: "unavailable", reason: "secret host is down" });
  const { status, json } = await relayer.call(
    "GET",
    "/api/memories/id-1/blob",
  );
  assertEquals(status, 503);
  assert(!JSON.stringify(json).includes("secret"));
});

Deno.test("POST /api/recall/manual gives the bytes with include_data, as far as there is room", async () => {
  const { call, recall, blobs } = openTestRelayer();
  const sizes = [700_000, 400_000, 3, undefined];
  const memories = sizes.map((size, at) => {
    const blobId = `b${at}`;
    if (size !== undefined) blobs.blobs.set(blobId, new Uint8Array(size));
    const id = `m${at}`;
    return { id, blobId, distance: 0, createdAtMs: 0, importance: null };
  });
  recall.outcome = {
    ...{ kind: "ok", memories, dropped: 0, omittedIds: [], readBytes: 0 },
  };
  const found = async (more: object) => {
    const { json } = await call("POST", "/api/recall/manual", {
      body: { vector: [0, 2, 0, 0], ...more },
    });
    const results: readonly unknown[] = Reflect.get(Object(json), "results");
    return results.map((hit) => {
      const data = Reflect.get(Object(hit), "encrypted_data");
      return typeof data === "string" ? data.length : data;
    });
  };
  const none = sizes.map(() => undefined);
  assertEquals(await found({}), none);
  assertEquals(await found({ include_data: false }), none);
  const given = [933_336, undefined, 4, undefined];
  assertEquals(await found({ include_data: true }), given);
});

Deno.test("POST /api/remember/manual holds no lock while a remote store takes the bytes", async () => {
  class RemoteBlobs extends MemoryBlobs {
    override readonly hasHashIds = false;
    override async put(bytes: Uint8Array): Promise<string> {
      order.push("put");
      return await super.put(bytes);
    }
  }
  const order: string[] = [];
  const locks = new BlobLocks();
  const { call } = openTestRelayer({
    blobs: new RemoteBlobs(),
    blobLocks: {
      run: (id, work) => {
        order.push("lock");
        return locks.run(id, work);
      },
    },
  });
  const { status } = await call("POST", "/api/remember/manual", { body: BODY });
  assertEquals([status, order], [200, ["put", "lock"]]);
});

Deno.test("POST /api/remember/manual stores no memory when its lock has ended", async () => {
  const { call, store } = openTestRelayer({
    blobLocks: {
      run: (_, work) => work(AbortSignal.abort(new StoreBusyError(1_000))),
    },
  });
  const { status } = await call("POST", "/api/remember/manual", { body: BODY });
  assertEquals([status, store.memoryRows.size], [503, 0]);
});
