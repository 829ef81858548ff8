import { assertEquals } from "@std/assert";
import { SeededRandom } from "../tests/support/seeded_random.ts";
import { isUtf8, writeUtf8 } from "./utf8.ts";

Deno.test("isUtf8() agrees with the platform's decoder on the borders of every lead byte", () => {
  const seconds = [0, 0x41, 0x7f, 0x80, 0x8f, 0x90, 0x9f, 0xa0, 0xbf, 0xc0];
  const tails = [[0x80, 0x80], [0xbf, 0x41], [0x41, 0x41], [0xbf, 0xbf]];
  for (let lead = 0x7f; lead < 256; lead++) {
    for (const second of seconds) {
      for (const tail of tails) {
        const bytes = Uint8Array.from([lead, second, ...tail]);
        for (let end = 0; end <= 4; end++) {
          const expected = isAccepted(bytes.subarray(0, end));
          assertEquals(isUtf8(bytes, 0, end), expected, `${bytes} to ${end}`);
        }
      }
    }
  }
});

Deno.test("isUtf8() agrees with the platform's decoder on random bytes", () => {
  const random = new SeededRandom(31);
  const parts = [0x41, 0x80, 0xbf, 0xc2, 0xe0, 0xa0, 0xed, 0xf0, 0x90, 0xf4];
  for (let round = 0; round < 20_000; round++) {
    const bytes = Uint8Array.from(
      { length: random.below(9) },
      () => parts[random.below(parts.length)] ?? 0,
    );
    assertEquals(isUtf8(bytes, 0, bytes.length), isAccepted(bytes), `${bytes}`);
  }
});

Deno.test("writeUtf8() writes what the platform's encoder writes, halves of pairs included", () => {
  const random = new SeededRandom(32);
  const units = [
    0x41,
    0x7f,
    0x80,
    0x7ff,
    0x800,
    0xd800,
    0xdbff,
    0xdc00,
    0xdfff,
    0xe000,
    0xffff,
  ];
  for (let round = 0; round < 20_000; round++) {
    const text = String.fromCharCode(
      ...random.list(8, () => units[random.below(units.length)] ?? 0),
    );
    const target = new Uint8Array(text.length * 3 + 1);
    const end = writeUtf8(target, text, 1);
    assertEquals(target.slice(1, end), new TextEncoder().encode(text));
  }
});

function isAccepted(bytes: Uint8Array): boolean {
  try {
    new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    return true;
  } catch {
    return false;
  }
}
