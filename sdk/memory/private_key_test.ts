import {
  assert,
  assertEquals,
  assertNotEquals,
  assertRejects,
  assertStringIncludes,
  assertThrows,
} from "@std/assert";
import { encodeHex } from "./encodings.ts";
import {
  delegateKeyToPublicKey,
  delegateKeyToSuiAddress,
  parsePrivateKey,
} from "./private_key.ts";

const SEED = new Uint8Array(32).fill(7);
const HEX = "07".repeat(32);
const ENCODED =
  "suiprivkey1qqrswpc8qurswpc8qurswpc8qurswpc8qurswpc8qurswpc8qurswxzszc4";

Deno.test("parsePrivateKey() reads every form of a key", () => {
  const forms = [
    HEX,
    `0x${HEX}`,
    `0X${HEX}`,
    ENCODED,
    ENCODED.toUpperCase(),
    ` ${HEX}\n`,
    SEED,
  ];
  for (const form of forms) {
    assertEquals(parsePrivateKey(form), SEED, String(form));
  }
});

Deno.test("parsePrivateKey() returns a copy when it is given bytes", () => {
  const given = Uint8Array.from(SEED);
  const seed = parsePrivateKey(given);
  seed.fill(0);
  assertEquals(given, SEED);
  assertNotEquals(seed.buffer, given.buffer);
});

Deno.test("parsePrivateKey() says what is wrong and never shows the key", () => {
  const faults: readonly (readonly [unknown, string])[] = [
    ["", "empty"],
    ["  ", "empty"],
    [HEX.slice(2), "62 hexadecimal digits instead of 64"],
    [`${HEX}07`, "66 hexadecimal digits instead of 64"],
    [`${HEX.slice(1)}g`, "neither hexadecimal nor"],
    [ENCODED.replace("xzszc4", "xzszc5"), "checksum"],
    ["suiprivkey", "checksum"],
    [SEED.slice(1), "31 bytes instead of 32"],
    [new Uint8Array(64), "64 bytes instead of 32"],
    [undefined, "neither a text nor a Uint8Array"],
    [null, "neither a text nor a Uint8Array"],
    [[...SEED], "neither a text nor a Uint8Array"],
    [{ [Symbol.toStringTag]: "Uint8Array", length: 32 }, "neither a text"],
  ];
  for (const [key, state] of faults) {
    const error = assertThrows(
      // A caller without a type checker could pass this.
      () => parsePrivateKey(key as string),
      TypeError,
    );
    assertStringIncludes(error.message, state);
    assert(!/0707|qurs/.test(error.message), error.message);
    assertEquals(error.cause, undefined);
  }
});

Deno.test("parsePrivateKey() refuses keys of other schemes and lengths when their checksum fits", () => {
  for (
    const [text, state] of [
      [encode([1, ...SEED]), "no Ed25519 key"],
      [encode([0, ...SEED.slice(1)]), "31 bytes instead of 32"],
      [encode([]), "no Ed25519 key"],
    ] as const
  ) {
    const error = assertThrows(() => parsePrivateKey(text), TypeError);
    assertStringIncludes(error.message, state);
  }
  assertEquals(encode([0, ...SEED]), ENCODED);
});

/** Writes Bech32 by trying checksums of BIP 173's polynomial. */
function encode(bytes: readonly number[]): string {
  const alphabet = "qpzry9x8gf2tvdw0s3jn54khce6mua7l";
  const prefix = "suiprivkey";
  const bits = bytes.map((byte) => byte.toString(2).padStart(8, "0")).join("");
  const groups = (bits.match(/.{1,5}/g) ?? [])
    .map((group) => Number.parseInt(group.padEnd(5, "0"), 2));
  const codes = [...prefix].map((letter) => letter.charCodeAt(0));
  const values = [
    ...codes.map((code) => code >> 5),
    0,
    ...codes.map((code) => code & 31),
    ...groups,
    ...[0, 0, 0, 0, 0, 0],
  ];
  let sum = 1n;
  for (const value of values) {
    const top = sum >> 25n;
    sum = ((sum & 0x1ffffffn) << 5n) ^ BigInt(value);
    const terms = [
      0x3b6a57b2n,
      0x26508e6dn,
      0x1ea119fan,
      0x3d4233ddn,
      0x2a1462b3n,
    ];
    terms.forEach((term, at) => {
      if ((top >> BigInt(at)) & 1n) sum ^= term;
    });
  }
  sum ^= 1n;
  const check = [25n, 20n, 15n, 10n, 5n, 0n]
    .map((shift) => Number((sum >> shift) & 31n));
  return `${prefix}1` +
    [...groups, ...check].map((group) => alphabet[group]).join("");
}

const PUBLIC_KEY =
  "ea4a6c63e29c520abef5507b132ec5f9954776aebebe7b92421eea691446d22c";
const ADDRESS =
  "0xa0ccc8bcc83f6c628340134f8546a21e0618fd1aaa02432bba454c4a2c2233da";
const FORMS = [
  "07".repeat(32),
  "suiprivkey1qqrswpc8qurswpc8qurswpc8qurswpc8qurswpc8qurswpc8qurswxzszc4",
  new Uint8Array(32).fill(7),
];

Deno.test("delegateKeyToPublicKey() and delegateKeyToSuiAddress() agree with the ledger for every form of a key", async () => {
  for (const form of FORMS) {
    assertEquals(encodeHex(await delegateKeyToPublicKey(form)), PUBLIC_KEY);
    assertEquals(await delegateKeyToSuiAddress(form), ADDRESS);
  }
});

Deno.test("delegateKeyToPublicKey() returns RFC 8032's key for its first test", async () => {
  assertEquals(
    encodeHex(
      await delegateKeyToPublicKey(
        "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60",
      ),
    ),
    "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a",
  );
});

Deno.test("delegateKeyToPublicKey() leaves the caller's bytes as they were", async () => {
  const bytes = new Uint8Array(32).fill(7);
  await delegateKeyToPublicKey(bytes);
  assertEquals(bytes, new Uint8Array(32).fill(7));
});

Deno.test("delegateKeyToSuiAddress() and delegateKeyToPublicKey() reject what is no private key", async () => {
  await assertRejects(() => delegateKeyToSuiAddress("0x12"), TypeError);
  await assertRejects(() => delegateKeyToPublicKey(""), TypeError);
});
