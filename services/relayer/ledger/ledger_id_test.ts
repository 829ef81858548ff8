import { assertEquals, assertThrows } from "@std/assert";
import {
  addressOfPublicKey,
  normalizeLedgerId,
  normalizePublicKey,
} from "./ledger_id.ts";

Deno.test("normalizeLedgerId() gives every spelling of an id one form", () => {
  const normal = `0x${"0".repeat(61)}abc`;
  for (const text of ["0xabc", "abc", "0XABC", "aBc", "0x0abc", normal]) {
    assertEquals(normalizeLedgerId(text), normal, text);
  }
});

Deno.test("normalizeLedgerId() refuses what is no id", () => {
  const long = `0x${"0".repeat(65)}`;
  for (const text of ["", "0x", "0xg", " 0x1", "0x1\n", "0x1.2", long, "-1"]) {
    assertEquals(normalizeLedgerId(text), undefined, text);
  }
});

Deno.test("normalizePublicKey() takes 32 bytes and nothing else", () => {
  const key = "ab".repeat(32);
  for (const text of [key, `0x${key}`, key.toUpperCase()]) {
    assertEquals(normalizePublicKey(text), key);
  }
  for (const text of ["", "ab", key + "0", `0x${key}\n`]) {
    assertEquals(normalizePublicKey(text), undefined);
  }
});

Deno.test("addressOfPublicKey() gives the address that other programs give", () => {
  // The public key whose seed is 32 bytes of 7.
  const publicKey =
    "ea4a6c63e29c520abef5507b132ec5f9954776aebebe7b92421eea691446d22c";
  assertEquals(
    addressOfPublicKey(publicKey),
    "0xa0ccc8bcc83f6c628340134f8546a21e0618fd1aaa02432bba454c4a2c2233da",
  );
  assertThrows(() => addressOfPublicKey("00"), TypeError, "Cannot derive");
});
