/**
 * Compares a lookup by bytes in a `ByteMap` with decoding the bytes and looking
 * the text up in a `Map`.
 *
 * @module
 */

import { ByteMap } from "../../services/ratelimit/bytes/byte_map.ts";

const KEYS = 10_000;
const LOOKUPS = 10_000;

for (const length of [16, 48, 160]) {
  const group = `get, ${length} bytes`;
  const bytes = makeKeys(length);
  const byteMap = new ByteMap<number>();
  const stringMap = new Map<string, number>();
  const decoder = new TextDecoder("latin1");
  for (let i = 0; i < KEYS; i++) {
    const start = i * length;
    byteMap.set(bytes, start, start + length, i);
    stringMap.set(decoder.decode(bytes.subarray(start, start + length)), i);
  }

  Deno.bench(`ByteMap, ${LOOKUPS} lookups`, { group, baseline: true }, () => {
    let sum = 0;
    for (let i = 0; i < LOOKUPS; i++) {
      const start = (i * 7919 % KEYS) * length;
      sum += byteMap.get(bytes, start, start + length)!;
    }
    if (sum === 0) throw new Error("Cannot find any key");
  });

  Deno.bench(`Map of latin1 strings, ${LOOKUPS} lookups`, { group }, () => {
    let sum = 0;
    for (let i = 0; i < LOOKUPS; i++) {
      const start = (i * 7919 % KEYS) * length;
      const key = decoder.decode(bytes.subarray(start, start + length));
      sum += stringMap.get(key)!;
    }
    if (sum === 0) throw new Error("Cannot find any key");
  });

  const filling = `fill and empty, ${length} bytes`;
  Deno.bench(
    `ByteMap, ${KEYS} keys`,
    { group: filling, baseline: true },
    () => {
      const map = new ByteMap<number>();
      for (let i = 0; i < KEYS; i++) {
        map.set(bytes, i * length, (i + 1) * length, i);
      }
      for (let i = 0; i < KEYS; i++) {
        map.delete(bytes, i * length, (i + 1) * length);
      }
    },
  );

  Deno.bench(`Map of latin1 strings, ${KEYS} keys`, { group: filling }, () => {
    const map = new Map<string, number>();
    for (let i = 0; i < KEYS; i++) {
      map.set(decoder.decode(bytes.subarray(i * length, (i + 1) * length)), i);
    }
    for (let i = 0; i < KEYS; i++) {
      map.delete(decoder.decode(bytes.subarray(i * length, (i + 1) * length)));
    }
  });
}

function makeKeys(length: number): Uint8Array {
  const bytes = new Uint8Array(KEYS * length).fill(0x61);
  const encoder = new TextEncoder();
  for (let i = 0; i < KEYS; i++) {
    const number = String(i).padStart(8, "0");
    bytes.set(encoder.encode(number), (i + 1) * length - number.length);
  }
  return bytes;
}
