import { assert, assertEquals, assertThrows } from "@std/assert";
import { SeededRandom } from "../../../tests/support/seeded_random.ts";
import {
  decodeIndexEntry,
  encodeIndexEntry,
  MAX_VECTOR_WIDTH,
} from "./index_entry.ts";

const model = "hashed words, größer";
const metadata = { topic: "tea", rank: 2.5, isOld: true };

Deno.test("decodeIndexEntry() gives back every bit of any vector", () => {
  const random = new SeededRandom(9);
  for (const share of [0, 0.01, 0.3, 0.6, 0.7, 1]) {
    for (const width of [0, 1, 2, 1_536]) {
      const vector = Float32Array.from(
        { length: width },
        () => random.chance(share) ? random.next() * 2 - 1 : 0,
      );
      if (width > 1) vector[1] = -0;
      const bytes = encodeIndexEntry({ vector, model, metadata });
      const entry = decodeIndexEntry(bytes);
      assertEquals(entry, { vector, model, metadata });
      assert(Object.is(entry?.vector[1], width > 1 ? -0 : undefined));
    }
  }
});

Deno.test("encodeIndexEntry() is short for vectors that are mostly zeros", () => {
  const vector = new Float32Array(1_536);
  for (let at = 0; at < 100; at++) vector[at * 7] = 0.1;
  const sparse = encodeIndexEntry({ vector, model: "m", metadata: {} }).length;
  assertEquals(sparse, 7 + 1 + 4 + 100 * 6 + 2);
  const dense = encodeIndexEntry({
    vector: vector.fill(1),
    model: "m",
    metadata: {},
  });
  assertEquals(dense.length, 7 + 1 + 1_536 * 4 + 2);
});

Deno.test("decodeIndexEntry() refuses whatever encodeIndexEntry() did not make", () => {
  const vector = new Float32Array(8);
  vector[3] = 1;
  const bytes = encodeIndexEntry({ vector, model: "m", metadata: {} });
  for (let length = 0; length < bytes.length; length++) {
    assertEquals(decodeIndexEntry(bytes.subarray(0, length)), undefined);
  }
  const odd = (at: number, value: number) => {
    const copy = bytes.slice();
    copy[at] = value;
    return decodeIndexEntry(copy);
  };
  assertEquals(odd(0, 3), undefined);
  assertEquals(odd(4, 255), undefined);
  // A name that is longer than all there is, and one that is no UTF-8.
  assertEquals(odd(6, 255), undefined);
  assertEquals(odd(7, 255), undefined);
  assertEquals(odd(11, 255), undefined);
  assertEquals(odd(12, 8), undefined);
  const random = new SeededRandom(1);
  for (let round = 0; round < 3_000; round++) {
    const noise = bytes.slice();
    noise[random.below(noise.length)] = random.below(256);
    decodeIndexEntry(noise);
  }
});

Deno.test("encodeIndexEntry() has bounds", () => {
  const wide = new Float32Array(MAX_VECTOR_WIDTH + 1);
  assertThrows(
    () => encodeIndexEntry({ vector: wide, model, metadata: {} }),
    RangeError,
    "16384 is the most",
  );
  const long = { note: "x".repeat(70_000) };
  assertThrows(
    () =>
      encodeIndexEntry({ vector: new Float32Array(1), model, metadata: long }),
    RangeError,
    "Cannot seal metadata",
  );
  assertThrows(
    () =>
      encodeIndexEntry({
        vector: new Float32Array(1),
        model: "ö".repeat(2_049),
        metadata: {},
      }),
    RangeError,
    "4096 is the most",
  );
});
