import {
  assert,
  assertEquals,
  assertMatch,
  assertNotEquals,
  assertRejects,
} from "@std/assert";
import { importSeed } from "./cryptography.ts";
import { decodeHex } from "./encodings.ts";
import { MemDestroyedError } from "./errors.ts";
import { RequestSigner } from "./signer.ts";

const PUBLIC_KEY =
  "ea4a6c63e29c520abef5507b132ec5f9954776aebebe7b92421eea691446d22c";
const NOTHING_HASH =
  "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
const PARTS = {
  method: "GET",
  path: "/v1/owners/0x1/memories?limit=5",
  body: new Uint8Array(0),
  accountId: "0xabc",
  nowMs: 1_800_000_000_999,
};

function seed(): Uint8Array {
  return new Uint8Array(32).fill(7);
}

async function assertSigned(
  headers: Awaited<ReturnType<RequestSigner["sign"]>>,
  text: string,
): Promise<void> {
  const key = await crypto.subtle.importKey(
    "raw",
    decodeHex(PUBLIC_KEY)!,
    "Ed25519",
    false,
    ["verify"],
  );
  assert(
    await crypto.subtle.verify(
      "Ed25519",
      key,
      decodeHex(headers["x-signature"])!,
      new TextEncoder().encode(text),
    ),
  );
}

Deno.test("RequestSigner.sign() makes a signature that verifies over the six fields with full stops between", async () => {
  const signer = RequestSigner.create(seed());
  const headers = await signer.sign(PARTS);
  assertEquals(headers["x-public-key"], PUBLIC_KEY);
  assertEquals(await signer.publicKeyHex(), PUBLIC_KEY);
  assertEquals(headers["x-timestamp"], "1800000000");
  assertEquals(headers["x-account-id"], "0xabc");
  assertMatch(headers["x-signature"], /^[0-9a-f]{128}$/);
  assertMatch(
    headers["x-nonce"],
    /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/,
  );
  await assertSigned(
    headers,
    `1800000000.GET.${PARTS.path}.${NOTHING_HASH}.${headers["x-nonce"]}.0xabc`,
  );
});

Deno.test("RequestSigner.of() has another one sign, until it is wiped", async () => {
  const { publicKey, sign } = await importSeed(seed());
  const signer = RequestSigner.of({ publicKey, sign });
  const headers = await signer.sign(PARTS);
  assertEquals(headers["x-public-key"], PUBLIC_KEY);
  await assertSigned(
    headers,
    `1800000000.GET.${PARTS.path}.${NOTHING_HASH}.${headers["x-nonce"]}.0xabc`,
  );
  signer.wipe();
  await assertRejects(() => signer.sign(PARTS), MemDestroyedError);
});

Deno.test("RequestSigner.sign() keeps the last field's place when it is empty", async () => {
  const headers = await RequestSigner.create(seed()).sign({
    ...PARTS,
    method: "POST",
    path: "/api/embed",
    accountId: "",
  });
  const nonce = headers["x-nonce"];
  await assertSigned(
    headers,
    `1800000000.POST./api/embed.${NOTHING_HASH}.${nonce}.`,
  );
});

Deno.test("RequestSigner.sign() takes a new nonce for each request", async () => {
  const signer = RequestSigner.create(seed());
  const [one, two] = await Promise.all([
    signer.sign(PARTS),
    signer.sign(PARTS),
  ]);
  assertNotEquals(one["x-nonce"], two["x-nonce"]);
  assertNotEquals(one["x-signature"], two["x-signature"]);
});

Deno.test("RequestSigner overwrites the seed when the key was imported, and not before", async () => {
  const bytes = seed();
  const signer = RequestSigner.create(bytes);
  assertEquals(bytes, seed());
  await signer.publicKeyHex();
  assertEquals(bytes, new Uint8Array(32));
  assertEquals(await signer.publicKeyHex(), PUBLIC_KEY);
});

Deno.test("RequestSigner.wipe() overwrites the seed and ends every call, those under way among them", async () => {
  const bytes = seed();
  const signer = RequestSigner.create(bytes);
  signer.wipe();
  assertEquals(bytes, new Uint8Array(32));
  await assertRejects(() => signer.sign(PARTS), MemDestroyedError);
  await assertRejects(() => signer.publicKeyHex(), MemDestroyedError);

  const busy = RequestSigner.create(seed());
  const signing = busy.sign(PARTS);
  busy.wipe();
  busy.wipe();
  await assertRejects(() => signing, MemDestroyedError);
});
