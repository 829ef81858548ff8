import { assertEquals, assertRejects, assertThrows } from "@std/assert";
import { createAccessToken } from "./access_token.ts";
import type { MemConfig, MemTokenConfig } from "./config.ts";
import { Mem } from "./mem.ts";
import { MemMock } from "../testing.ts";

const CLOCK = {
  nowMs: () => 1_800_000_000_000,
  setTimer: () => ({ cancel() {} }),
};

async function setUp(
  options: Partial<Parameters<typeof createAccessToken>[0]> = {},
) {
  const mock = MemMock.create({ clock: CLOCK });
  const { key, accountId, fetch, serverUrl } = mock.config;
  const { token } = await createAccessToken({
    ...{ key, accountId, access: "write", clock: CLOCK },
    ...options,
  });
  const config = { accessToken: token, fetch, serverUrl, clock: CLOCK };
  return { mock, token, config, mem: Mem.create(config as MemTokenConfig) };
}

Deno.test("Mem with an access token remembers, recalls and lists", async () => {
  const { mock, mem } = await setUp({ namespaces: ["habits"] });
  const { namespace } = await mem.rememberAndWait("Ada drinks tea");
  assertEquals(namespace, "habits");
  await mock.mem.rememberAndWait("Ada lives in London", "places");
  const { results } = await mem.recall({ query: "tea" });
  assertEquals(results.map(({ text }) => text), ["Ada drinks tea"]);
  const { memories } = await mem.listMemories();
  assertEquals(memories.map(({ namespace_id }) => namespace_id), ["habits"]);
  const { namespaces } = await mem.listNamespaces();
  assertEquals(namespaces.map(({ name }) => name), ["habits"]);
  assertEquals(await mem.getPublicKeyHex(), await mock.mem.getPublicKeyHex());
});

Deno.test("Mem sends no request that its access token does not permit", async () => {
  const { mock, mem } = await setUp({ access: "read", namespaces: ["a", "b"] });
  const readOnly = "may only read";
  const cases: readonly (readonly [() => Promise<unknown>, string])[] = [
    [() => mem.remember("x", "a"), readOnly],
    [() => mem.rememberBulk([{ text: "x", namespace: "a" }]), readOnly],
    [() => mem.analyze("x", "a"), readOnly],
    [() => mem.forget("a"), readOnly],
    [() => mem.restore("a"), readOnly],
    [() => mem.deleteMemory("m1"), readOnly],
    [
      () =>
        mem.rememberManual({
          encryptedData: Uint8Array.of(1),
          vector: [1],
          namespace: "a",
        }),
      readOnly,
    ],
    [() => mem.recall("x"), 'not for namespace "default"'],
    [() => mem.ask("x", "c"), 'not for namespace "c"'],
    [() => mem.stats("c"), 'not for namespace "c"'],
  ];
  for (const [call, told] of cases) await assertRejects(call, Error, told);
  const sent = mock.requests.map(({ path }) => path);
  assertEquals(sent.filter((path) => path !== "/version"), []);
  const { results } = await mem.recall({ query: "x", namespace: "b" });
  assertEquals(results, []);
});

Deno.test("Mem sends no request with an access token that has expired", async () => {
  const { mock, config } = await setUp({ expiresInMs: 60_000 });
  const late = { ...CLOCK, nowMs: () => CLOCK.nowMs() + 360_000 };
  const mem = Mem.create({ ...config, clock: late } as MemTokenConfig);
  await assertRejects(() => mem.recall("x"), Error, "expired at 2027-01-15T");
  assertEquals(mock.requests, []);
});

Deno.test("Mem.create() takes a key or an access token, and not both", async () => {
  const { token } = await setUp();
  const both = { accessToken: token, key: "07".repeat(32), accountId: "0xa" };
  assertThrows(
    () => Mem.create(both as unknown as MemConfig),
    TypeError,
    "takes the place of key",
  );
  const named = { accessToken: token, accountId: "0xa" };
  assertThrows(
    () => Mem.create(named as unknown as MemTokenConfig),
    TypeError,
    "takes the place of key and accountId",
  );
  const error = assertThrows(
    () => Mem.create({ accessToken: "eyJ.secret.x" }),
    TypeError,
  );
  assertEquals(error.message.includes("secret"), false);
});

Deno.test("Mem says that key servers need the delegate's key", async () => {
  const { mock, config } = await setUp();
  const fetch: MemConfig["fetch"] = async (url, init) => {
    const answer = await mock.config.fetch?.(url, init) ?? new Response();
    if (!url.endsWith("/version")) return answer;
    const contract = await answer.json();
    contract.featureFlags["auth.sealSessionRequired"] = true;
    return Response.json(contract);
  };
  const mem = Mem.create({ ...config, fetch } as MemTokenConfig);
  await assertRejects(() => mem.recall("x"), Error, "behind key servers");
  await mem.remember("Ada drinks tea");
});
