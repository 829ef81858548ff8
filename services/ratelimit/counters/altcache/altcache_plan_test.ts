import { assertEquals } from "@std/assert";
import {
  altcacheCount,
  decideAltcacheBatch,
  planAltcacheBatch,
} from "./altcache_plan.ts";
import type { CounterBatch, CounterOperation } from "../counter_store.ts";

const MOST = Number.MAX_SAFE_INTEGER;

function batchOf(
  ...touches: readonly (readonly [string, number, number?])[]
): CounterBatch {
  const keys = new TextEncoder().encode(touches.map(([key]) => key).join(""));
  let at = 0;
  const operations = touches.map(([key, hits, windowSeconds = 60]) => {
    const keyStart = at;
    at += key.length;
    return {
      algorithm: "fixed_window",
      keyStart,
      keyEnd: at,
      hits,
      limit: 10,
      windowSeconds,
    } satisfies CounterOperation;
  });
  return { keys, operations, nowSeconds: 7_200 };
}

Deno.test("planAltcacheBatch() names each counter once", () => {
  const plan = planAltcacheBatch(
    batchOf(["a_", 1], ["b_", 1], ["a_", 2], ["a_", 1, 3_600]),
  );
  assertEquals(plan.keys, ["a_7200", "b_7200"]);
  assertEquals(plan.operations.map(({ key }) => key), [0, 1, 0, 0]);
  // Windows of two lengths that begin together share a name; the longer counts.
  assertEquals(plan.windowSeconds, [3_600, 60]);
});

Deno.test("decideAltcacheBatch() lets operations on one counter see each other", () => {
  const batch = batchOf(["a_", 3], ["b_", 1], ["a_", 0], ["a_", -9], ["a_", 4]);
  assertEquals(
    decideAltcacheBatch(planAltcacheBatch(batch), [5, 7]),
    { results: [8, 8, 8, 0, 4], changes: [-1, 1] },
  );
});

Deno.test("decideAltcacheBatch() never carries a counter beyond its bounds", () => {
  const batch = batchOf(["a_", 2 ** 64], ["b_", 5], ["c_", -5]);
  assertEquals(
    decideAltcacheBatch(planAltcacheBatch(batch), [10, MOST, 2]),
    { results: [MOST, MOST, 0], changes: [MOST - 10, 0, -2] },
  );
});

Deno.test("decideAltcacheBatch() only reads elsewhere when a counter goes over and that stops the others", () => {
  const batch = {
    ...batchOf(["a_", 1], ["b_", 5], ["c_", 1], ["d_", -2], ["b_", 1]),
    stopWhenOver: true,
  };
  const plan = planAltcacheBatch(batch);
  // The limit is 10.
  assertEquals(decideAltcacheBatch(plan, [9, 4, 0, 3]), {
    results: [10, 9, 1, 1, 10],
    changes: [1, 6, 1, -2],
  });
  assertEquals(decideAltcacheBatch(plan, [9, 5, 0, 3]), {
    results: [9, 10, 0, 1, 11],
    changes: [0, 6, 0, -2],
  });
});

Deno.test("altcacheCount() reads numbers of 64 bits and blanks behind them", () => {
  assertEquals(altcacheCount(undefined), 0);
  assertEquals(altcacheCount("0  "), 0);
  assertEquals(altcacheCount("99 "), 99);
  assertEquals(altcacheCount("4294967296"), 2 ** 32);
  assertEquals(altcacheCount("9007199254740991"), MOST);
  assertEquals(altcacheCount("18446744073709551615"), MOST);
});

Deno.test("altcacheCount() takes nothing else for a number", () => {
  for (
    const value of ["", " ", "-1", "1.5", "1e3", "0x1", " 1", "1\n", "NaN"]
  ) {
    assertEquals(altcacheCount(value), undefined, value);
  }
});
