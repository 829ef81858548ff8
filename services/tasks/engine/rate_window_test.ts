import { assert, assertEquals } from "@std/assert";
import { SeededRandom } from "../../../tests/support/seeded_random.ts";
import { RateWindow } from "./rate_window.ts";

const BOUND = { count: 3, periodMs: 1_000 };

Deno.test("RateWindow has room again when a start is a period old", () => {
  const window = new RateWindow();
  window.add(1, 0);
  window.add(2, 400);
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
  window.add(3, 10_000);
  assertEquals(window.room(BOUND, 5_000), 0);
  assertEquals(window.nextAtMs(BOUND, 5_000), 6_000);
  assertEquals(window.room(BOUND, 6_000), 3);
});

Deno.test("RateWindow follows a bound that is changed", () => {
  const window = new RateWindow();
  window.add(3, 0);
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
    window.add(begun, nowMs);
    for (let count = 0; count < begun; count++) starts.push(nowMs);
  }
  assert(starts.length > 150);
  for (let index = 3; index < starts.length; index++) {
    assert((starts[index] ?? 0) - (starts[index - 3] ?? 0) >= 1_000);
  }
});
