import {
  assert,
  assertEquals,
  assertStrictEquals,
  assertStringIncludes,
  assertThrows,
} from "@std/assert";
import { machineClock } from "./client_clock.ts";
import { type MemConfig, resolveConfig } from "./config.ts";

const HEX = "07".repeat(32);
const LEAST: MemConfig = { key: HEX, accountId: "0xabc" };

Deno.test("resolveConfig() puts the defaults in", () => {
  const { fetch: _, ...rest } = resolveConfig(LEAST);
  assertEquals(rest, {
    seed: new Uint8Array(32).fill(7),
    accountId: "0xabc",
    serverUrl: "http://localhost:8000",
    namespace: "default",
    ranking: undefined,
    requestTimeoutMs: 30_000,
    recallTimeoutMs: 15_000,
    preflightTimeoutMs: 5_000,
    ledgerNetwork: "mainnet",
    keyServerConfigs: [],
    keyServers: [],
    receiptKeys: undefined,
    clock: machineClock,
  });
});

Deno.test("resolveConfig() keeps what it is given", () => {
  const given = {
    ...LEAST,
    accountId: " 0xabc\n",
    namespace: "work",
    ranking: "fused" as const,
    requestTimeoutMs: 1,
    recallTimeoutMs: 2.5,
    preflightTimeoutMs: 3,
    ledgerNetwork: "testnet",
    keyServerConfigs: [
      { objectId: "0x1" },
      { objectId: "0x2", weight: 2, aggregatorUrl: "https://a.test" },
      { objectId: "0x3", apiKeyName: "x-key", apiKey: "secret" },
    ],
    keyServers: ["0x4"],
    clock: machineClock,
  };
  const resolved = resolveConfig(given);
  assertEquals(resolved.accountId, "0xabc");
  assertEquals(resolved.namespace, "work");
  assertEquals(resolved.ranking, "fused");
  assertEquals(resolved.requestTimeoutMs, 1);
  assertEquals(resolved.recallTimeoutMs, 2.5);
  assertEquals(resolved.preflightTimeoutMs, 3);
  assertEquals(resolved.ledgerNetwork, "testnet");
  assertEquals(resolved.keyServerConfigs, given.keyServerConfigs);
  assertEquals(resolved.keyServers, ["0x4"]);
});

Deno.test("resolveConfig() lets what makes requests be called as no method, as browsers want theirs", async () => {
  const calls: unknown[] = [];
  const answer = new Response();
  const { fetch } = resolveConfig({
    ...LEAST,
    fetch(this: unknown, ...args: readonly unknown[]) {
      calls.push([this, ...args]);
      return Promise.resolve(answer);
    },
  });
  const init = { method: "POST" };
  assertStrictEquals(await fetch("https://a.test", init), answer);
  assertEquals(calls, [[undefined, "https://a.test", init]]);
});

Deno.test("resolveConfig() takes key servers as a list, as an object of ids, and by network", () => {
  const resolveIds = (config: Partial<MemConfig>) =>
    resolveConfig({ ...LEAST, ...config }).keyServers;
  assertEquals(resolveIds({ keyServers: ["0x1", "0x2"] }), ["0x1", "0x2"]);
  assertEquals(resolveIds({ keyServers: { first: "0x1", second: "0x2" } }), [
    "0x1",
    "0x2",
  ]);
  const keyServers = { mainnet: ["0x1"], testnet: ["0x2", "0x3"] };
  assertEquals(resolveIds({ keyServers }), ["0x1"]);
  assertEquals(resolveIds({ keyServers, ledgerNetwork: "testnet" }), [
    "0x2",
    "0x3",
  ]);
  assertEquals(resolveIds({ keyServers: {} }), []);
});

Deno.test("resolveConfig() falls back to a deadline's default when it is no positive, finite number", () => {
  for (const timeout of [0, -1, NaN, Infinity, -Infinity, "5", null]) {
    const resolved = resolveConfig(
      {
        ...LEAST,
        requestTimeoutMs: timeout,
        recallTimeoutMs: timeout,
        preflightTimeoutMs: timeout,
      } as MemConfig,
    );
    assertEquals(resolved.requestTimeoutMs, 30_000);
    assertEquals(resolved.recallTimeoutMs, 15_000);
    assertEquals(resolved.preflightTimeoutMs, 5_000);
  }
});

Deno.test("resolveConfig() takes slashes from the server URL's end", () => {
  for (
    const [given, resolved] of [
      ["http://localhost:8000/", "http://localhost:8000"],
      ["https://Relay.Test", "https://relay.test"],
      ["https://relay.test:443//", "https://relay.test"],
      ["https://relay.test/memory/", "https://relay.test/memory"],
      ["http://[::1]:8000", "http://[::1]:8000"],
    ] as const
  ) {
    assertEquals(
      resolveConfig({ ...LEAST, serverUrl: given }).serverUrl,
      resolved,
    );
  }
});

Deno.test("resolveConfig() says what is wrong and shows no secret", () => {
  const faults: readonly (readonly [unknown, string])[] = [
    [undefined, "needs an object"],
    [null, "needs an object"],
    [{}, "key is missing"],
    [{ accountId: "0xabc" }, "key is missing"],
    [{ key: HEX }, "accountId is missing"],
    [{ ...LEAST, accountId: "" }, "accountId is missing"],
    [{ ...LEAST, accountId: 7 }, "accountId is not text"],
    [{ ...LEAST, accountId: "0x\r\nx-a: b" }, "accountId is not an object id"],
    [{ ...LEAST, accountId: "ä" }, "accountId is not an object id"],
    [{ ...LEAST, key: "07" }, "private key"],
    [{ ...LEAST, key: 7 }, "private key"],
    [{ ...LEAST, key: { sign: () => {} } }, "no publicKey of 32 bytes"],
    [
      { ...LEAST, key: { publicKey: new Uint8Array(32), sign: 1 } },
      "no function sign",
    ],
    [{ ...LEAST, serverUrl: "" }, "serverUrl is empty"],
    [{ ...LEAST, serverUrl: "localhost:8000" }, "neither http: nor https:"],
    [{ ...LEAST, serverUrl: "relay.test" }, "serverUrl is not a URL"],
    [{ ...LEAST, serverUrl: "ftp://relay.test" }, "neither http: nor https:"],
    [{ ...LEAST, serverUrl: "http://u:hush@relay.test" }, "password"],
    [{ ...LEAST, serverUrl: "http://relay.test/?a=hush" }, '"?"'],
    [{ ...LEAST, serverUrl: "http://relay.test/#hush" }, '"#"'],
    [{ ...LEAST, namespace: "" }, "namespace is empty"],
    [{ ...LEAST, namespace: 5 }, "namespace is not text"],
    [{ ...LEAST, ledgerNetwork: 5 }, "ledgerNetwork is not text"],
    [{ ...LEAST, keyServers: "0x1" }, "keyServers is neither a list nor an"],
    [{ ...LEAST, keyServers: { a: 1 } }, "keyServers.a is not text"],
    [
      { ...LEAST, keyServers: { testnet: ["0x1"] } },
      'keyServers has none for ledgerNetwork "mainnet"',
    ],
    [
      { ...LEAST, keyServers: { mainnet: [1] } },
      "keyServers.mainnet is not te",
    ],
    [
      { ...LEAST, keyServers: { mainnet: "0x1", testnet: ["0x2"] } },
      "keyServers.mainnet is not a list",
    ],
    [{ ...LEAST, keyServers: [1] }, "keyServers is not text"],
    [
      { ...LEAST, keyServerConfigs: [null] },
      "keyServerConfigs[0] is not an obj",
    ],
    [{ ...LEAST, keyServerConfigs: [{}] }, "keyServerConfigs[0].objectId"],
    [
      { ...LEAST, keyServerConfigs: [{ objectId: "0x1", weight: 0 }] },
      "keyServerConfigs[0].weight",
    ],
    [{ ...LEAST, fetch: "fetch" }, "fetch is not a function"],
  ];
  for (const [config, state] of faults) {
    const error = assertThrows(
      () => resolveConfig(config as MemConfig),
      TypeError,
    );
    assertStringIncludes(error.message, state);
    assert(!/0707|hush/.test(error.message), error.message);
  }
});
