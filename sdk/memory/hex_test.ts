import { assertEquals } from "@std/assert";
import { decodeHex, encodeHex } from "./hex.ts";

Deno.test("decodeHex() undoes encodeHex() for every byte", () => {
  const bytes = Uint8Array.from({ length: 256 }, (_, at) => at);
  assertEquals(decodeHex(encodeHex(bytes)), bytes);
  assertEquals(decodeHex(encodeHex(bytes).toUpperCase()), bytes);
});

Deno.test("decodeHex() is undefined when the text is anything else", () => {
  for (const text of ["f", "0x", "0g", " 00", "00\n", "١٢", "+1"]) {
    assertEquals(decodeHex(text), undefined, text);
  }
  assertEquals(decodeHex(""), new Uint8Array(0));
});
