import { assert, assertEquals } from "@std/assert";
import { SeededRandom } from "../../../tests/support/seeded_random.ts";
import { sliceMicros, SlidingWindow } from "./sliding_window.ts";

const SECOND = 1_000_000;

Deno.test("sliceMicros() is a millisecond up to a limit of 32, else a whole 32nd of the window", () => {
  assertEquals(sliceMicros(0, 60), 1_000);
  assertEquals(sliceMicros(32, 31_536_000), 1_000);
  assertEquals(sliceMicros(33, 1), 31_250);
  for (const unit of [1, 60, 3_600, 86_400, 604_800, 2_592_000, 31_536_000]) {
    assert(Number.isInteger(sliceMicros(1_000, unit)));
  }
});

Deno.test("SlidingWindow.apply() keeps no more slices than a window has, however great the limit and many the hits", () => {
  const window = new SlidingWindow();
  const random = new SeededRandom(1);
  const operation = { hits: 1, limit: 0xffff_ffff, windowSeconds: 60 };
  let nowMicros = 0;
  let most = 0;
  for (let hit = 0; hit < 20_000; hit++) {
    nowMicros += random.below(SECOND);
    window.apply(operation, nowMicros);
    most = Math.max(most, window.size);
  }
  assertEquals(most, 33);
});

Deno.test("SlidingWindow.apply() keeps at most 65 slices when its limit changes from small to great", () => {
  const window = new SlidingWindow();
  let nowMicros = 0;
  let most = 0;
  for (let round = 0; round < 5; round++) {
    nowMicros += 120 * SECOND;
    for (let hit = 0; hit < 40; hit++) {
      nowMicros += 1_000;
      window.apply({ hits: 1, limit: 32, windowSeconds: 60 }, nowMicros);
    }
    for (let hit = 0; hit < 600; hit++) {
      nowMicros += SECOND / 10;
      window.apply({ hits: 1, limit: 5_000, windowSeconds: 60 }, nowMicros);
      most = Math.max(most, window.size);
    }
  }
  assert(most > 60 && most <= 65, `${most} slices`);
});

Deno.test("SlidingWindow.apply() gives back the hits taken last, so that older ones end in their time", () => {
  const window = new SlidingWindow();
  const apply = (hits: number, seconds: number): number =>
    window.apply({ hits, limit: 10, windowSeconds: 60 }, seconds * SECOND)
      .remaining;
  assertEquals(apply(5, 0), 5);
  // Hits are taken and given back again and again: the first five still end in
  // time.
  for (let second = 1; second < 60; second++) {
    assertEquals(apply(3, second), 2);
    assertEquals(apply(-3, second), 5);
  }
  assertEquals(apply(0, 60.001), 10);
});
