import { assertEquals } from "@std/assert";
import { encodeBase58 } from "./account_object.ts";

Deno.test("encodeBase58() writes numbers to the base of 58", () => {
  const vectors: readonly (readonly [string, string])[] = [
    ["", ""],
    ["00", "1"],
    ["0000", "11"],
    ["39", "z"],
    ["3a", "21"],
    ["003a", "121"],
    ["48656c6c6f20576f726c6421", "2NEpo7TZRRrLZSi2U"],
    ["0000287fb4cd", "11233QC4"],
  ];
  for (const [hex, text] of vectors) {
    assertEquals(encodeBase58(Uint8Array.fromHex(hex)), text, hex);
  }
});
