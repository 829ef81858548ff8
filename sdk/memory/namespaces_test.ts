import { assertEquals, assertRejects } from "@std/assert";
import { MemError } from "./errors.ts";
import { deleteMemory, forget, restore, stats } from "./namespaces.ts";
import { stubParts } from "./testing/stub_parts.ts";

const WHERE = { namespace: "n", owner: "0x1" };

Deno.test("restore() asks for 10 within 60 s, and reads older relayers", async () => {
  const parts = stubParts();
  const counts = { restored: 1, skipped: 2, total: 3 };
  parts.exchange.on("POST /api/restore", { json: { ...counts, ...WHERE } });
  assertEquals(await restore(parts, "n"), {
    ...counts,
    failed: 0,
    truncated: false,
    ...WHERE,
  });
  const { body, timeoutMs } = parts.exchange.requestTo("POST /api/restore");
  assertEquals(body, { namespace: "n", limit: 10 });
  assertEquals(timeoutMs, 60_000);
});

Deno.test("restore() returns ids and what failed where the relayer tells", async () => {
  const parts = stubParts();
  const json = {
    restored: 1,
    skipped: 2,
    total: 5,
    failed: 1,
    missing: 1,
    truncated: true,
    restored_ids: ["m1"],
    ...WHERE,
  };
  parts.exchange.on("POST /api/restore", { json });
  assertEquals(await restore(parts, "n", 100), json);
});

Deno.test("forget() takes a namespace by its name only", async () => {
  const parts = stubParts();
  const json = { deleted: 3, ...WHERE };
  parts.exchange.on("POST /api/forget", { json });
  assertEquals(await forget(parts, "n"), json);
  for (const wrong of [undefined, "", null, {}]) {
    await assertRejects(() => forget(parts, wrong as string), TypeError);
    await assertRejects(() => restore(parts, wrong as string), TypeError);
  }
  assertEquals(parts.exchange.requests.length, 1);
});

Deno.test("stats() counts the client's namespace when none is named", async () => {
  const parts = stubParts({ namespace: "mine" });
  const json = { memory_count: 3, storage_bytes: 99, ...WHERE };
  parts.exchange.on("POST /api/stats", { json });
  assertEquals(await stats(parts), json);
  await stats(parts, "n");
  assertEquals(
    parts.exchange.requests.map(({ body }) => body),
    [{ namespace: "mine" }, { namespace: "n" }],
  );
});

Deno.test("deleteMemory() deletes one by its id", async () => {
  const parts = stubParts();
  const json = { deleted: true, memory_id: "m1", blob_id: "b1" };
  parts.exchange.on("DELETE /api/memories/m1", { json });
  assertEquals(await deleteMemory(parts, "m1"), json);
});

Deno.test("deleteMemory() says 404 when there is none, and at once when there can be none", async () => {
  const parts = stubParts();
  for (const id of ["m2", "", "..", "a/b", "a?b"]) {
    const error = await assertRejects(() => deleteMemory(parts, id), MemError);
    assertEquals(error.status, 404);
  }
  assertEquals(parts.exchange.requests.map(({ path }) => path), [
    "/api/memories/m2",
  ]);
});
