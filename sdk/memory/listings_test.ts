import { assertEquals, assertRejects } from "@std/assert";
import { MemError } from "./errors.ts";
import { listMemories, listNamespaces } from "./listings.ts";
import { type StubParts, stubParts } from "./testing/stub_parts.ts";

const NAMESPACE = {
  id: "n",
  name: "n",
  memory_count: 2,
  storage_used: 99,
  updated_at: "2026-07-01T00:00:00Z",
};
const MEMORY = {
  memory_id: "m1",
  namespace_id: "n",
  blob_id: "b1",
  created_at: "2026-07-01T00:00:00Z",
  updated_at: "2026-07-01T00:00:00Z",
  size: 99,
  agent_id: "ab",
  package_id: null,
  status: "active",
  end_epoch: null,
  expires_at: null,
  importance: 0.5,
};
const PAGE = { next_cursor: "c2", has_more: true, snapshot_version: 2 };
const DELETED = { memory_id: "m0", namespace_id: "n", deleted_at: "x" };

function partsWith(listing: string, json: object): StubParts {
  const parts = stubParts();
  parts.exchange
    .on("GET /api/whoami", {
      json: { account_id: "0xa", owner: "0x1", package_id: "0x2" },
    })
    .on(`GET /v1/owners/0x1/${listing}`, { json });
  return parts;
}

Deno.test("listNamespaces() lists those of the owner", async () => {
  const json = { namespaces: [NAMESPACE], ...PAGE };
  const parts = partsWith("namespaces", json);
  assertEquals(await listNamespaces(parts), json);
  await listNamespaces(parts, { cursor: "a+b/c=", limit: 7 });
  assertEquals(parts.exchange.requests.map(({ path }) => path), [
    "/api/whoami",
    "/v1/owners/0x1/namespaces",
    "/v1/owners/0x1/namespaces?updated_after=a%2Bb%2Fc%3D&limit=7",
  ]);
});

Deno.test("listMemories() lists memories and what was deleted", async () => {
  const json = {
    memories: [MEMORY, { ...MEMORY, supersedes: "m0", superseded_by: "m2" }],
    ...PAGE,
    next_cursor: null,
    deleted: [DELETED],
    must_resync: true,
  };
  assertEquals(await listMemories(partsWith("memories", json)), json);
});

Deno.test("listMemories() chooses a namespace after the page arrived", async () => {
  const other = { ...MEMORY, namespace_id: "other" };
  const parts = partsWith("memories", {
    memories: [other, MEMORY, other],
    ...PAGE,
    deleted: [DELETED, { ...DELETED, namespace_id: "other" }],
    must_resync: false,
  });
  const page = await listMemories(parts, { namespace: "n", limit: 3 });
  assertEquals(page.memories, [MEMORY]);
  assertEquals(page.deleted, [DELETED]);
  assertEquals(page.has_more, true);
  assertEquals(
    parts.exchange.requests.at(-1)?.path,
    "/v1/owners/0x1/memories?limit=3",
  );
  const empty = await listMemories(parts, { namespace: "none" });
  assertEquals([empty.memories, empty.has_more], [[], true]);
});

Deno.test("listMemories() reads relayers that keep no tombstones", async () => {
  const parts = partsWith("memories", { memories: [], ...PAGE });
  const { deleted, must_resync } = await listMemories(parts);
  assertEquals([deleted, must_resync], [[], false]);
});

Deno.test("listMemories() sends nothing when an argument is wrong", async () => {
  const parts = stubParts();
  for (
    const wrong of [{ limit: NaN }, { limit: "3" }, { cursor: 1 }, {
      namespace: "",
    }]
  ) {
    await assertRejects(() => listMemories(parts, wrong as never), TypeError);
  }
  assertEquals(parts.exchange.requests, []);
});

Deno.test("OwnerLookup.address() asks once for all who ask", async () => {
  const { owner, exchange } = partsWith("memories", {});
  const addresses = [owner.address(), owner.address()];
  assertEquals(await Promise.all(addresses), ["0x1", "0x1"]);
  assertEquals(await owner.address(), "0x1");
  assertEquals(exchange.requests.length, 1);
});

Deno.test("OwnerLookup.address() asks again after a failure", async () => {
  const { owner, exchange } = stubParts();
  exchange.on("GET /api/whoami", { status: 503 }, { json: { owner: "0x1" } });
  await assertRejects(() => owner.address(), MemError);
  assertEquals(await owner.address(), "0x1");
});

Deno.test("OwnerLookup.address() asks relayers without that route otherwise", async () => {
  const { owner, exchange } = stubParts({ namespace: "n" });
  exchange.on("POST /api/stats", { json: { owner: "0x1" } });
  assertEquals(await owner.address(), "0x1");
  assertEquals(exchange.requestTo("POST /api/stats").body, { namespace: "n" });
});

Deno.test("OwnerLookup.whoami() tells account, owner and package", async () => {
  const { owner } = partsWith("memories", {});
  assertEquals(await owner.whoami(), {
    account_id: "0xa",
    owner: "0x1",
    package_id: "0x2",
  });
});
