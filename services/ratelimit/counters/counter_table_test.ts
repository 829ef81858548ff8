import { assert, assertEquals } from "@std/assert";
import { SeededRandom } from "../../../tests/support/seeded_random.ts";
import type { CounterOperation } from "./counter_store.ts";
import { CounterTable, shareCounters } from "./counter_table.ts";
import { SlidingWindow } from "./sliding_window.ts";
import { TokenBucket } from "./token_bucket.ts";

const encoder = new TextEncoder();

/** Returns the key bytes and the operation of a counter. */
function createCounter(
  key: string,
  options: Partial<CounterOperation> = {},
): readonly [Uint8Array, CounterOperation] {
  const keys = encoder.encode(key);
  return [keys, {
    algorithm: "fixed_window",
    keyStart: 0,
    keyEnd: keys.length,
    hits: 1,
    limit: 10,
    windowSeconds: 60,
    ...options,
  }];
}

Deno.test("CounterTable keeps what was set by key, algorithm and window", () => {
  const table = new CounterTable();
  const counters = [
    createCounter("a"),
    createCounter("a", { windowSeconds: 3_600 }),
    createCounter("a", { windowSeconds: 31_622_400 }),
    createCounter("a", { algorithm: "token_bucket" }),
    createCounter("a", { algorithm: "sliding_window" }),
    createCounter("aa"),
    createCounter(""),
    createCounter("l".repeat(247)),
    createCounter("l".repeat(248)),
    createCounter("l".repeat(4_000)),
  ] as const;
  for (const [i, [keys, operation]] of counters.entries()) {
    assertEquals(table.find(keys, operation), -1);
    const position = table.add();
    table.setCount(position, i);
    table.setLimit(position, 2 * i);
    table.setEnd(position, 3 * i, 4.5 * i);
  }
  assertEquals(table.size, counters.length);
  for (const [i, [keys, operation]] of counters.entries()) {
    const position = table.find(keys, operation);
    assertEquals([
      table.countAt(position),
      table.limitAt(position),
      table.secondsToEndAt(position, 0),
      table.endMsAt(position),
      table.windowSecondsAt(position),
    ], [i, 2 * i, 3 * i, 4.5 * i, operation.windowSeconds]);
  }
});

Deno.test("CounterTable.secondsToEndAt() is exact at any time of day", () => {
  const table = new CounterTable();
  const [keys, operation] = createCounter("a");
  table.find(keys, operation);
  const position = table.add();
  for (const nowSeconds of [0, 1_700_000_000, 2 ** 32 - 5, 2 ** 32, 2 ** 40]) {
    for (const seconds of [-31_622_400, -1, 0, 1, 10, 31_622_400]) {
      table.setEnd(position, nowSeconds + seconds, 0);
      assertEquals(table.secondsToEndAt(position, nowSeconds), seconds);
    }
  }
});

const ALGORITHMS = ["fixed_window", "sliding_window", "token_bucket"] as const;

/** Returns a paced counter of one algorithm that has counted some hits. */
function pacedAfter(
  algorithm: "sliding_window" | "token_bucket",
  hits: number,
): SlidingWindow | TokenBucket {
  const paced = algorithm === "sliding_window"
    ? new SlidingWindow()
    : new TokenBucket();
  // The hits take up to 60 slices, which take up to 31 cells.
  for (let hit = 0; hit < hits; hit++) {
    const operation = { hits: 1, limit: 1_000, windowSeconds: 60 };
    paced.apply(operation, 1_000_000 * (100 + hit));
  }
  return paced;
}

function readNumbers(paced: SlidingWindow | TokenBucket): readonly number[] {
  const numbers = new Float64Array(200);
  return [...numbers.subarray(0, paced.writeTo(numbers))];
}

for (const isShared of [false, true]) {
  const name = isShared ? "CounterTable in shared memory" : "CounterTable";
  Deno.test(`${name} does as a Map does, however counters come and go`, () => {
    const random = new SeededRandom(17);
    for (let seed = 0; seed < 3; seed++) {
      const table = new CounterTable(
        isShared ? { shared: shareCounters(3_000) } : { seed },
      );
      const expected = new Map<string, number>();
      const paced = new Map<string, SlidingWindow | TokenBucket>();
      for (let step = 0; step < 20_000; step++) {
        const number = random.below(4_000);
        const key = `${"k".repeat(number % 70)} ${number}`;
        const algorithm = ALGORITHMS[number % 3]!;
        let position = table.find(...createCounter(key, { algorithm }));
        assertEquals(position >= 0, expected.has(key));
        if (position < 0) {
          // Removed counters leave room for new ones, whatever room these need.
          if (!table.hasRoom || table.size >= 3_000) continue;
          position = table.add();
          table.setLimit(position, number);
          expected.set(key, number);
        } else if (random.chance(step % 10_000 < 6_000 ? 0.3 : 0.9)) {
          table.remove(position);
          expected.delete(key);
          paced.delete(key);
          continue;
        }
        assertEquals(table.limitAt(position), number);
        if (algorithm === "fixed_window") {
          assertEquals(table.pacedAlgorithmAt(position), undefined);
          continue;
        }
        assertEquals(table.pacedAlgorithmAt(position), algorithm);
        const kept = pacedAfter(algorithm, 0);
        const known = paced.get(key);
        if (known !== undefined) {
          table.loadPaced(position, kept);
          assertEquals(readNumbers(kept), readNumbers(known));
        }
        const next = pacedAfter(algorithm, random.below(60));
        table.savePaced(position, next);
        assertEquals(table.wholeAtMicrosAt(position), next.wholeAtMicros);
        paced.set(key, next);
      }
      assertEquals(table.size, expected.size);
      const limits = Array.from(
        { length: table.size },
        (_, position) => table.limitAt(position),
      );
      assertEquals(
        limits.sort((a, b) => a - b),
        [...expected.values()].sort((a, b) => a - b),
      );
    }
  });
}

Deno.test("CounterTable.hasRoom is false in shared memory when a sliding window would not fit any longer", () => {
  const table = new CounterTable({ shared: shareCounters(100_000) });
  let windows = 0;
  for (; table.hasRoom; windows++) {
    const [keys, operation] = createCounter(String(windows), {
      algorithm: "sliding_window",
    });
    assertEquals(table.find(keys, operation), -1);
    table.savePaced(table.add(), pacedAfter("sliding_window", 60));
  }
  assert(windows > 10_000 && windows < 100_000, `${windows} windows`);
  table.remove(0);
  assert(table.hasRoom);
});

Deno.test("CounterTable.clear() makes a table in shared memory usable again, whatever is in it", () => {
  const shared = shareCounters(1_000);
  const table = new CounterTable({ shared });
  for (let i = 0; i < 500; i++) {
    table.find(...createCounter(`key ${i}`));
    table.add();
  }
  // The slots look as if a thread had ended between two steps.
  new Uint32Array(shared.slots).fill(77);
  table.clear();
  assertEquals(table.size, 0);
  for (let i = 0; i < 1_000; i++) {
    assertEquals(table.find(...createCounter(`key ${i}`)), -1);
    table.add();
  }
  for (let i = 0; i < 1_000; i++) {
    assert(table.find(...createCounter(`key ${i}`)) >= 0);
  }
});

Deno.test("CounterTable keeps nothing of the keys that it was asked for", () => {
  const table = new CounterTable();
  const [keys, operation] = createCounter("before");
  table.find(keys, operation);
  table.add();
  keys.fill(0x7a);
  assertEquals(table.find(keys, operation), -1);
  assertEquals(table.find(...createCounter("before")), 0);
});
