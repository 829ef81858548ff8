import { fromBase58, toBase58 } from "npm:@mysten/bcs@^2.1.2";
import { assertEquals } from "@std/assert";
import { SeededRandom } from "../../../tests/support/seeded_random.ts";
import { decodeDigest, encodeBase58 } from "./digest.ts";

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

Deno.test("decodeDigest() reads what the public client writes, and nothing else", () => {
  const random = new SeededRandom(8);
  for (let round = 0; round < 200; round++) {
    const bytes = random.bytes(32);
    bytes.fill(0, 0, random.below(33));
    const text = toBase58(bytes);
    assertEquals(encodeBase58(bytes), text);
    assertEquals(decodeDigest(text), bytes);
    assertEquals(fromBase58(text), bytes);
  }
  const text = toBase58(new Uint8Array(32).fill(255));
  for (
    const wrong of [
      "",
      "1",
      "0",
      `1${text}`,
      `${text}1`,
      `${text.slice(0, -1)}l`,
      "z".repeat(44),
      "z".repeat(100_000),
    ]
  ) {
    assertEquals(decodeDigest(wrong), undefined, wrong.slice(0, 50));
  }
});
