import { assert, assertEquals } from "@std/assert";
import { storeSample } from "../testing/sample_rows.ts";
import { ANN, BEN } from "../testing/test_parts.ts";
import { openTestRelayer } from "../testing/test_relayer.ts";

Deno.test("POST /api/restore counts, and names what came back", async () => {
  const { call, asked, clock, spent } = openTestRelayer();
  const { status, json } = await call("POST", "/api/restore", {
    body: { namespace: "n" },
  });
  assertEquals(status, 200);
  assertEquals(json, {
    restored: 1,
    skipped: 2,
    failed: 3,
    missing: 1,
    total: 7,
    namespace: "n",
    owner: ANN.owner,
    truncated: false,
    restored_ids: ["m1"],
  });
  const { signal: _signal, pausing, ...request } = asked[0]?.with as Record<
    string,
    unknown
  >;
  assertEquals(request, { owner: ANN.owner, namespace: "n", limit: 10 });
  assert(pausing !== undefined);
  assertEquals(clock.pendingTimers, 0);
  assertEquals(spent.map(({ points }) => points), [3]);
});

Deno.test("POST /api/restore moves limits into 1 to 100", async () => {
  const { call, asked } = openTestRelayer();
  const limits = [[0, 1], [-1, 1], [1, 1], [100, 100], [1e9, 100]] as const;
  for (const [limit, taken] of limits) {
    const { status } = await call("POST", "/api/restore", { body: { limit } });
    assertEquals(status, 200);
    assertEquals((asked.at(-1)?.with as { limit: number }).limit, taken);
  }
});

Deno.test("POST /api/forget removes the rows of a namespace and leaves blobs", async () => {
  const relayer = openTestRelayer();
  await storeSample(relayer, ANN, { id: "m1", namespace: "n" });
  await storeSample(relayer, ANN, { id: "m2", namespace: "n" });
  await storeSample(relayer, ANN, { id: "m3", namespace: "other" });
  await storeSample(relayer, BEN, { id: "m4", namespace: "n" });
  const { status, json } = await relayer.call("POST", "/api/forget", {
    body: { namespace: "n" },
  });
  assertEquals(status, 200);
  assertEquals(json, {
    ...{ deleted: 2, namespace: "n", owner: ANN.owner },
    receipt: {
      ...{ version: 1, kind: "forget", owner: ANN.owner, namespace: "n" },
      ...{ count: 2, key_id: "test", signature: "signed" },
      time_ms: relayer.clock.nowMs(),
    },
  });
  assertEquals([...relayer.store.memoryRows.keys()], ["m3", "m4"]);
  assertEquals([...relayer.index.memories.keys()], ["m3", "m4"]);
  assertEquals(relayer.blobs.blobs.size, 4);
  assertEquals(relayer.vault.keys.size, 4);
  const again = await relayer.call("POST", "/api/forget", {
    body: { namespace: "n" },
  });
  const { receipt, ...rest } = Object(again.json);
  assertEquals(rest, { deleted: 0, namespace: "n", owner: ANN.owner });
  assertEquals(receipt.count, 0);
});

Deno.test("POST /api/stats counts a namespace", async () => {
  const relayer = openTestRelayer();
  const row = await storeSample(relayer, ANN, { id: "m1" });
  const { json } = await relayer.call("POST", "/api/stats", { body: {} });
  assertEquals(json, {
    memory_count: 1,
    storage_bytes: row.sizeBytes,
    namespace: "default",
    owner: ANN.owner,
  });
});
