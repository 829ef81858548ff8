import { assert, assertEquals, assertRejects } from "@std/assert";
import { FakeClock } from "../../../tests/support/fake_clock.ts";
import { SeededRandom } from "../../../tests/support/seeded_random.ts";
import { createMemoryStore } from "../store/testing/memory_store.ts";
import type { Write } from "../store/store.ts";
import { type RateBound, RateWindow, RateWindows } from "./rate_window.ts";

const BOUND = { count: 3, periodMs: 1_000 };

function add(window: RateWindow, starts: number, nowMs: number): void {
  for (let count = 0; count < starts; count++) window.add(BOUND, nowMs);
}

Deno.test("RateWindow remembers a bounded number of starts when it is never asked", () => {
  const window = new RateWindow();
  // The same holds for a worker whose groups are limited separately.
  for (let nowMs = 0; nowMs < 10_000; nowMs++) add(window, 1, nowMs);
  assert(window.size <= 2 * BOUND.count, `${window.size}`);
  assertEquals(window.room(BOUND, 9_999), 0);
  assertEquals(window.nextAtMs(BOUND, 9_999), 10_997);
  assertEquals(window.room(BOUND, 10_999), BOUND.count);
  assertEquals(window.size, 0);
});

Deno.test("RateWindow has room again when a start is a period old", () => {
  const window = new RateWindow();
  add(window, 1, 0);
  add(window, 2, 400);
  assertEquals(window.room(BOUND, 400), 0);
  assertEquals(window.nextAtMs(BOUND, 400), 1_000);
  assertEquals(window.room(BOUND, 999), 0);
  assertEquals(window.room(BOUND, 1_000), 1);
  assertEquals(window.nextAtMs(BOUND, 1_000), 1_000);
  assertEquals(window.room(BOUND, 1_400), 3);
  assertEquals(window.size, 0);
});

Deno.test("RateWindow counts starts of the future as starts of now", () => {
  const window = new RateWindow();
  add(window, 3, 10_000);
  assertEquals(window.room(BOUND, 5_000), 0);
  assertEquals(window.nextAtMs(BOUND, 5_000), 6_000);
  assertEquals(window.room(BOUND, 6_000), 3);
});

Deno.test("RateWindow counts a start from before the clock was set back as one of the time of the next start", () => {
  const window = new RateWindow();
  add(window, 1, 900);
  add(window, 1, 90_000);
  add(window, 1, 2_000);
  assertEquals(window.room(BOUND, 2_500), 1);
  assertEquals(window.room(BOUND, 3_000), 3);
});

Deno.test("RateWindow follows a bound that is changed", () => {
  const window = new RateWindow();
  add(window, 3, 0);
  assertEquals(window.room({ count: 5, periodMs: 1_000 }, 1), 2);
  assertEquals(window.room({ count: 1, periodMs: 1_000 }, 1), 0);
  assertEquals(window.nextAtMs({ count: 1, periodMs: 1_000 }, 1), 1_000);
});

Deno.test("RateWindow never lets more start in any period", () => {
  const random = new SeededRandom(7);
  const window = new RateWindow();
  const starts: number[] = [];
  for (let nowMs = 0; nowMs < 60_000; nowMs += random.below(200)) {
    const room = window.room(BOUND, nowMs);
    const begun = Math.min(room, random.below(3));
    add(window, begun, nowMs);
    for (let count = 0; count < begun; count++) starts.push(nowMs);
  }
  assert(starts.length > 150);
  for (let index = 3; index < starts.length; index++) {
    assert((starts[index] ?? 0) - (starts[index - 3] ?? 0) >= 1_000);
  }
});

Deno.test("RateWindow counts by each of several bounds, if it remembers enough", () => {
  const widest = { count: 4, periodMs: 10_000 };
  const short = { count: 2, periodMs: 1_000 };
  const window = new RateWindow();
  for (const atMs of [0, 500, 5_000, 5_900]) window.add(widest, atMs);
  assertEquals(window.room(short, 6_000, widest), 1);
  assertEquals(window.room(widest, 6_000), 0);
  assertEquals(window.nextAtMs(widest, 6_000), 10_000);
  window.add(widest, 5_950);
  assertEquals(window.nextAtMs(short, 6_000, widest), 6_900);
  assert(window.size >= widest.count);
});

const OF = { tenantId: "tnt_a", workerId: "wrk_a" } as const;

function start(group: string, atMs: number): Write {
  return { kind: "start", ...OF, group, atMs, expiresAtMs: atMs + 1_000 };
}

Deno.test("RateWindows reads what any instance has added, each start once", async () => {
  const clock = new FakeClock(5_000);
  const store = createMemoryStore({ clock });
  const [one, other] = [new RateWindows(OF), new RateWindows(OF)];
  const groups = ["a", "b", "c"];
  await store.commit([{ writes: [start("a", 4_500), start("b", 4_600)] }]);
  assertEquals(await one.follow(store, BOUND), 5_000);
  assertEquals(one.room("a", BOUND, 5_000), undefined);
  await store.commit([{ writes: [start("a", 4_700)] }]);
  for (const windows of [one, other, one]) {
    // What is read before the news of the last claim is not counted twice.
    await windows.learn(store, groups);
    await windows.follow(store, BOUND);
    await windows.learn(store, groups);
    assertEquals(
      groups.map((group) => windows.room(group, BOUND, 5_000)),
      [1, 2, 3],
    );
    assertEquals(windows.nextAtMs("a", BOUND, 5_000), 5_000);
  }
  await store.commit([{ writes: [start("a", 4_800)] }]);
  await one.follow(store, BOUND);
  assertEquals(one.nextAtMs("a", BOUND, 5_000), 5_500);
});

Deno.test("RateWindows reads everything again when the bound has changed, or all was forgotten", async () => {
  const store = createMemoryStore({ clock: new FakeClock(5_000) });
  const windows = new RateWindows(OF);
  const writes = Array.from({ length: 9 }, () => start("", 4_900));
  await store.commit([{ writes }]);
  const room = async (bound: RateBound) => {
    await windows.follow(store, bound);
    await windows.learn(store, [""]);
    return windows.room("", bound, 5_000);
  };
  assertEquals(await room(BOUND), 0);
  const wide = { count: 10, periodMs: 1_000 };
  assertEquals(await room(wide), 1);
  windows.forget();
  assertEquals(windows.room("", wide, 5_000), undefined);
  assertEquals(await room(wide), 1);
});

Deno.test("RateWindows has read all that it asked for when a read fails", async () => {
  const store = createMemoryStore({ clock: new FakeClock(5_000) });
  const windows = new RateWindows(OF);
  await windows.follow(store, BOUND);
  const slow = Promise.withResolvers<void>();
  let answers = 0;
  const learning = windows.learn({
    starts: async (query) => {
      if (query.group === "a") throw new RangeError("it failed");
      await slow.promise;
      answers++;
      return await store.starts(query);
    },
  }, ["a", "b", "c"]);
  slow.resolve();
  await assertRejects(() => learning, RangeError);
  assertEquals(answers, 2);
});

Deno.test("RateWindows follows more starts than there are on a page, and begins anew when it is far behind", async () => {
  const bound = { count: 100_000, periodMs: 1_000 };
  for (const added of [4_500, 30_000]) {
    const store = createMemoryStore({ clock: new FakeClock(5_000) });
    const windows = new RateWindows(OF);
    await windows.follow(store, bound);
    await windows.learn(store, [""]);
    assertEquals(windows.room("", bound, 5_000), 100_000);
    const writes = Array.from({ length: added }, () => start("", 4_900));
    await store.commit([{ writes }]);
    await windows.follow(store, bound);
    await windows.learn(store, [""]);
    assertEquals(windows.room("", bound, 5_000), 100_000 - added);
  }
});

Deno.test("RateWindows never lets more start in any period than the bound, however few groups it remembers", async () => {
  const random = new SeededRandom(11);
  const store = createMemoryStore({ clock: new FakeClock(0) });
  const open = () => new RateWindows({ ...OF, maxWeight: 100 });
  let instances = [open(), open()];
  const starts = new Map<string, number[]>();
  for (let nowMs = 0; nowMs < 40_000; nowMs += random.below(30)) {
    if (random.chance(0.01)) instances = [open(), open()];
    const windows = random.pick(instances);
    const groups = [1, 2].map(() => `g${random.below(12)}`);
    await windows.follow(store, BOUND);
    await windows.learn(store, groups);
    for (const group of new Set(groups)) {
      const before = starts.get(group) ?? [];
      const left = BOUND.count -
        before.filter((atMs) => atMs > nowMs - BOUND.periodMs).length;
      const room = windows.room(group, BOUND, nowMs);
      assertEquals(room, left);
      const begun = Math.min(left, random.below(3));
      const writes = Array.from({ length: begun }, () => start(group, nowMs));
      await store.commit([{ writes }]);
      starts.set(group, [...before, ...writes.map(() => nowMs)]);
    }
  }
  assertEquals(starts.size, 12);
  for (const all of starts.values()) {
    assert(all.length > 30);
    for (let index = 3; index < all.length; index++) {
      assert((all[index] ?? 0) - (all[index - 3] ?? 0) >= BOUND.periodMs);
    }
  }
});
