import { assert, assertEquals, assertThrows } from "@std/assert";
import { writeApproval } from "./approval.ts";
import { KeyServerClient, type KeysOutcome } from "./key_server_client.ts";
import { deriveUserKey, toFullId } from "./identity_encryption.ts";
import { messageSigner, SessionKey } from "./session_key.ts";
import { addressOfPublicKey } from "./signatures.ts";
import { importSeed } from "../memory/cryptography.ts";
import {
  type KeyServerFault,
  TestKeyServers,
  type TestKeyServersOptions,
} from "./testing/key_servers.ts";

const SEED = new Uint8Array(32).fill(7);
const PACKAGE_ID = `0x${"ab".repeat(32)}`;
const ACCOUNT = { objectId: `0x${"cd".repeat(32)}`, initialVersion: 1n };
const IDS = [Uint8Array.of(1), Uint8Array.of(2, 3)];

function servers(
  options: Partial<TestKeyServersOptions> = {},
): TestKeyServers {
  return new TestKeyServers({ packageId: PACKAGE_ID, count: 3, ...options });
}

function createClient({ keyServers, fetch }: TestKeyServers): KeyServerClient {
  return new KeyServerClient({
    keyServers,
    threshold: 2,
    fetch,
    timeoutMs: 50,
  });
}

async function ask(
  client: KeyServerClient,
  options: { readonly nowMs?: number; readonly signal?: AbortSignal } = {},
): Promise<KeysOutcome> {
  const { publicKey } = await importSeed(SEED);
  const session = await SessionKey.create({
    address: addressOfPublicKey(publicKey),
    packageId: PACKAGE_ID,
    ttlMin: 5,
    nowMs: options.nowMs ?? Date.now(),
    signPersonalMessage: messageSigner(SEED),
  });
  const approval = writeApproval({
    packageId: PACKAGE_ID,
    account: ACCOUNT,
    ids: IDS,
  });
  const { signal } = options;
  return await client.userKeys({
    packageId: PACKAGE_ID,
    ids: IDS,
    session,
    approval,
    signal,
  });
}

function listKinds(outcome: KeysOutcome): readonly string[] {
  if (outcome.kind === "ok") return ["ok"];
  return [outcome.kind, ...outcome.failures.map(({ kind }) => kind).sort()];
}

Deno.test("userKeys() gets the right keys of all identities from two of three", async () => {
  const three = servers();
  const outcome = await ask(createClient(three));
  assert(outcome.kind === "ok");
  assertEquals(outcome.keys.length, 2);
  for (const [at, keys] of outcome.keys.entries()) {
    assertEquals(keys.size, 2);
    const fullId = toFullId(PACKAGE_ID, IDS[at] ?? new Uint8Array());
    for (const [objectId, key] of keys) {
      const server = three.keyServers.findIndex((one) =>
        one.objectId === objectId
      );
      const secret = three.secrets[server] ?? new Uint8Array();
      assertEquals(key, deriveUserKey(secret, fullId));
    }
  }
});

Deno.test("userKeys() does with one key server away, whatever is wrong with it", async () => {
  const faults: readonly KeyServerFault[] = [
    "down",
    "silent",
    "failing",
    "false keys",
    "no version",
  ];
  for (const fault of faults) {
    const three = servers();
    three.setFault(0, fault);
    assertEquals((await ask(createClient(three))).kind, "ok", fault);
  }
});

Deno.test("userKeys() says what is wrong with two key servers", async () => {
  const cases: readonly (readonly [KeyServerFault, readonly string[]])[] = [
    ["down", ["unavailable", "unavailable", "unavailable"]],
    ["silent", ["unavailable", "unavailable", "unavailable"]],
    ["failing", ["unavailable", "unavailable", "unavailable"]],
    ["proxied", ["unavailable", "unavailable", "unavailable"]],
    ["false keys", ["unavailable", "wrong", "wrong"]],
    ["no version", ["unavailable", "wrong", "wrong"]],
  ];
  for (const [fault, kinds] of cases) {
    const three = servers();
    three.setFault(0, fault);
    three.setFault(2, fault);
    assertEquals(listKinds(await ask(createClient(three))), kinds, fault);
  }
});

Deno.test("userKeys() has no use for the replayed answer of another request", async () => {
  const three = servers();
  const client = createClient(three);
  await ask(client);
  for (const at of [0, 1, 2]) three.setFault(at, "replay");
  // Each key server has answered at most once, and its answer was encrypted to
  // another request's key.
  const outcome = await ask(client);
  assert(outcome.kind !== "ok");
  assert(outcome.failures.some(({ kind }) => kind === "wrong"));
});

Deno.test("userKeys() is refused when the key servers do not approve", async () => {
  const three = servers({ mayHave: ({ id }) => id.length === 1 });
  const outcome = await ask(createClient(three));
  assertEquals(listKinds(outcome), [
    "refused",
    "refused",
    "refused",
    "refused",
  ]);
  assert(outcome.kind === "refused");
  assert(outcome.failures[0]?.reason.includes("NoAccess"));
});

Deno.test("userKeys() is refused with a session that has ended", async () => {
  const outcome = await ask(createClient(servers()), { nowMs: 0 });
  assertEquals(outcome.kind, "refused");
});

Deno.test("userKeys() ends when its caller does", async () => {
  const three = servers();
  for (const at of [0, 1, 2]) three.setFault(at, "silent");
  const outcome = await ask(createClient(three), {
    signal: AbortSignal.abort(),
  });
  assertEquals(outcome.kind, "unavailable");
});

Deno.test("withoutPossession() names the key servers that show no secret", async () => {
  const three = servers();
  const client = createClient(three);
  assertEquals(await client.withoutPossession(), []);
  three.setFault(1, "down");
  assertEquals(await client.withoutPossession(), [
    three.keyServers[1]?.objectId ?? "",
  ]);
  const strangers = servers();
  const mixed = new KeyServerClient({
    keyServers: three.keyServers.map((server, at) => ({
      ...server,
      publicKey: strangers.keyServers[at]?.publicKey ?? new Uint8Array(),
    })),
    threshold: 2,
    fetch: three.fetch,
  });
  assertEquals((await mixed.withoutPossession()).length, 3);
});

Deno.test("KeyServerClient refuses key servers that are named twice or too few", () => {
  const { keyServers } = servers();
  const [first] = keyServers;
  assert(first !== undefined);
  assertThrows(
    () => new KeyServerClient({ keyServers: [first, first], threshold: 1 }),
    RangeError,
  );
  for (const threshold of [0, 4, 1.5]) {
    assertThrows(
      () => new KeyServerClient({ keyServers, threshold }),
      RangeError,
    );
  }
});

Deno.test("a key server with a weight of two meets the threshold alone", async () => {
  const three = servers();
  three.setFault(1, "down");
  three.setFault(2, "down");
  const keyServers = three.keyServers.map((server, at) => ({
    ...server,
    weight: at === 0 ? 2 : 1,
  }));
  const client = new KeyServerClient({
    keyServers,
    threshold: 2,
    fetch: three.fetch,
  });
  assertEquals(client.weighted.length, 4);
  assertEquals((await ask(client)).kind, "ok");
});

Deno.test("userKeys() has no use for an answer with more keys than were requested", async () => {
  const three = servers();
  const client = new KeyServerClient({
    keyServers: three.keyServers,
    threshold: 2,
    fetch: async (input, init) => {
      const answer = await three.fetch(input, init);
      const { decryption_keys: keys } = await answer.json();
      const [first] = keys;
      const extra = { ...first, id: [1] };
      return Response.json({ decryption_keys: [...keys, extra] }, answer);
    },
  });
  assertEquals(listKinds(await ask(client)), [
    "unavailable",
    ...["wrong", "wrong", "wrong"],
  ]);
});
