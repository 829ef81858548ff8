import { assertEquals } from "@std/assert";
import { keySlot } from "./key_slot.ts";

function slotOf(key: string): number {
  return keySlot(new TextEncoder().encode(key));
}

Deno.test("keySlot() is the CRC of the cluster specification", () => {
  // Its example: the CRC-16 of "123456789" is 0x31c3.
  assertEquals(slotOf("123456789"), 0x31c3);
  assertEquals(slotOf(""), 0);
  assertEquals(slotOf("foo"), 12_182);
  assertEquals(slotOf("somekey"), 11_058);
});

Deno.test("keySlot() looks at the hash tag only, if there is one", () => {
  const tagged = slotOf("user1000");
  assertEquals(slotOf("{user1000}.following"), tagged);
  assertEquals(slotOf("before{user1000}after{other}"), tagged);
  assertEquals(slotOf("foo{bar}{zap}"), slotOf("bar"));
  assertEquals(slotOf("foo{{bar}}zap"), slotOf("{bar"));
  // These have none: the braces are empty, or only one of them is there.
  for (const key of ["foo{}{bar}", "}{", "{", "}foo{bar", "foo}"]) {
    assertEquals(slotOf(key), slotOfWhole(key));
  }
});

/** The slot by a CRC written another way, of the key as it is. */
function slotOfWhole(key: string): number {
  let bits = "";
  for (const byte of new TextEncoder().encode(key)) {
    bits += byte.toString(2).padStart(8, "0");
  }
  let rest = 0;
  for (const bit of `${bits}${"0".repeat(16)}`) {
    rest = rest << 1 | Number(bit);
    if (rest & 0x10000) rest ^= 0x11021;
  }
  return rest % 16_384;
}
