import { assert, assertEquals, assertRejects } from "@std/assert";
import { SessionKey as PublicSessionKey } from "npm:@mysten/seal@^1.4.12";
import { Ed25519Keypair } from "@mysten/sui/keypairs/ed25519";
import { verifyPersonalMessageSignature } from "@mysten/sui/verify";
import { decodeHex, encodeBech32, encodeHex } from "../memory/encodings.ts";
import {
  checkCertificate,
  isSignedRequest,
  messageSigner,
  readSessionHeader,
  SessionKey,
  writeSessionHeader,
} from "./session_key.ts";
import { addressOfPublicKey, signWithSeed } from "./signatures.ts";

const SEED = new Uint8Array(32).fill(7);
const PACKAGE_ID = `0x${"ab".repeat(32)}`;
const NOW_MS = Date.UTC(2026, 10, 23, 5, 6, 7, 890);
const REQUEST = {
  ptb: Uint8Array.of(1, 2, 3),
  encKey: new Uint8Array(48).fill(4),
  encVerificationKey: new Uint8Array(96).fill(5),
};
/** Reads what the public client's session needs of a ledger. */
const LEDGER = {
  core: {
    getObject: () => Promise.resolve({ object: { version: "1" } }),
  },
  // The client is used for nothing else here.
} as unknown as Parameters<typeof PublicSessionKey.create>[0]["suiClient"];

function keypair(): Ed25519Keypair {
  return Ed25519Keypair.fromSecretKey(SEED);
}

function session(nowMs = NOW_MS): Promise<SessionKey> {
  return SessionKey.create({
    address: keypair().toSuiAddress(),
    packageId: PACKAGE_ID,
    ttlMin: 5,
    nowMs,
    signPersonalMessage: messageSigner(SEED),
  });
}

Deno.test("addressOfPublicKey() gives the known address of a key", () => {
  const publicKey = decodeHex(
    "ea4a6c63e29c520abef5507b132ec5f9954776aebebe7b92421eea691446d22c",
  );
  assert(publicKey !== undefined);
  assertEquals(
    addressOfPublicKey(publicKey),
    "0xa0ccc8bcc83f6c628340134f8546a21e0618fd1aaa02432bba454c4a2c2233da",
  );
});

Deno.test("encodeBech32() writes the known text of a private key", () => {
  assertEquals(
    encodeBech32("suiprivkey", Uint8Array.of(0, ...SEED)),
    "suiprivkey1qqrswpc8qurswpc8qurswpc8qurswpc8qurswpc8qurswpc8qurswxzszc4",
  );
});

Deno.test("signWithSeed() signs messages that the public client verifies", async () => {
  const message = new TextEncoder().encode("hello");
  const signature = await signWithSeed(SEED, message, "personal message");
  const { signature: theirs } = await keypair().signPersonalMessage(message);
  assertEquals(signature, theirs);
  const key = await verifyPersonalMessageSignature(message, signature);
  assertEquals(encodeHex(key.toRawBytes()).slice(0, 8), "ea4a6c63");
});

Deno.test("signWithSeed() signs transactions as the public client does", async () => {
  const bytes = Uint8Array.of(9, 9, 9);
  const { signature } = await keypair().signTransaction(bytes);
  assertEquals(await signWithSeed(SEED, bytes, "transaction"), signature);
});

Deno.test("a session made here is one for the public client", async () => {
  const made = await session(Date.now());
  const exported = readSessionHeader(writeSessionHeader(made));
  assert(exported !== undefined);
  const { mvrName: _, ...theirs } = exported;
  const imported = PublicSessionKey.import(theirs, LEDGER);
  assertEquals(
    JSON.parse(JSON.stringify(await imported.getCertificate())),
    JSON.parse(JSON.stringify(made.certificate)),
  );
});

Deno.test("a session of the public client is one here, and its requests count", async () => {
  const theirs = await PublicSessionKey.create({
    address: keypair().toSuiAddress(),
    packageId: PACKAGE_ID,
    ttlMin: 10,
    signer: keypair(),
    suiClient: LEDGER,
  });
  const certificate = await theirs.getCertificate();
  const check = await checkCertificate(certificate, {
    packageName: PACKAGE_ID,
    nowMs: certificate.creation_time + 1,
  });
  assert(check.kind === "ok");
  assertEquals(check.address, keypair().toSuiAddress());
  const params = await theirs.createRequestParams(Uint8Array.of(0, 1, 2, 3));
  assert(
    await isSignedRequest({
      ptb: Uint8Array.of(1, 2, 3),
      encKey: params.encKeyPk,
      encVerificationKey: params.encVerificationKey,
    }, {
      signature: params.requestSignature,
      sessionPublicKey: check.sessionPublicKey,
    }),
  );
  const exported = theirs.export();
  const header = btoa(JSON.stringify({ ...exported, toJSON: undefined }));
  const read = readSessionHeader(header);
  assert(read !== undefined);
  const ours = await SessionKey.import(read);
  assertEquals(ours?.certificate.session_vk, certificate.session_vk);
});

Deno.test("checkCertificate() refuses another package, address, time or length", async () => {
  const { certificate } = await session();
  const valid = { packageName: PACKAGE_ID, nowMs: NOW_MS };
  const checkKind = async (
    changed: Partial<typeof certificate>,
    options: Partial<typeof valid> = {},
  ) =>
    (await checkCertificate({ ...certificate, ...changed }, {
      ...valid,
      ...options,
    })).kind;
  assertEquals(await checkKind({}), "ok");
  assertEquals(
    await checkKind({}, { packageName: `0x${"00".repeat(32)}` }),
    "invalid",
  );
  assertEquals(await checkKind({ user: `0x${"00".repeat(32)}` }), "invalid");
  assertEquals(await checkKind({ ttl_min: 6 }), "invalid");
  assertEquals(await checkKind({ ttl_min: 31 }), "invalid");
  assertEquals(await checkKind({ ttl_min: 0 }), "invalid");
  assertEquals(await checkKind({ ttl_min: 1.5 }), "invalid");
  assertEquals(await checkKind({ creation_time: NOW_MS - 1_000 }), "invalid");
  assertEquals(await checkKind({ creation_time: NaN }), "invalid");
  assertEquals(await checkKind({ session_vk: btoa("short") }), "invalid");
  assertEquals(await checkKind({ signature: btoa("short") }), "invalid");
  assertEquals(await checkKind({}, { nowMs: NOW_MS - 10_001 }), "invalid");
  assertEquals(await checkKind({}, { nowMs: NOW_MS + 5 * 60_000 - 1 }), "ok");
  assertEquals(await checkKind({}, { nowMs: NOW_MS + 5 * 60_000 }), "expired");
});

Deno.test("isSignedRequest() refuses when any byte of a request is another one", async () => {
  const made = await session();
  const check = await checkCertificate(made.certificate, {
    packageName: PACKAGE_ID,
    nowMs: NOW_MS,
  });
  assert(check.kind === "ok");
  const signature = await made.signRequest(REQUEST);
  const options = { signature, sessionPublicKey: check.sessionPublicKey };
  assert(await isSignedRequest(REQUEST, options));
  for (const name of ["ptb", "encKey", "encVerificationKey"] as const) {
    const changed = REQUEST[name].slice();
    changed[0] = 99;
    assert(!await isSignedRequest({ ...REQUEST, [name]: changed }, options));
  }
  assert(!await isSignedRequest(REQUEST, { ...options, signature: "" }));
});

Deno.test("a session ends ten seconds early and lasts 1 to 30 minutes", async () => {
  const made = await session();
  assert(!made.isEnding(NOW_MS + 5 * 60_000 - 10_001));
  assert(made.isEnding(NOW_MS + 5 * 60_000 - 10_000));
  const options = { address: "", packageId: "", nowMs: 0 };
  const signPersonalMessage = messageSigner(SEED);
  for (const ttlMin of [0, 31, 1.5]) {
    await assertRejects(
      () => SessionKey.create({ ...options, ttlMin, signPersonalMessage }),
      RangeError,
    );
  }
});

Deno.test("readSessionHeader() refuses what is no session", () => {
  const texts = ["", "%", btoa("{}"), btoa("[]"), btoa("null"), btoa("\xff")];
  for (const text of [...texts, "A".repeat(8_192)]) {
    assertEquals(readSessionHeader(text), undefined, text);
  }
});
