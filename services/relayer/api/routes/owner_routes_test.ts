import { assert, assertEquals } from "@std/assert";
import { FakeClock } from "../../../../tests/support/fake_clock.ts";
import { OwnerTokens } from "../../auth/owner_tokens.ts";
import { addressOfPublicKey } from "../../ledger/ledger_id.ts";
import { storeSample } from "../testing/sample_rows.ts";
import { ANN, BEN } from "../testing/test_parts.ts";
import { openTestRelayer, type TestAnswer } from "../testing/test_relayer.ts";
import { encodeCursor, readPageQuery } from "./owner_routes.ts";
import { SeededRandom } from "../../../../tests/support/seeded_random.ts";

const CREDENTIAL = "a-credential-that-is-long-enough";

Deno.test("listing of memories shows rows as clients know them", async () => {
  const relayer = openTestRelayer();
  const row = await storeSample(relayer, ANN, { id: "m1" });
  await storeSample(relayer, ANN, { id: "m2", supersedes: "m1" });
  const { owner } = ANN;
  await relayer.store.commit([
    { kind: "supersede", owner, id: "m1", supersededBy: "m2" },
  ]);
  const { status, json } = await relayer.call("GET", listing("memories"));
  assertEquals(status, 200);
  const { memories, next_cursor, ...rest } = json as {
    memories: readonly Record<string, unknown>[];
    next_cursor: string;
  };
  assertEquals(memories.map(({ memory_id }) => memory_id), ["m2", "m1"]);
  assertEquals(memories[1], {
    memory_id: "m1",
    namespace_id: "default",
    blob_id: row.blobId,
    created_at: "2023-11-14T22:13:20.000Z",
    updated_at: "2027-01-15T08:00:00.000Z",
    size: row.sizeBytes,
    agent_id: ANN.publicKey,
    package_id: null,
    status: "superseded",
    end_epoch: null,
    expires_at: null,
    importance: 0.5,
    superseded_by: "m2",
  });
  assertEquals(memories[0]?.["status"], "active");
  assertEquals(memories[0]?.["supersedes"], "m1");
  assert(/^[A-Za-z0-9_-]+$/.test(next_cursor));
  assertEquals(rest, {
    has_more: false,
    snapshot_version: 2,
    deleted: [],
    must_resync: false,
  });
});

Deno.test("listing of memories goes on where the cursor says, to the end and beyond", async () => {
  const relayer = openTestRelayer();
  for (let place = 1; place <= 5; place++) {
    await storeSample(relayer, ANN, { id: `m${place}` });
  }
  const empty = await relayer.call(
    "GET",
    `/v1/owners/${BEN.owner}/memories`,
    { as: "ben" },
  );
  assertEquals(getCursor(empty), null);
  const seen: string[] = [];
  let cursor: string | null = null;
  let pages = 0;
  for (;;) {
    const query: string = cursor === null ? "" : `&updated_after=${cursor}`;
    const page = await relayer.call(
      "GET",
      `${listing("memories")}?limit=2${query}`,
    );
    seen.push(...listIds(page));
    cursor = getCursor(page);
    assert(cursor !== null);
    pages++;
    if (!(page.json as { has_more: boolean }).has_more) break;
  }
  assertEquals([pages, seen], [3, ["m1", "m2", "m3", "m4", "m5"]]);
  const quiet = await relayer.call(
    "GET",
    `${listing("memories")}?updated_after=${cursor}`,
  );
  assertEquals([listIds(quiet), getCursor(quiet)], [[], cursor]);
  await relayer.call("DELETE", "/api/memories/m2");
  const { json } = await relayer.call(
    "GET",
    `${listing("memories")}?updated_after=${cursor}`,
  );
  assertEquals((json as { deleted: unknown }).deleted, [{
    memory_id: "m2",
    namespace_id: "default",
    deleted_at: "2027-01-15T08:00:00.000Z",
  }]);
});

Deno.test("listing of memories says when the client has to begin anew", async () => {
  const { call, store } = openTestRelayer();
  store.mustResync = true;
  const { json } = await call("GET", listing("memories"));
  assertEquals((json as { must_resync: boolean }).must_resync, true);
});

Deno.test("listing of namespaces sums what is in them", async () => {
  const relayer = openTestRelayer();
  const a = await storeSample(relayer, ANN, { id: "m1", namespace: "a" });
  const b = await storeSample(relayer, ANN, { id: "m2", namespace: "b" });
  const first = await relayer.call("GET", `${listing("namespaces")}?limit=1`);
  const entry = (name: string, bytes: number): unknown => ({
    id: name,
    name,
    memory_count: 1,
    storage_used: bytes,
    updated_at: "2027-01-15T08:00:00.000Z",
  });
  const cursor = getCursor(first);
  assertEquals(first.json, {
    namespaces: [entry("a", a.sizeBytes)],
    next_cursor: cursor,
    has_more: true,
    snapshot_version: 2,
  });
  const path = `${listing("namespaces")}?updated_after=${cursor}`;
  const second = await relayer.call("GET", path);
  assertEquals((second.json as { namespaces: unknown }).namespaces, [
    entry("b", b.sizeBytes),
  ]);
  const other = `${listing("memories")}?updated_after=${cursor}`;
  assertEquals((await relayer.call("GET", other)).status, 400);
});

Deno.test("listing of agents names delegates, those that were removed too", async () => {
  const relayer = openTestRelayer();
  await storeSample(relayer, ANN, { id: "m1" });
  await storeSample(relayer, ANN, { id: "m2", agentId: BEN.publicKey });
  const { json } = await relayer.call("GET", listing("agents"));
  assertEquals(json, {
    agents: [
      {
        label: "laptop",
        sui_address: `0x${"a4".repeat(32)}`,
        agent_id: ANN.publicKey,
      },
      {
        label: "",
        sui_address: addressOfPublicKey(BEN.publicKey),
        agent_id: BEN.publicKey,
      },
    ],
    snapshot_version: 2,
  });
  assertEquals(relayer.spent.map(({ points }) => points), [2]);
  relayer.models.account = { kind: "unavailable", reason: "away" };
  const away = await relayer.call("GET", listing("agents"));
  assertEquals(away.status, 503);
});

Deno.test("listings take the owner's address however it is written", async () => {
  const { call } = openTestRelayer();
  const upper = `0x${ANN.owner.slice(2).toUpperCase()}`;
  assertEquals((await call("GET", `/v1/owners/${upper}/memories`)).status, 200);
  for (const owner of ["me", "0x", "..", ANN.owner.slice(0, -2)]) {
    const { status } = await call("GET", `/v1/owners/${owner}/memories`);
    assertEquals(status, 403, owner);
  }
});

Deno.test("owner tokens open the listings of their owner until they end", async () => {
  const clock = new FakeClock();
  const ownerTokens = new OwnerTokens({ clock, credential: CREDENTIAL });
  const { call, spent } = openTestRelayer({ ownerTokens });
  const made = await call("POST", "/v1/owner-tokens", {
    as: "nobody",
    headers: { "x-service-credential": CREDENTIAL },
    body: { owner: ANN.owner },
  });
  assertEquals(made.status, 200);
  const { token, expires_at, permissions } = made.json as {
    token: string;
    expires_at: string;
    permissions: readonly string[];
  };
  assertEquals(Date.parse(expires_at), clock.nowMs() + 900_000);
  assertEquals(permissions.length, 3);
  const bearer = {
    as: "nobody",
    headers: { authorization: `Bearer ${token}` },
  } as const;
  for (const name of ["namespaces", "memories", "agents"]) {
    assertEquals((await call("GET", listing(name), bearer)).status, 200);
  }
  assertEquals(spent.map(({ points }) => points), [1, 1, 2]);
  const others = `/v1/owners/${BEN.owner}/memories`;
  assertEquals((await call("GET", others, bearer)).status, 403);
  assertEquals((await call("GET", "/api/whoami", bearer)).status, 401);
  clock.advance(900_000);
  const over = await call("GET", listing("memories"), bearer);
  assertEquals([over.status, over.text], [401, ""]);
  assertEquals(over.headers["x-auth-error"], "ERR_OWNER_TOKEN");
});

Deno.test("owner tokens are for who knows the credential", async () => {
  const ownerTokens = new OwnerTokens({
    clock: new FakeClock(),
    credential: CREDENTIAL,
  });
  const { call } = openTestRelayer({ ownerTokens });
  const good = { "x-service-credential": CREDENTIAL };
  const cases = [
    [{}, { owner: ANN.owner }, 401],
    [{ "x-service-credential": "wrong" }, { owner: ANN.owner }, 401],
    [{ "x-service-credential": "wrong" }, "{", 401],
    [good, "{", 400],
    [good, {}, 400],
    [good, { owner: "me" }, 400],
  ] as const;
  for (const [headers, body, status] of cases) {
    const answer = await call("POST", "/v1/owner-tokens", {
      as: "nobody",
      headers,
      body,
    });
    assertEquals(answer.status, status, JSON.stringify(body));
    assertEquals(answer.text === "", status === 401);
  }
  const off = openTestRelayer();
  const none = await off.call("POST", "/v1/owner-tokens", {
    as: "nobody",
    headers: good,
    body: { owner: ANN.owner },
  });
  assertEquals([none.status, none.text], [401, ""]);
});

function listing(name: string): string {
  return `/v1/owners/${ANN.owner}/${name}`;
}

function getCursor({ json }: TestAnswer): string | null {
  return (json as { next_cursor: string | null }).next_cursor;
}

function listIds({ json }: TestAnswer): readonly string[] {
  const { memories } = json as {
    memories: readonly { readonly memory_id: string }[];
  };
  return memories.map(({ memory_id }) => memory_id);
}

Deno.test("readPageQuery() gives back what encodeCursor() took", () => {
  const random = new SeededRandom(3);
  for (let round = 0; round < 500; round++) {
    const position = { change: random.below(2 ** 50) };
    const cursor = encodeCursor("memories", position);
    assert(/^[A-Za-z0-9_-]+$/.test(cursor), cursor);
    assertEquals(decodeCursor("memories", cursor), position);
    assertEquals(decodeCursor("namespaces", cursor), undefined);
  }
});

Deno.test("readPageQuery() takes no other cursor", () => {
  const texts = [
    "null",
    "[]",
    "5",
    "{}",
    '{"listing":"memories"}',
    '{"listing":"memories","change":"5"}',
    '{"listing":"memories","change":-1}',
    '{"listing":"memories","change":1.5}',
    '{"listing":"memories","change":1e300}',
    '{"listing":"memories","change":null}',
  ];
  for (const text of texts) {
    const cursor = btoa(text).replaceAll("=", "");
    assertEquals(decodeCursor("memories", cursor), undefined, text);
  }
  for (const cursor of ["", "=", "a b", "ä", "x".repeat(257)]) {
    assertEquals(decodeCursor("memories", cursor), undefined, cursor);
  }
});

Deno.test("readPageQuery() has 100 items and the first page by default", () => {
  assertEquals(readPageQuery("memories", ""), {
    kind: "ok",
    page: { limit: 100, after: undefined, cursor: undefined },
  });
});

Deno.test("readPageQuery() gives no more than 500 items", () => {
  const limits = [["1", 1], ["500", 500], ["501", 500], ["007", 7], [
    "9".repeat(30),
    500,
  ]] as const;
  for (const [text, limit] of limits) {
    const read = readPageQuery("memories", `limit=${text}`);
    assertEquals(read.kind === "ok" && read.page.limit, limit, text);
  }
});

Deno.test("readPageQuery() reads the cursor of its listing", () => {
  const cursor = encodeCursor("memories", { change: 7 });
  const query = `updated_after=${cursor}&other=1`;
  const read = readPageQuery("memories", query);
  assertEquals(read.kind === "ok" && read.page, {
    limit: 100,
    after: { change: 7 },
    cursor,
  });
  assertEquals(readPageQuery("namespaces", query).kind, "refused");
});

/**
 * Returns the position after which the cursor's page begins; undefined when the
 * cursor is refused.
 */
function decodeCursor(listing: "memories" | "namespaces", cursor: string) {
  const query = new URLSearchParams({ updated_after: cursor });
  const read = readPageQuery(listing, `${query}`);
  return read.kind === "ok" ? read.page.after : undefined;
}
