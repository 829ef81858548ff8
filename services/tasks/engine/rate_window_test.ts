import { assert, assertEquals } from "@std/assert";
import { FakeClock } from "../../../tests/support/fake_clock.ts";
import { SeededRandom } from "../../../tests/support/seeded_random.ts";
import { createMemoryStore } from "../store/testing/memory_store.ts";
import type { Write } from "../store/store.ts";
import { RateWindow, RateWindows } from "./rate_window.ts";

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

Deno.test("RateWindows.follow() reads what any instance has added, each start once", async () => {
  const clock = new FakeClock(5_000);
  const store = createMemoryStore({ clock });
  const [one, other] = [new RateWindows(OF), new RateWindows(OF)];
  assertEquals(one.follows(BOUND), false);
  await store.commit([{ writes: [start("a", 4_500), start("b", 4_600)] }]);
  assertEquals(await one.follow(store, BOUND), 5_000);
  await store.commit([{ writes: [start("a", 4_700)] }]);
  for (const windows of [one, other, one]) {
    await windows.follow(store, BOUND);
    assert(windows.follows(BOUND));
    assertEquals(windows.room("a", BOUND, 5_000), 1);
    assertEquals(windows.room("b", BOUND, 5_000), 2);
    assertEquals(windows.room("c", BOUND, 5_000), 3);
    assertEquals(windows.nextAtMs("a", BOUND, 5_000), 5_000);
  }
  await store.commit([{ writes: [start("a", 4_800)] }]);
  await one.follow(store, BOUND);
  assertEquals(one.nextAtMs("a", BOUND, 5_000), 5_500);
});

Deno.test("RateWindows.follow() reads everything again when the bound has changed, or all was forgotten", async () => {
  const store = createMemoryStore({ clock: new FakeClock(5_000) });
  const windows = new RateWindows(OF);
  const writes = Array.from({ length: 9 }, () => start("", 4_900));
  await store.commit([{ writes }]);
  await windows.follow(store, BOUND);
  const wide = { count: 10, periodMs: 1_000 };
  assertEquals(windows.follows(wide), false);
  await windows.follow(store, wide);
  assertEquals(windows.room("", wide, 5_000), 1);
  windows.forget();
  assertEquals(windows.room("", wide, 5_000), 10);
  await windows.follow(store, wide);
  assertEquals(windows.room("", wide, 5_000), 1);
});

Deno.test("RateWindows.follow() reads more starts than there are on a page", async () => {
  const store = createMemoryStore({ clock: new FakeClock(5_000) });
  const windows = new RateWindows(OF);
  const writes = Array.from({ length: 4_500 }, () => start("", 4_900));
  await store.commit([{ writes }]);
  const bound = { count: 5_000, periodMs: 1_000 };
  await windows.follow(store, bound);
  assertEquals(windows.room("", bound, 5_000), 500);
});

Deno.test("RateWindows forgets groups rather than grow without a bound", async () => {
  const store = createMemoryStore({ clock: new FakeClock(5_000) });
  const windows = new RateWindows(OF);
  const bound = { count: 1, periodMs: 1_000 };
  const writes = Array.from(
    { length: 10_005 },
    (_, index) => start(`g${index}`, 4_900),
  );
  await store.commit([{ writes }]);
  await windows.follow(store, bound);
  assertEquals(windows.room("g0", bound, 5_000), 1);
  assertEquals(windows.room("g10004", bound, 5_000), 0);
});
