import { assert, assertAlmostEquals, assertEquals } from "@std/assert";
import { SeededRandom } from "../../../tests/support/seeded_random.ts";
import {
  type MinutePoints,
  spentPoints,
  waitSeconds,
} from "./minute_points.ts";

Deno.test("spentPoints() counts a minute less and less as it leaves the window", () => {
  const spent = [{ minute: 10, points: 12 }, { minute: 11, points: 3 }];
  const at = (nowMs: number): number =>
    spentPoints(spent, { nowMs, minutes: 1 });
  assertEquals(at(10 * 60_000), 12);
  assertEquals(at(10 * 60_000 + 59_999), 12);
  assertEquals(at(11 * 60_000), 15);
  assertAlmostEquals(at(11 * 60_000 + 45_000), 6);
  assertEquals(at(12 * 60_000), 3);
  assertEquals(at(13 * 60_000), 0);
});

Deno.test("spentPoints() leaves out what lies ahead, after a clock was set back", () => {
  const spent = [{ minute: 100, points: 30 }];
  assertEquals(spentPoints(spent, { nowMs: 40 * 60_000, minutes: 60 }), 0);
});

Deno.test("waitSeconds() gives the first second at which the points fit", () => {
  const random = new SeededRandom(8);
  for (let round = 0; round < 300; round++) {
    const minutes = random.pick([1, 60]);
    const limit = 1 + random.below(100);
    const points = 1 + random.below(limit);
    const spent: MinutePoints[] = [];
    for (let minute = 100; minute <= 100 + minutes; minute++) {
      if (random.chance(0.5)) spent.push({ minute, points: random.below(20) });
    }
    const nowMs = (100 + minutes) * 60_000 + random.below(60_000);
    const options = { nowMs, minutes, limit, points };
    const seconds = waitSeconds(spent, options);
    const fits = (after: number): boolean =>
      spentPoints(spent, { nowMs: nowMs + after * 1_000, minutes }) + points <=
        limit + 1e-6;
    assert(fits(seconds));
    assert(seconds === 0 || !fits(seconds - 1.001));
  }
});

Deno.test("waitSeconds() ends for what never fits", () => {
  const options = { nowMs: 0, minutes: 1, limit: 5, points: 10 };
  assertEquals(waitSeconds([], options), 120);
});
