import { assert, assertEquals, assertRejects } from "@std/assert";
import { DemType, EncryptedObject } from "npm:@mysten/seal@^1.4.12";
import { countRounds } from "../../tests/support/rounds.ts";
import { SeededRandom } from "../../tests/support/seeded_random.ts";
import { decodeHex, encodeHex } from "../memory/encodings.ts";
import { RANDOM_ALONE, withGlobals } from "../memory/testing/with_globals.ts";
import { writeApproval } from "./approval.ts";
import {
  type EncryptedObject as OurObject,
  readEncryptedObject,
  writeEncryptedObject,
} from "./encrypted_object.ts";
import {
  deriveKeyServerId,
  derivePublicKey,
  deriveUserKey,
  toFullId,
} from "./identity_encryption.ts";
import { TestKeyServers } from "./testing/key_servers.ts";
import { publicClient, publicSession } from "./testing/public_client.ts";
import { decryptWithKeys, encryptForIdentity } from "./threshold_encryption.ts";

const SEED = new Uint8Array(32).fill(7);
const PACKAGE_ID = `0x${"ab".repeat(32)}`;
const ACCOUNT = { objectId: `0x${"cd".repeat(32)}`, initialVersion: 1n };
const ID = Uint8Array.of(1, 2, 3);
const TEXT = new TextEncoder().encode("Ada prefers tea to coffee.");

function servers(count = 3): TestKeyServers {
  return new TestKeyServers({ packageId: PACKAGE_ID, count });
}

/** Returns the keys of an identity from some of the key servers. */
function createKeys(
  { secrets, keyServers }: TestKeyServers,
  chosen: readonly number[],
  id = ID,
): ReadonlyMap<string, Uint8Array> {
  const fullId = toFullId(PACKAGE_ID, id);
  return new Map(chosen.map((at) => [
    keyServers[at]?.objectId ?? "",
    deriveUserKey(secrets[at] ?? new Uint8Array(), fullId),
  ]));
}

function listPublicKeys({ keyServers }: TestKeyServers) {
  return new Map(
    keyServers.map(({ objectId, publicKey }) => [objectId, publicKey]),
  );
}

async function encrypted(
  { keyServers }: TestKeyServers,
  options: { readonly threshold?: number; readonly aad?: Uint8Array } = {},
): Promise<OurObject> {
  const { threshold = 2, aad } = options;
  const bytes = await encryptForIdentity({
    keyServers,
    threshold,
    packageId: PACKAGE_ID,
    id: ID,
    data: TEXT,
    aad,
  });
  const outcome = readEncryptedObject(bytes);
  assert(outcome.kind === "ok");
  return outcome.object;
}

Deno.test("decryptWithKeys() opens without WebCrypto what was encrypted with it, and the other way round", async () => {
  const three = servers();
  const userKeys = createKeys(three, [0, 1]);
  const publicKeys = listPublicKeys(three);
  const aad = Uint8Array.of(5);
  const wanted = { kind: "ok", data: TEXT } as const;
  const sealed = await encrypted(three, { aad });
  let spare = sealed;
  await withGlobals(RANDOM_ALONE, async () => {
    const opened = await decryptWithKeys(sealed, { userKeys, publicKeys });
    assertEquals(opened, wanted);
    spare = await encrypted(three, { aad });
    const { ciphertext } = spare;
    assert(ciphertext.kind === "aes-256-gcm");
    const changed = { ...ciphertext, aad: Uint8Array.of(6) };
    const other = { ...spare, ciphertext: changed };
    assertEquals((await decryptWithKeys(other, { userKeys })).kind, "invalid");
  });
  assertEquals(await decryptWithKeys(spare, { userKeys, publicKeys }), wanted);
});

Deno.test("decryptWithKeys() opens with the keys of any two of three key servers", async () => {
  const three = servers();
  const object = await encrypted(three, { aad: Uint8Array.of(5) });
  for (const chosen of [[0, 1], [0, 2], [1, 2], [0, 1, 2]]) {
    const userKeys = createKeys(three, chosen);
    const publicKeys = listPublicKeys(three);
    assertEquals(await decryptWithKeys(object, { userKeys }), {
      kind: "ok",
      data: TEXT,
    });
    const checked = await decryptWithKeys(object, { userKeys, publicKeys });
    assertEquals(checked.kind, "ok");
  }
});

Deno.test("decryptWithKeys() is locked with one key of two, and for others' keys invalid", async () => {
  const three = servers();
  const object = await encrypted(three);
  assertEquals(
    await decryptWithKeys(object, { userKeys: createKeys(three, [1]) }),
    {
      kind: "locked",
      shares: 1,
      threshold: 2,
    },
  );
  const otherIdentity = createKeys(three, [0, 1], Uint8Array.of(9));
  const otherServers = createKeys(servers(), [0, 1]);
  const swapped = new Map(
    [...createKeys(three, [0, 1]).keys()].map((
      objectId,
      at,
    ) => [objectId, [...createKeys(three, [1, 0]).values()][at] ?? ID]),
  );
  for (const userKeys of [otherIdentity, swapped]) {
    const outcome = await decryptWithKeys(object, { userKeys });
    assertEquals(outcome.kind, "invalid");
  }
  const strange = await decryptWithKeys(object, { userKeys: otherServers });
  assertEquals(strange.kind, "locked");
});

Deno.test("a key server with a weight of two holds two shares", async () => {
  const two = servers(2);
  const [heavy, light] = two.keyServers;
  assert(heavy !== undefined && light !== undefined);
  const bytes = await encryptForIdentity({
    keyServers: [heavy, heavy, light],
    threshold: 2,
    packageId: PACKAGE_ID,
    id: ID,
    data: TEXT,
  });
  const outcome = readEncryptedObject(bytes);
  assert(outcome.kind === "ok");
  const { object } = outcome;
  const alone = await decryptWithKeys(object, {
    userKeys: createKeys(two, [0]),
  });
  assertEquals(alone.kind, "ok");
  const other = await decryptWithKeys(object, {
    userKeys: createKeys(two, [1]),
  });
  assertEquals(other.kind, "locked");
});

Deno.test("the public client decrypts what is encrypted here", async () => {
  const three = servers();
  const bytes = writeEncryptedObject(await encrypted(three));
  const client = publicClient(three.keyServers, three.fetch);
  const data = await client.decrypt({
    data: bytes,
    sessionKey: await publicSession(SEED, PACKAGE_ID),
    txBytes: writeApproval({
      packageId: PACKAGE_ID,
      account: ACCOUNT,
      ids: [ID],
    }),
    checkShareConsistency: true,
  });
  assertEquals(data, TEXT);
});

Deno.test("what the public client encrypts in both its ways is decrypted here", async () => {
  const three = servers();
  const client = publicClient(three.keyServers, three.fetch);
  for (const demType of [DemType.AesGcm256, DemType.Hmac256Ctr]) {
    const { encryptedObject } = await client.encrypt({
      demType,
      threshold: 2,
      packageId: PACKAGE_ID,
      id: encodeHex(ID),
      data: TEXT,
      aad: Uint8Array.of(1, 2),
    });
    const outcome = readEncryptedObject(encryptedObject);
    assert(outcome.kind === "ok");
    assertEquals(
      writeEncryptedObject(outcome.object),
      new Uint8Array(encryptedObject),
    );
    const decrypted = await decryptWithKeys(outcome.object, {
      userKeys: createKeys(three, [0, 2]),
      publicKeys: listPublicKeys(three),
    });
    assertEquals(decrypted, { kind: "ok", data: TEXT });
  }
});

Deno.test("objects that version 1.4.12 of the public client has made are opened", async () => {
  // For "tea" and the master secrets 0x0303… and 0x0404…, in both of its ways.
  const known = [
    "00ababababababababababababababababababababababababababababababab" +
    "ab03010203027989a024ea44fd46fe3936d681963ae7ac3abf323a3bdcd566c7" +
    "7e7eeae42c7001299e9b48e57c8abd3877de41b78009bebdf06b9b8fafe0bc9a" +
    "12b284b1401096020200b9a28f4d55bd1884af941aee106b67dc225b20e24d61" +
    "ffee879c59d21a38158855ad9097d4400fb0e53c5808fcfc18b21488e76e5182" +
    "36a99128138b7230d23e73b7fa545916c75936a292c3aaee5a019cc30fdc90fd" +
    "c020d06500c03edb73b2025376b3d55770d1cd01ca65ba26c3d44de1e1a588ff" +
    "b7b2984deea78de8bdd0c0e11443784e42985356b9bd261aacb6ce5bf18c2b9b" +
    "a2fbf70b07ca6264b66cc7b43b2640190e48628349470a94e128a22bae956259" +
    "f3f5f78731c3c1a822b2c400139bacd74f25c054726f54cebcb68dd79d915491" +
    "01020102",
    "00ababababababababababababababababababababababababababababababab" +
    "ab03010203027989a024ea44fd46fe3936d681963ae7ac3abf323a3bdcd566c7" +
    "7e7eeae42c7001299e9b48e57c8abd3877de41b78009bebdf06b9b8fafe0bc9a" +
    "12b284b14010960202008c117e525784edf5a9496f24225e94d366917da59d83" +
    "14df637ab3339beb1654523a1017da5bb65edf819cb733a3b3c10c1b809ebf5e" +
    "af04319fab4357b1072da9ad695fcc23af804e64057f11f22e7c8c9ac54cfe6a" +
    "75004612392a6c2d1fb802f044251d69fc014db8d10147e740b708d30c1c9881" +
    "0d2a78b8d56239fe32aca6024cf5038cefbda451959d9ad7d9207841cda3bb90" +
    "d59f2b742d28b3de3c8db1c4565854e189aa5863724f6aa7d9e0cc2953573f78" +
    "9193d949739d5fe7215429010367d243010201021b1ce5ab2726c1dcc5d74d3a" +
    "1dc4b7fe5ecb65b1a55aceb654318b67ad3b8f69",
  ];
  const secrets = [3, 4].map((byte) => new Uint8Array(32).fill(byte));
  const fullId = toFullId(PACKAGE_ID, ID);
  const userKeys = new Map(secrets.map((secret) => [
    deriveKeyServerId(derivePublicKey(secret)),
    deriveUserKey(secret, fullId),
  ]));
  for (const hex of known) {
    const outcome = readEncryptedObject(decodeHex(hex) ?? new Uint8Array());
    assert(outcome.kind === "ok");
    assertEquals(await decryptWithKeys(outcome.object, { userKeys }), {
      kind: "ok",
      data: new TextEncoder().encode("tea"),
    });
  }
});

Deno.test("readEncryptedObject() refuses every cut and every byte after the end", async () => {
  const bytes = writeEncryptedObject(await encrypted(servers()));
  EncryptedObject.parse(bytes);
  for (let length = 0; length < bytes.length; length++) {
    assertEquals(
      readEncryptedObject(bytes.subarray(0, length)).kind,
      "invalid",
    );
  }
  const longer = Uint8Array.of(...bytes, 0);
  assertEquals(readEncryptedObject(longer).kind, "invalid");
});

Deno.test("decryptWithKeys() gives nothing when any bit was flipped", async () => {
  const three = servers();
  const bytes = writeEncryptedObject(await encrypted(three));
  const userKeys = createKeys(three, [0, 1, 2]);
  const publicKeys = listPublicKeys(three);
  const random = new SeededRandom(5);
  for (let round = countRounds(10); round > 0; round--) {
    const changed = bytes.slice();
    const at = random.below(changed.length);
    changed[at] = (changed[at] ?? 0) ^ (1 << random.below(8));
    const outcome = readEncryptedObject(changed);
    if (outcome.kind === "invalid") continue;
    const { kind } = await decryptWithKeys(outcome.object, {
      userKeys,
      publicKeys,
    });
    assert(kind !== "ok", `bit in byte ${at}`);
  }
});

Deno.test("decryptWithKeys() refuses shares that are not of one secret", async () => {
  const three = servers();
  const object = await encrypted(three);
  // The third share is replaced, while the values that are computed from it are
  // not.
  const encryptedShares = object.encryptedShares.map((share, at) =>
    at === 2 ? share.map((byte) => byte ^ 1) : share
  );
  const outcome = await decryptWithKeys({ ...object, encryptedShares }, {
    userKeys: createKeys(three, [0, 1]),
    publicKeys: listPublicKeys(three),
  });
  assertEquals(outcome.kind, "invalid");
});

Deno.test("decryptWithKeys() refuses points at infinity, off the curve and of small order", async () => {
  const three = servers();
  const object = await encrypted(three);
  const infinity = new Uint8Array(96);
  infinity[0] = 0xc0;
  const noPoint = new Uint8Array(96).fill(0xff);
  for (const nonce of [infinity, noPoint]) {
    const outcome = await decryptWithKeys({ ...object, nonce }, {
      userKeys: createKeys(three, [0, 1]),
    });
    assertEquals(outcome.kind, "invalid");
  }
  const small = new Uint8Array(48);
  small[0] = 0xc0;
  const [first] = three.keyServers;
  const userKeys = new Map(createKeys(three, [1]));
  userKeys.set(first?.objectId ?? "", small);
  const outcome = await decryptWithKeys(object, { userKeys });
  assertEquals(outcome.kind, "invalid");
});

Deno.test("encryptForIdentity() refuses a threshold that cannot be met and false public keys", async () => {
  const { keyServers } = servers(2);
  const options = { packageId: PACKAGE_ID, id: ID, data: TEXT };
  await assertRejects(
    () => encryptForIdentity({ ...options, keyServers, threshold: 3 }),
    RangeError,
  );
  const [first] = keyServers;
  assert(first !== undefined);
  const publicKey = new Uint8Array(96);
  publicKey[0] = 0xc0;
  await assertRejects(
    () =>
      encryptForIdentity({
        ...options,
        keyServers: [{ ...first, publicKey }],
        threshold: 1,
      }),
    RangeError,
  );
});
