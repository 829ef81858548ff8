import {
  assert,
  assertEquals,
  assertMatch,
  assertRejects,
  assertStrictEquals,
  assertThrows,
} from "@std/assert";
import type { MemConfig } from "./config.ts";
import {
  MemCompatibilityError,
  MemDestroyedError,
  RememberJobNotFound,
} from "./errors.ts";
import { Mem } from "./mem.ts";
import { STUB_VERSION, StubRelayer } from "./testing/stub_relayer.ts";

const KEY = "07".repeat(32);
const PUBLIC_KEY =
  "ea4a6c63e29c520abef5507b132ec5f9954776aebebe7b92421eea691446d22c";
const ACCEPTED = { status: 202, json: { job_id: "j1", status: "running" } };

function createClient(
  { fetch }: StubRelayer,
  config: Partial<MemConfig> = {},
): Mem {
  return Mem.create({ key: KEY, accountId: "0xa", fetch, ...config });
}

Deno.test("Mem.create() returns a client at once and asks nothing", () => {
  const relayer = new StubRelayer();
  const mem = createClient(relayer);
  assert(mem instanceof Mem);
  assertEquals(relayer.requests, []);
  mem.destroy();
  assertThrows(() => Mem.create({ key: "x", accountId: "0xa" }), TypeError);
});

Deno.test("Mem signs what it sends, after one look at the version", async () => {
  const relayer = new StubRelayer().on("POST /api/remember", ACCEPTED);
  await using mem = createClient(relayer);
  assertEquals(await mem.getPublicKeyHex(), PUBLIC_KEY);
  await Promise.all([mem.remember("tea"), mem.rememberAsync("coffee")]);
  assertEquals(relayer.requestsTo("GET /version").length, 1);
  const [first] = relayer.requestsTo("POST /api/remember");
  assertEquals(first?.headers.get("x-public-key"), PUBLIC_KEY);
  assertEquals(first?.headers.get("x-account-id"), "0xa");
  assertMatch(first?.headers.get("x-signature") ?? "", /^[0-9a-f]{128}$/);
});

Deno.test("Mem.remember() takes a namespace, options, or both", async () => {
  const relayer = new StubRelayer().on("POST /api/remember", ACCEPTED);
  await using mem = createClient(relayer);
  const idempotencyKey = "k";
  await mem.remember("tea", "n", { idempotencyKey });
  await mem.remember("tea", { namespace: "n", idempotencyKey });
  await mem.remember("tea", undefined, { idempotencyKey });
  await mem.remember("tea", { idempotencyKey });
  const expected = (namespace: string) => ({
    text: "tea",
    namespace,
    idempotency_key: "k",
  });
  assertEquals(
    relayer.requestsTo("POST /api/remember").map(({ body }) => body),
    ["n", "n", "default", "default"].map(expected),
  );
  await assertRejects(() => mem.remember("tea", 5 as never), TypeError);
});

Deno.test("Mem.recall() rejects a namespace in place of the limit before anything is sent", async () => {
  const relayer = new StubRelayer();
  await using mem = createClient(relayer);
  await assertRejects(() => mem.recall("q", "n" as never), TypeError);
  assertEquals(relayer.requests, []);
});

Deno.test("Mem checks the relayer before the first signed request", async () => {
  const relayer = new StubRelayer().on("GET /version", {
    json: { ...STUB_VERSION, apiVersion: "2.0.0" },
  });
  await using mem = createClient(relayer);
  await assertRejects(() => mem.remember("tea"), MemCompatibilityError);
  await assertRejects(
    () => mem.waitForRememberJob("j1"),
    MemCompatibilityError,
  );
  assertEquals(new Set(relayer.requests.map(({ route }) => route)).size, 1);
});

Deno.test("Mem lets a relayer that says it can hold the status back", async () => {
  const relayer = new StubRelayer()
    .on("GET /version", {
      json: {
        ...STUB_VERSION,
        featureFlags: { "remember.statusWait": true },
      },
    })
    .on("GET /api/remember/j1", {
      json: { job_id: "j1", status: "done", blob_id: "b1" },
    });
  await using mem = createClient(relayer);
  await mem.waitForRememberJob("j1");
  const { path } = relayer.requestTo("GET /api/remember/j1");
  assertEquals(path, "/api/remember/j1?wait=20");
  assertEquals(relayer.requestsTo("GET /version").length, 1);
});

Deno.test("Mem tells a relayer of its ranking if that offers rankings, and asks for that once", async () => {
  for (const isOffered of [true, false]) {
    const relayer = new StubRelayer()
      .on("GET /version", {
        json: {
          ...STUB_VERSION,
          featureFlags: { "recall.ranking": isOffered },
        },
      })
      .on("POST /api/recall", { json: { results: [], total: 0 } });
    await using mem = createClient(relayer, { ranking: "fused" });
    await Promise.all([mem.recall("q"), mem.recall("q", { explain: true })]);
    await mem.recall("q", { ranking: "semantic" });
    const told = relayer.requestsTo("POST /api/recall")
      .map(({ body }) => Object(body))
      .map(({ ranking, explain }) => [ranking, explain])
      // Two requests that run in parallel arrive in either order.
      .sort(([, one], [, other]) =>
        Number(one === true) - Number(other === true)
      );
    const none = [undefined, undefined];
    assertEquals(
      told,
      isOffered
        ? [["fused", undefined], ["semantic", undefined], ["fused", true]]
        : [none, none, none],
    );
    assertEquals(relayer.requestsTo("GET /version").length, 1);
  }
});

Deno.test("Mem.recall() with a ranking fails as the request would when the relayer does not fit", async () => {
  const relayer = new StubRelayer().on("GET /version", {
    json: { ...STUB_VERSION, apiVersion: "2.0.0" },
  });
  await using mem = createClient(relayer, { ranking: "fused" });
  await assertRejects(() => mem.recall("q"), MemCompatibilityError);
  await assertRejects(() => mem.ask("q"), MemCompatibilityError);
  assertEquals(relayer.requestsTo("POST /api/recall"), []);
});

Deno.test("Mem.waitForRememberJob() rejects an id that no job can have", async () => {
  const relayer = new StubRelayer();
  await using mem = createClient(relayer);
  const error = await assertRejects(
    () => mem.waitForRememberJob("a b"),
    RememberJobNotFound,
  );
  assertEquals(error.status, 404);
  assertEquals(relayer.requests, []);
});

Deno.test("Mem.destroy() ends what is under way and every later call", async () => {
  const relayer = new StubRelayer().on("GET /api/remember/j1", {
    json: { job_id: "j1", status: "running" },
  });
  const mem = createClient(relayer);
  const first = Promise.withResolvers<void>();
  relayer.on("GET /api/remember/j1", () => {
    first.resolve();
    return { json: { job_id: "j1", status: "running" } };
  });
  const waiting = assertRejects(
    () => mem.waitForRememberJob("j1"),
    MemDestroyedError,
  );
  await first.promise;
  mem.destroy();
  mem.destroy();
  await waiting;
  const calls: (() => Promise<unknown>)[] = [
    () => mem.remember("t"),
    () => mem.rememberAsync("t"),
    () => mem.rememberAndWait("t"),
    () => mem.getRememberStatus("a b"),
    () => mem.waitForRememberJob("a b"),
    () => mem.rememberBulk([{ text: "t" }]),
    () => mem.rememberBulkAsync([{ text: "t" }]),
    () => mem.rememberBulkAndWait([{ text: "t" }]),
    () => mem.getRememberBulkStatus([]),
    () => mem.waitForRememberJobs([]),
    () => mem.recall("q"),
    () => mem.analyze("t"),
    () => mem.analyzeAndWait("t"),
    () => mem.ask("q"),
    () => mem.restore("n"),
    () => mem.forget("n"),
    () => mem.deleteMemory("m"),
    () => mem.stats(),
    () => mem.whoami(),
    () => mem.listNamespaces(),
    () => mem.listMemories(),
    () => mem.health(),
    () => mem.compatibility(),
    () => mem.getPublicKeyHex(),
    () => mem.rememberManual({ encryptedData: Uint8Array.of(1), vector: [1] }),
    () => mem.recallManual({ vector: [1] }),
    () => mem.embed("t"),
  ];
  const requests = relayer.requests.length;
  for (const call of calls) await assertRejects(call, MemDestroyedError);
  assertEquals(relayer.requests.length, requests);
});

Deno.test("Mem.compatibility() and Mem.health() sign nothing", async () => {
  const relayer = new StubRelayer().on("GET /health", {
    json: { status: "ok", version: "0.1.0" },
  });
  await using mem = createClient(relayer);
  assertEquals((await mem.compatibility()).apiVersion, "1.0.0");
  assertEquals((await mem.health()).status, "ok");
  for (const { headers } of relayer.requests) {
    assertStrictEquals(headers.get("x-signature"), null);
  }
});

Deno.test("Mem.countTokens() needs no relayer", () => {
  const mem = createClient(new StubRelayer());
  assertEquals(mem.countTokens("Ada drinks tea"), 4);
  mem.destroy();
});
