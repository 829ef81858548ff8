import { assert, assertEquals } from "@std/assert";
import { SeededRandom } from "../../../tests/support/seeded_random.ts";
import type { CounterOperation } from "./counter_store.ts";
import { CounterTable } from "./counter_table.ts";
import { TokenBucket } from "./token_bucket.ts";

const encoder = new TextEncoder();

/** The key bytes and the operation of a counter. */
function counterOf(
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
    counterOf("a"),
    counterOf("a", { windowSeconds: 3_600 }),
    counterOf("a", { windowSeconds: 60 + 2 ** 32 }),
    counterOf("a", { algorithm: "token_bucket" }),
    counterOf("a", { algorithm: "sliding_window" }),
    counterOf("aa"),
    counterOf(""),
    counterOf("l".repeat(247)),
    counterOf("l".repeat(248)),
    counterOf("l".repeat(4_000)),
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
      table.endSecondsAt(position),
      table.endMsAt(position),
      table.windowSecondsAt(position),
    ], [i, 2 * i, 3 * i, 4.5 * i, operation.windowSeconds]);
  }
});

Deno.test("CounterTable does as a Map does, however counters come and go", () => {
  const random = new SeededRandom(17);
  for (let seed = 0; seed < 3; seed++) {
    const table = new CounterTable({ seed });
    const expected = new Map<string, number>();
    const buckets = new Map<string, TokenBucket>();
    for (let step = 0; step < 30_000; step++) {
      const name = `${"k".repeat(random.below(70))} ${random.below(4_000)}`;
      const algorithm = name.length % 7 === 0 ? "token_bucket" : "fixed_window";
      const position = table.find(...counterOf(name, { algorithm }));
      assertEquals(position >= 0, expected.has(name));
      if (position < 0) {
        const added = table.add();
        table.setCount(added, step);
        expected.set(name, step);
        if (algorithm === "token_bucket") {
          const bucket = new TokenBucket();
          table.setPaced(added, bucket);
          buckets.set(name, bucket);
        } else assertEquals(table.pacedAt(added), undefined);
      } else {
        assertEquals(table.countAt(position), expected.get(name));
        assert(table.pacedAt(position) === buckets.get(name));
        if (random.chance(step % 10_000 < 6_000 ? 0.3 : 0.9)) {
          table.remove(position);
          expected.delete(name);
          buckets.delete(name);
        }
      }
    }
    assertEquals(table.size, expected.size);
    const counts = Array.from(
      { length: table.size },
      (_, position) => table.countAt(position),
    );
    assertEquals(
      counts.sort((a, b) => a - b),
      [...expected.values()].sort((a, b) => a - b),
    );
  }
});

Deno.test("CounterTable keeps nothing of the keys that it was asked for", () => {
  const table = new CounterTable();
  const [keys, operation] = counterOf("before");
  table.find(keys, operation);
  table.add();
  keys.fill(0x7a);
  assertEquals(table.find(keys, operation), -1);
  assertEquals(table.find(...counterOf("before")), 0);
});
