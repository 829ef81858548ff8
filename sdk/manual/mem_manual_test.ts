import { assert, assertEquals, assertRejects, assertThrows } from "@std/assert";
import { SeededRandom } from "../../tests/support/seeded_random.ts";
import { messageSigner } from "../vault/session_key.ts";
import { encryptForIdentity } from "../vault/threshold_encryption.ts";
import { delegateKeyToSuiAddress } from "../memory/private_key.ts";
import { MemDestroyedError } from "../memory/errors.ts";
import { MemKeyServerError, MemLedgerError } from "./manual_errors.ts";
import type { DroppedMemory } from "./manual_results.ts";
import { MemManual } from "./mem_manual.ts";
import { buildIdentity } from "./memory_identity.ts";
import {
  isSeen,
  ManualWorld,
  OWNER_KEY,
  PACKAGE_ID,
  wordVector,
} from "./testing/manual_world.ts";

const TEA = "Ada drinks tea";
const PIANO = "Grandmother hides marzipan under the piano";

Deno.test("MemManual remembers and recalls, and the relayer gets nothing that it can read", async () => {
  const world = await ManualWorld.open();
  await using mem = MemManual.create(world.clientConfig());
  assertEquals(mem.isWalletMode, false);
  const made = await mem.rememberManual(TEA);
  assertEquals([made.id, made.namespace], ["m1", "default"]);
  await mem.rememberManual(PIANO);
  await mem.rememberManual("Ada plays the piano", "music");
  const found = await mem.recallManual("piano?", 5);
  assertEquals(found.results.map(({ text }) => text), [PIANO, TEA]);
  assertEquals([found.total, found.dropped], [2, []]);
  const [first] = found.results;
  assertEquals([first?.id, first?.blob_id], ["m2", "b-m2"]);
  assertEquals(first?.created_at, "2026-07-01T00:00:00.000Z");
  const music = await mem.recallManual("piano", { namespace: "music" });
  assertEquals(music.results.map(({ text }) => text), ["Ada plays the piano"]);
  assert(!isSeen(world, "marzipan") && !isSeen(world, "Ada"));
  assert(isSeen(world, "music"), "the search is able to find");
});

Deno.test("recallManual() asks key servers once for all memories, and not again for known ones", async () => {
  const world = await ManualWorld.open();
  await using mem = MemManual.create(world.clientConfig());
  for (const text of [TEA, PIANO, "coffee"]) await mem.rememberManual(text);
  await mem.recallManual("tea");
  await mem.recallManual("coffee");
  assertEquals(world.keyServers.requests, [1, 1, 1]);
  // Removing a delegate's key changes the identity, so another key is
  // requested.
  world.account.accessCounter = 1n;
  await mem.rememberManual("London");
  assertEquals((await mem.recallManual("london", 9)).total, 4);
  assertEquals(world.keyServers.requests, [2, 2, 2]);
});

Deno.test("recallManual() needs a threshold of key servers, and says how many gave keys", async () => {
  const world = await ManualWorld.open();
  const open = () => MemManual.create(world.clientConfig());
  await using writer = open();
  await writer.rememberManual(TEA);
  world.keyServers.setFault(0, "down");
  {
    await using mem = open();
    assertEquals((await mem.recallManual("tea")).results[0]?.text, TEA);
  }
  world.keyServers.setFault(2, "false keys");
  await using mem = open();
  const error = await assertRejects(
    () => mem.recallManual("tea"),
    MemKeyServerError,
    "Cannot decrypt memories: 1 of 3 key servers gave keys and 2 shares are",
  );
  assertEquals([error.isPassing, error.answered, error.total], [true, 1, 3]);
  assertEquals(error.failures.map(({ kind }) => kind).sort(), [
    "unavailable",
    "wrong",
  ]);
  world.keyServers.setFault(2, undefined);
  assertEquals((await mem.recallManual("tea")).total, 1);
});

Deno.test("recallManual() is refused to a delegate that was removed", async () => {
  const world = await ManualWorld.open();
  await using mem = MemManual.create(world.clientConfig());
  await mem.rememberManual(TEA);
  world.account.delegates = [];
  const error = await assertRejects(
    () => mem.recallManual("tea"),
    MemKeyServerError,
  );
  assertEquals([error.isPassing, error.answered], [false, 0]);
  await using owner = MemManual.create(
    world.clientConfig({ suiPrivateKey: OWNER_KEY }),
  );
  assertEquals((await owner.recallManual("tea")).results[0]?.text, TEA);
});

Deno.test("recallManual() drops and tells of what cannot be decrypted, and gives the rest", async () => {
  const world = await ManualWorld.open();
  const told: DroppedMemory[] = [];
  await using mem = MemManual.create(world.clientConfig({
    onDecryptError(memory) {
      told.push(memory);
      const error = new Error("the application's own fault");
      if (told.length % 2 === 0) throw error;
      return Promise.reject(error);
    },
  }));
  await mem.rememberManual(TEA);
  const good = world.memories[0]?.bytes ?? new Uint8Array();
  const sealed = (id: Uint8Array, packageId = PACKAGE_ID) =>
    encryptForIdentity({
      keyServers: world.keyServers.keyServers,
      threshold: 2,
      packageId,
      id,
      data: Uint8Array.of(0xff, 0xfe),
    });
  const { account } = world;
  const other = { ...account, owner: `0x${"ee".repeat(32)}` };
  const later = { ...account, accessCounter: 9n };
  const strangers = await ManualWorld.open();
  const cases: readonly (readonly [Uint8Array, string])[] = [
    [good.map((byte, at) => at === good.length - 3 ? byte ^ 1 : byte), "chang"],
    [good.subarray(0, 200), "Cannot read"],
    [new TextEncoder().encode(PIANO), "Cannot read"],
    [await sealed(buildIdentity("default", account)), "is not text"],
    [await sealed(buildIdentity("default", other)), "another owner"],
    [await sealed(buildIdentity("music", account)), "another namespace"],
    [await sealed(buildIdentity("default", later)), "a time to come"],
    [await sealed(buildIdentity("default", account), other.owner), "package"],
    [
      await encryptForIdentity({
        keyServers: strangers.keyServers.keyServers,
        threshold: 2,
        packageId: PACKAGE_ID,
        id: buildIdentity("default", account),
        data: new TextEncoder().encode("a forgery"),
      }),
      "other key servers",
    ],
  ];
  for (const [bytes] of cases) world.store(bytes, "piano");
  world.store(good, "coffee");
  const gone = world.memories.at(-1);
  assert(gone !== undefined);
  gone.bytes = undefined;
  const found = await mem.recallManual("tea", 50);
  assertEquals(found.results.map(({ text }) => text), [TEA]);
  assertEquals(told, found.dropped);
  const reasons = new Map(
    found.dropped.map(({ blob_id, reason }) => [blob_id, reason]),
  );
  assertEquals(reasons.size, cases.length + 1);
  for (const [at, [, words]] of cases.entries()) {
    const reason = reasons.get(`b-m${at + 2}`) ?? "";
    assert(reason.includes(words), `${words}: ${reason}`);
  }
  assertEquals(
    reasons.get(`b-${gone.id}`),
    "the relayer does not have its blob",
  );
});

Deno.test("MemManual has a wallet sign once for five minutes, and the relayer's requests with the key", async () => {
  let nowMs = 1_800_000_000_000;
  const world = await ManualWorld.open(() => nowMs);
  const messages: string[] = [];
  const sign = messageSigner(new Uint8Array(32).fill(7));
  await using mem = MemManual.create(world.clientConfig({
    walletSigner: {
      address: await delegateKeyToSuiAddress(OWNER_KEY),
      async signPersonalMessage({ message }) {
        messages.push(new TextDecoder().decode(message));
        return { signature: await sign(message) };
      },
    },
    clock: {
      nowMs: () => nowMs,
      setTimer: () => ({ cancel: () => {} }),
    },
  }));
  assertEquals(mem.isWalletMode, true);
  await mem.rememberManual(TEA);
  assertEquals(messages, []);
  world.account.delegates = [];
  await Promise.all([mem.recallManual("tea"), mem.recallManual("tea")]);
  assertEquals(messages.length, 1);
  assert(
    messages[0]?.startsWith(
      `Accessing keys of package ${PACKAGE_ID} for 5 mins`,
    ),
  );
  nowMs += 5 * 60_000;
  assertEquals((await mem.recallManual("tea")).total, 1);
  assertEquals(messages.length, 2);
});

Deno.test("MemManual takes nothing from the relayer or the ledger that it could forge", async () => {
  const world = await ManualWorld.open();
  const remember = async (more: Parameters<ManualWorld["clientConfig"]>[0]) => {
    await using mem = MemManual.create(world.clientConfig(more));
    await mem.rememberManual(TEA);
  };
  const refused = (
    more: Parameters<ManualWorld["clientConfig"]>[0],
    words: string,
  ) => assertRejects(() => remember(more), MemLedgerError, words);
  await refused({ ledgerNetwork: "testnet" }, "the relayer's is");
  await refused({ keyServerThreshold: 4 }, "cannot be met by 3 shares");
  await remember({ keyServers: [], trustRelayerKeyServers: true });
  // An owner of the operator's choice could read what is encrypted for it.
  const { owner } = world.account;
  world.account.owner = `0x${"ee".repeat(32)}`;
  await refused({}, "another owner of the account");
  world.account.owner = owner;
  world.config["packageId"] = `0x${"bb".repeat(32)}`;
  await refused({}, "another owner of the account");
  world.config["packageId"] = PACKAGE_ID;
  // The ledger names another server's public key under an id that the client
  // knows.
  const [first, second] = world.keyServers.keyServers;
  assert(first !== undefined && second !== undefined);
  Reflect.set(first, "publicKey", second.publicKey);
  await refused({}, "has the key of another one");
  assertEquals(world.memories.length, 1);
});

Deno.test("rememberManual() is refused for an account that is off, and without a ledger", async () => {
  const world = await ManualWorld.open();
  await using mem = MemManual.create(world.clientConfig());
  world.account.active = false;
  await assertRejects(
    () => mem.rememberManual(TEA),
    MemLedgerError,
    "is deactivated",
  );
  world.isLedgerAway = true;
  await assertRejects(
    () => mem.rememberManual(TEA),
    MemLedgerError,
    "the ledger cannot be reached",
  );
  assertEquals(world.memories, []);
});

Deno.test("recallManual() needs one request of the relayer, and one more for each blob that had no room", async () => {
  const world = await ManualWorld.open();
  await using mem = MemManual.create(world.clientConfig());
  await mem.rememberManual(TEA);
  await mem.rememberManual(PIANO);
  const listRequests = async () => {
    const { length } = world.seen;
    assertEquals((await mem.recallManual("tea")).total, 2);
    return world.seen.slice(length).filter((one) =>
      one.startsWith("http://relayer.test")
    ).length;
  };
  assertEquals(await listRequests(), 1);
  world.isGivingData = false;
  assertEquals(await listRequests(), 3);
});

Deno.test("MemManual gets blobs from the aggregators in turn", async () => {
  const world = await ManualWorld.open();
  await using mem = MemManual.create(world.clientConfig({
    blobAggregatorUrl: ["http://away.test/", "http://blobs.test/"],
  }));
  await mem.rememberManual(TEA);
  assertEquals((await mem.recallManual("tea")).results[0]?.text, TEA);
  const [memory] = world.memories;
  assert(memory !== undefined);
  memory.bytes = undefined;
  const { dropped } = await mem.recallManual("tea");
  assertEquals(
    dropped[0]?.reason,
    "away.test cannot be reached; blobs.test answers 404",
  );
  assert(!world.seen.some((one) => one.includes("/blob ")));
});

Deno.test("recallManual() throws for a namespace in second place and for blank questions", async () => {
  const world = await ManualWorld.open();
  await using mem = MemManual.create(world.clientConfig());
  await assertRejects(
    // deno-lint-ignore no-explicit-any -- a caller without types may pass this
    () => mem.recallManual("tea", "music" as any),
    TypeError,
    "the second argument is not a namespace",
  );
  await assertRejects(() => mem.recallManual("  "), TypeError, "blank");
  await assertRejects(() => mem.rememberManual(""), TypeError, "empty");
  assertEquals(world.seen, []);
});

Deno.test("destroy() ends what is under way and every later call", async () => {
  const world = await ManualWorld.open();
  const asked = Promise.withResolvers<void>();
  const mem = MemManual.create(world.clientConfig({
    async fetch(url, init) {
      if (url.endsWith("/v1/fetch_key")) asked.resolve();
      return await world.fetch(url, init);
    },
  }));
  await mem.rememberManual(TEA);
  for (const at of [0, 1, 2]) world.keyServers.setFault(at, "silent");
  const recall = mem.recallManual("tea");
  const outcome = assertRejects(() => recall, MemDestroyedError);
  await asked.promise;
  mem.destroy();
  await outcome;
  mem.destroy();
  await assertRejects(() => mem.rememberManual(TEA), MemDestroyedError);
  await assertRejects(() => mem.recallManual("tea"), MemDestroyedError);
});

Deno.test("create() names what is missing or contradicts something", async () => {
  const world = await ManualWorld.open();
  const faults: readonly (readonly [object, string])[] = [
    [{ embed: undefined }, "nothing makes vectors of texts"],
    [{ embeddingApiKey: "k" }, "two make vectors"],
    [
      { key: { publicKey: new Uint8Array(32), sign: () => {} } },
      "key only signs; this client needs the private key",
    ],
    [{ embeddingModel: "m" }, "have no effect without embeddingApiKey"],
    [
      {
        keyServers: undefined,
        keyServerConfigs: [{ objectId: "0x1", apiKeyName: "a b" }],
      },
      "the apiKeyName of a key server is not a header field",
    ],
    [
      {
        keyServers: undefined,
        keyServerConfigs: [{ objectId: "0x1", apiKey: "celandine\nrose" }],
      },
      "the apiKey of a key server has characters that no header field",
    ],
    [
      { embed: undefined, embeddingApiKey: "sk-\nline" },
      "embeddingApiKey has characters that no header field may have",
    ],
    [{ embed: 7 }, "embed is not a function"],
    [{ packageId: "zz" }, "packageId is not an object id"],
    [{ blobAggregatorUrl: "ftp://x" }, "is neither http: nor https:"],
    [{ keyServerThreshold: 0 }, "keyServerThreshold is not a whole number"],
    [{ keyServers: [] }, "keyServers or keyServerConfigs is missing"],
    [{ keyServers: undefined }, "keyServers or keyServerConfigs is missing"],
    [{ keyServers: ["0x1", "0x01"] }, "a key server is named twice"],
    [{ keyServerConfigs: [{ objectId: "0x1" }] }, "and not both"],
    [{ walletSigner: {} }, "walletSigner has no function"],
    [{
      suiPrivateKey: OWNER_KEY,
      walletSigner: { address: "0x1", signPersonalMessage: wordVector },
    }, "give walletSigner or suiPrivateKey"],
  ];
  for (const [more, words] of faults) {
    assertThrows(
      () => MemManual.create({ ...world.clientConfig(), ...more }),
      TypeError,
      words,
    );
  }
});

Deno.test("recallManual() makes another session when the clock was set back", async () => {
  const startMs = 1_800_000_000_000;
  let [nowMs, serverMs] = [startMs, startMs];
  const world = await ManualWorld.open(() => serverMs);
  const clock = { nowMs: () => nowMs, setTimer: () => ({ cancel: () => {} }) };
  await using mem = MemManual.create(world.clientConfig({ clock }));
  await mem.rememberManual(TEA);
  assertEquals((await mem.recallManual("tea")).total, 1);
  // The session has ended for the key servers, while this clock was set back.
  nowMs = startMs + 100_000;
  serverMs = startMs + 301_000;
  world.account.accessCounter = 1n;
  await mem.rememberManual(PIANO);
  assertEquals((await mem.recallManual("tea")).total, 2);
});

Deno.test("recallManual() looks at no more memories than a relayer may give", async () => {
  const world = await ManualWorld.open();
  await using mem = MemManual.create(world.clientConfig());
  for (let count = 0; count < 150; count++) {
    world.store(Uint8Array.of(1, 2, 3), "tea");
  }
  const { dropped } = await mem.recallManual("tea", 1_000);
  assertEquals(dropped.length, 100);
});

Deno.test("recallManual() decrypts what was encrypted for some of its key servers, by any threshold", async () => {
  const world = await ManualWorld.open();
  const [first, second, third] = world.keyServers.keyServers;
  assert(first !== undefined && second !== undefined && third !== undefined);
  const groups = [
    { threshold: 2, keyServers: [first, third] },
    { threshold: 3, keyServers: [first, second, third] },
    { threshold: 2, keyServers: [second, second] },
    { threshold: 1, keyServers: [third] },
  ];
  for (const [at, { threshold, keyServers }] of groups.entries()) {
    const text = `tea ${at}`;
    const bytes = await encryptForIdentity({
      keyServers,
      threshold,
      packageId: PACKAGE_ID,
      id: buildIdentity("default", world.account),
      data: new TextEncoder().encode(text),
    });
    world.store(bytes, text);
  }
  const recall = async () => {
    await using mem = MemManual.create(world.clientConfig());
    const { results, dropped } = await mem.recallManual("tea");
    return {
      texts: results.map(({ text }) => text).sort(),
      reasons: dropped.map(({ reason }) => reason),
    };
  };
  assertEquals(await recall(), {
    texts: ["tea 0", "tea 1", "tea 2", "tea 3"],
    reasons: [],
  });
  world.keyServers.setFault(1, "down");
  const reason = "too few of its key servers gave keys";
  assertEquals(await recall(), {
    texts: ["tea 0", "tea 3"],
    reasons: [reason, reason],
  });
});

Deno.test("recallManual() asks for a few choices of key servers at most, its own first", async () => {
  const world = await ManualWorld.open();
  const [first, second] = world.keyServers.keyServers;
  assert(first !== undefined && second !== undefined);
  const base = {
    packageId: PACKAGE_ID,
    id: buildIdentity("default", world.account),
    data: new TextEncoder().encode("made up"),
  };
  for (let shares = 1; shares <= 12; shares++) {
    const keyServers = [...Array(shares).fill(first), second];
    const bytes = await encryptForIdentity({
      ...base,
      keyServers,
      threshold: 1,
    });
    world.store(bytes, "tea");
  }
  await using mem = MemManual.create(world.clientConfig());
  await mem.rememberManual(TEA);
  const { results } = await mem.recallManual("tea", 50);
  assertEquals(results.length, 8);
  assertEquals(results.filter(({ text }) => text === TEA).length, 1);
  assert((world.keyServers.requests[0] ?? 0) <= 8);
});

Deno.test("keyServerConfigs names committees behind their aggregators, weights and customers", async () => {
  const world = await ManualWorld.open();
  const [first, second] = world.keyServers.keyServers;
  assert(first !== undefined && second !== undefined);
  world.committees.add(first.objectId);
  const customers: (string | null)[] = [];
  const createClient = (aggregatorUrl?: string) =>
    MemManual.create(world.clientConfig({
      keyServers: [],
      keyServerConfigs: [
        {
          objectId: first.objectId,
          ...(aggregatorUrl === undefined ? {} : { aggregatorUrl }),
          weight: 2,
          apiKeyName: "x-customer",
          apiKey: "celandine",
        },
        { objectId: second.objectId },
      ],
      async fetch(url, init) {
        if (url === "http://aggregator.test/v1/fetch_key") {
          customers.push(new Headers(init.headers).get("x-customer"));
          return await world.keyServers.fetch(
            `${first.url}/v1/fetch_key`,
            init,
          );
        }
        return await world.fetch(url, init);
      },
    }));
  await using without = createClient();
  await assertRejects(
    () => without.rememberManual(TEA),
    MemLedgerError,
    "is a committee: it needs aggregatorUrl",
  );
  // The committee's two shares are enough for the threshold of two.
  world.keyServers.setFault(1, "down");
  await using mem = createClient("http://aggregator.test/");
  await mem.rememberManual(TEA);
  assertEquals((await mem.recallManual("tea")).results[0]?.text, TEA);
  assertEquals(customers, ["celandine"]);
  world.committees.clear();
  await using late = createClient("http://aggregator.test/");
  await assertRejects(
    () => late.rememberManual(TEA),
    MemLedgerError,
    "is no committee: leave aggregatorUrl out",
  );
});

Deno.test("recallManual() gives no other text for a blob that was changed anywhere", async () => {
  const random = new SeededRandom(15);
  const world = await ManualWorld.open();
  await using mem = MemManual.create(world.clientConfig());
  await mem.rememberManual(TEA);
  const good = world.memories[0]?.bytes ?? new Uint8Array();
  for (let round = 0; round < 60; round++) {
    const bytes = Uint8Array.from(good);
    const at = random.below(bytes.length);
    const change = 1 + random.below(255);
    bytes[at] = (bytes[at] ?? 0) ^ change;
    const end = random.below(4) === 0 ? random.below(bytes.length) : undefined;
    world.store(bytes.subarray(0, end), "tea");
  }
  const { results, dropped } = await mem.recallManual("tea", 100);
  assertEquals([...new Set(results.map(({ text }) => text))], [TEA]);
  assertEquals(results.length + dropped.length, 61);
  // The format does not authenticate the index of a share that is not used.
  assert(dropped.length >= 57, `${dropped.length}`);
});
