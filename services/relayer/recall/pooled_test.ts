import { assertEquals, assertRejects } from "@std/assert";
import { pooled } from "./pooled.ts";

Deno.test("pooled() keeps the order and the bound", async () => {
  const { signal } = new AbortController();
  let atOnce = 0;
  let most = 0;
  const items = Array.from({ length: 20 }, (_, at) => at);
  const results = await pooled(items, {
    parallel: 3,
    signal,
    work: async (item) => {
      most = Math.max(most, ++atOnce);
      for (let turn = 20 - item; turn > 0; turn--) await Promise.resolve();
      atOnce--;
      return item * 2;
    },
  });
  assertEquals(results, items.map((item) => item * 2));
  assertEquals(most, 3);
  assertEquals(await pooled([], { parallel: 3, signal, work: fail }), []);
});

Deno.test("pooled() begins nothing after a failure or its signal", async () => {
  const controller = new AbortController();
  const begun: number[] = [];
  await assertRejects(() =>
    pooled([1, 2, 3, 4], {
      parallel: 1,
      signal: controller.signal,
      work: (item) => {
        begun.push(item);
        return item === 2 ? fail() : Promise.resolve();
      },
    }), RangeError);
  assertEquals(begun, [1, 2]);
  await assertRejects(() =>
    pooled([5, 6, 7], {
      parallel: 1,
      signal: controller.signal,
      work: (item) => {
        begun.push(item);
        controller.abort();
        return Promise.resolve();
      },
    }), DOMException);
  assertEquals(begun, [1, 2, 5]);
});

function fail(): Promise<never> {
  return Promise.reject(new RangeError("no"));
}
