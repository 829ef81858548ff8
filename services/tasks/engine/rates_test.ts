import { assert, assertEquals } from "@std/assert";
import { SeededRandom } from "../../../tests/support/seeded_random.ts";
import { callbackWorker } from "./workers.ts";
import { RateWindow, WorkerRates } from "./rates.ts";

function limited(per: "worker" | "group", count = 2) {
  const rate = { count, periodMs: 1_000, per };
  return { ...callbackWorker("t"), limits: { rate } };
}

Deno.test("WorkerRates bounds a worker, or each of its groups", () => {
  const all = new WorkerRates();
  const worker = limited("worker");
  assertEquals(all.room(worker, 0), 2);
  all.add("a", 0);
  all.add("b", 0);
  assertEquals(all.room(worker, 0), 0);
  assertEquals(all.nextAtMs(worker, 0), 1_000);
  assertEquals(all.groupRoom(worker, "a", 0), Infinity);
  const each = new WorkerRates();
  const grouped = limited("group");
  assertEquals(each.room(grouped, 0), Infinity);
  each.add("a", 0);
  assertEquals(each.groupRoom(grouped, "a", 0), 1);
  assertEquals(each.groupRoom(grouped, "b", 0), 2);
  assertEquals(each.nextAtMs(grouped, 0), 0);
  assertEquals(each.groupNextAtMs(grouped, "a", 0), 0);
  each.add("a", 300);
  assertEquals(each.groupNextAtMs(grouped, "a", 300), 1_000);
  assertEquals(each.groupNextAtMs(grouped, "b", 300), 300);
  assertEquals(all.groupNextAtMs(worker, "a", 0), 0);
});

Deno.test("WorkerRates counts nothing where there is no limit", () => {
  const rates = new WorkerRates();
  const worker = callbackWorker("t");
  assertEquals(rates.room(worker, 0), Infinity);
  rates.add("a", 0);
  assertEquals(rates.isIdle(0), true);
});

Deno.test("WorkerRates forgets groups rather than grow without a bound", () => {
  const rates = new WorkerRates();
  const worker = limited("group", 1);
  rates.room(worker, 0);
  for (let index = 0; index < 10_005; index++) rates.add(`g${index}`, 0);
  assertEquals(rates.groupRoom(worker, "g0", 0), 1);
  assertEquals(rates.groupRoom(worker, "g10004", 0), 0);
  assertEquals(rates.isIdle(0), false);
  assertEquals(rates.isIdle(1_000), true);
});

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
  assert(window.isIdle(BOUND, 10_999));
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
  assert(window.isIdle(BOUND, 1_400));
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
