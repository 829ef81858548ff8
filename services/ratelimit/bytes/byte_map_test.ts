import { assert, assertEquals, assertNotEquals } from "@std/assert";
import { SeededRandom } from "../../../tests/support/seeded_random.ts";
import { ByteMap, hashBytes } from "./byte_map.ts";

const encoder = new TextEncoder();

/** Returns the bytes of a key as text, to use it as a key of a `Map`. */
function keyText(key: Uint8Array): string {
  return String.fromCharCode(...key);
}

Deno.test("hashBytes() gives the same hash when the bytes lie elsewhere", () => {
  const padded = encoder.encode("xxxdomain_key_valueyyy");
  const plain = encoder.encode("domain_key_value");
  assertEquals(
    hashBytes(padded, 3, 3 + plain.length, 99),
    hashBytes(plain, 0, plain.length, 99),
  );
});

Deno.test("hashBytes() uses the whole seed", () => {
  const bytes = encoder.encode("domain_key_value");
  const hashes = new Set<number>();
  for (const seed of [0, 1, 2 ** 31, 2 ** 32, 2 ** 33, 2 ** 52 + 1]) {
    hashes.add(hashBytes(bytes, 0, bytes.length, seed));
  }
  assertEquals(hashes.size, 6);
});

Deno.test("hashBytes() tells zero bytes and lengths apart", () => {
  const zeros = new Uint8Array(300);
  const hashes = new Set<number>();
  for (let length = 0; length < 256; length++) {
    hashes.add(hashBytes(zeros, 0, length, 5));
  }
  assertEquals(hashes.size, 256);
});

Deno.test("hashBytes() flips about half the bits when one bit changes", () => {
  const source = new SeededRandom(11);
  const random = (): number => source.next();
  let flipped = 0;
  let trials = 0;
  for (let round = 0; round < 200; round++) {
    const length = 1 + Math.floor(random() * 60);
    const bytes = Uint8Array.from({ length }, () => random() * 256);
    const before = hashBytes(bytes, 0, length, 77);
    for (let bit = 0; bit < length * 8; bit += 3) {
      bytes[bit >> 3]! ^= 1 << (bit & 7);
      const changed = before ^ hashBytes(bytes, 0, length, 77);
      bytes[bit >> 3]! ^= 1 << (bit & 7);
      for (let i = 0; i < 32; i++) flipped += changed >>> i & 1;
      trials++;
    }
  }
  const mean = flipped / trials;
  assert(mean > 15.5 && mean < 16.5, `mean of ${mean} bits`);
});

Deno.test("hashBytes() does not let keys collide under one seed that collide under another", () => {
  const count = 60_000;
  const byHash = new Map<number, number>();
  const bytes = new Uint8Array(8);
  const view = new DataView(bytes.buffer);
  const pairs: Array<[number, number]> = [];
  for (let i = 0; i < count * 4; i++) {
    view.setUint32(0, i);
    const hash = hashBytes(bytes, 0, 8, 1);
    const other = byHash.get(hash);
    if (other !== undefined) pairs.push([other, i]);
    byHash.set(hash, i);
  }
  assert(pairs.length > 0, "no collision to look at");
  for (const [first, second] of pairs) {
    view.setUint32(0, first);
    const hash = hashBytes(bytes, 0, 8, 2);
    view.setUint32(0, second);
    assertNotEquals(hash, hashBytes(bytes, 0, 8, 2));
  }
});

Deno.test("ByteMap spreads keys that differ in one place over all slots", () => {
  const buckets = new Uint32Array(1024);
  const count = 102_400;
  for (let i = 0; i < count; i++) {
    const key = encoder.encode(`domain_remote_address_10.0.0.0_${i}_`);
    buckets[hashBytes(key, 0, key.length, 1234) & 1023]!++;
  }
  let chiSquare = 0;
  for (const found of buckets) chiSquare += (found - 100) ** 2 / 100;
  // 1023 degrees of freedom: mean 1023, standard deviation 45.
  assert(chiSquare > 800 && chiSquare < 1250, `chi square ${chiSquare}`);
});

Deno.test("ByteMap does what Map does in 100000 operations", () => {
  const source = new SeededRandom(20);
  const random = (): number => source.next();
  const map = new ByteMap<number>({ seed: 42 });
  const model = new Map<string, number>();
  const buffer = new Uint8Array(400);
  for (let step = 0; step < 100_000; step++) {
    const start = Math.floor(random() * 8);
    // Few keys at first, then many, so that both replacing and growing happen.
    const variety = step < 30_000 ? 60 : 6_000;
    const key = Math.floor(random() * variety);
    const length = key % 7 === 0 ? key % 3 : 4 + key % 90;
    const end = start + length;
    buffer.fill(key & 1, start, end);
    for (let i = 0; i < Math.min(4, length); i++) {
      buffer[start + i] = key >>> (8 * i) & 255;
    }
    const text = keyText(buffer.subarray(start, end));
    const choice = random();
    if (choice < 0.45) {
      map.set(buffer, start, end, step);
      model.set(text, step);
    } else if (choice < 0.8) {
      assertEquals(map.delete(buffer, start, end), model.delete(text));
    } else {
      assertEquals(map.get(buffer, start, end), model.get(text));
    }
    if (map.size !== model.size) {
      assertEquals(map.size, model.size, `after step ${step}`);
    }
    if (step % 10_000 === 9_999) {
      // assertEquals() compares each entry of a map with each of another one.
      const found = new Set<string>();
      for (const [bytes, value] of map.entries()) {
        const text = keyText(bytes);
        found.add(text);
        if (model.get(text) !== value) assertEquals(value, model.get(text));
      }
      assertEquals(found.size, model.size);
    }
  }
});

Deno.test("ByteMap.deleteAt() moves the last entry to the hole", () => {
  const source = new SeededRandom(3);
  const random = (): number => source.next();
  const map = new ByteMap<string>({ seed: 7 });
  const left = new Set<string>();
  for (let i = 0; i < 2_000; i++) {
    const text = `key ${i} `.repeat(1 + i % 9);
    const key = encoder.encode(text);
    map.set(key, 0, key.length, text);
    left.add(text);
  }
  while (map.size > 0) {
    const position = Math.floor(random() * map.size);
    const text = map.valueAt(position)!;
    const last = map.valueAt(map.size - 1);
    assert(map.deleteAt(position));
    left.delete(text);
    const key = encoder.encode(text);
    assertEquals(map.get(key, 0, key.length), undefined);
    if (position < map.size) assertEquals(map.valueAt(position), last);
    if (map.size % 100 === 0) {
      for (const other of left) {
        const bytes = encoder.encode(other);
        assertEquals(map.get(bytes, 0, bytes.length), other);
      }
    }
  }
  assertEquals(left.size, 0);
  assertEquals(map.deleteAt(0), false);
  assertEquals(map.valueAt(0), undefined);
});

Deno.test("ByteMap copies keys", () => {
  const map = new ByteMap<number>();
  const key = encoder.encode("first");
  map.set(key, 0, 5, 1);
  key.set(encoder.encode("other"));
  assertEquals(map.get(key, 0, 5), undefined);
  key.set(encoder.encode("first"));
  assertEquals(map.get(key, 0, 5), 1);
});

Deno.test("ByteMap keeps an empty key and undefined values apart from nothing", () => {
  const map = new ByteMap<number | undefined>();
  const none = new Uint8Array(0);
  assertEquals(map.delete(none, 0, 0), false);
  map.set(none, 0, 0, undefined);
  assertEquals(map.size, 1);
  assertEquals([...map.entries()], [[none, undefined]]);
  assertEquals(map.delete(none, 0, 0), true);
  assertEquals(map.size, 0);
});
