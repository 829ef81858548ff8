import { assertEquals, assertRejects } from "@std/assert";
import {
  delegateKeyToPublicKey,
  delegateKeyToSuiAddress,
} from "./addresses.ts";
import { encodeHex } from "./hex.ts";

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

Deno.test("delegateKeyToSuiAddress() and delegateKeyToPublicKey() reject when the key is none", async () => {
  await assertRejects(() => delegateKeyToSuiAddress("0x12"), TypeError);
  await assertRejects(() => delegateKeyToPublicKey(""), TypeError);
});
