import { assertEquals, assertRejects, assertStrictEquals } from "@std/assert";
import { FakeClock } from "../../../../tests/support/fake_clock.ts";
import { StoreBusyError } from "../../store/store.ts";
import { inPortions, refusalOf } from "./portions.ts";

const ITEMS = Array.from({ length: 20 }, (_, index) => index);
const BUSY = new StoreBusyError(100);

Deno.test("inPortions() does all at once while there is room", async () => {
  const { sizes, results } = await run((items) => items);
  assertEquals(sizes, [[20, true]]);
  assertEquals(results, ITEMS);
});

Deno.test("inPortions() goes on with smaller portions of what was refused", async () => {
  const { sizes, results } = await run((items) =>
    items.map((item, index) => index < 6 ? item : BUSY)
  );
  assertEquals(sizes, [[20, true], [10, false], [5, false], [3, false]]);
  assertEquals(results, ITEMS);
});

Deno.test("inPortions() waits as long as it is told between two tries", async () => {
  let tries = 0;
  const { sizes, results, tookMs } = await run((items) =>
    tries++ < 5 ? items.map(() => BUSY) : items
  );
  assertEquals(sizes.slice(0, 6).map(([size]) => size), [20, 10, 5, 2, 1, 1]);
  assertEquals(sizes.length, 25);
  assertEquals(results, ITEMS);
  assertEquals(tookMs, 500);
});

Deno.test("inPortions() gives up what is refused again and again", async () => {
  const { sizes, results } = await run((items) =>
    items.map((item) => item < 2 ? item : BUSY)
  );
  assertEquals(sizes.length, 13);
  assertEquals(results, ITEMS.map((item) => item < 2 ? item : -1));
});

Deno.test("inPortions() throws what is no refusal", async () => {
  const error = new Error("disk on fire");
  await assertRejects(
    () =>
      inPortions([1], {
        clock: new FakeClock(),
        work: () => Promise.reject(error).catch((one) => [refusalOf(one)]),
        giveUp: () => 0,
      }),
    Error,
    "disk on fire",
  );
  assertStrictEquals(refusalOf(BUSY), BUSY);
});

async function run(
  work: (items: readonly number[]) => readonly (number | StoreBusyError)[],
) {
  const clock = new FakeClock();
  const startMs = clock.nowMs();
  const sizes: (readonly [number, boolean])[] = [];
  let endMs: number | undefined;
  const running = inPortions(ITEMS, {
    clock,
    work: (items, { isFirst }) => {
      sizes.push([items.length, isFirst]);
      return Promise.resolve(work(items));
    },
    giveUp: () => -1,
  }).finally(() => {
    endMs = clock.nowMs();
  });
  for (let turn = 0; turn < 50; turn++) await clock.advanceAsync(100);
  return { sizes, results: await running, tookMs: (endMs ?? 0) - startMs };
}
