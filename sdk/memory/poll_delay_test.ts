import { assertAlmostEquals, assertEquals } from "@std/assert";
import { pollDelayMs, pollIntervalOf } from "./poll_delay.ts";

Deno.test("pollDelayMs() grows by half each time, up to 5 s", () => {
  const delays = [1, 2, 3, 4, 5, 5_000].map((attempt) =>
    pollDelayMs(attempt, { baseMs: 1_500, random: 0.5 })
  );
  assertEquals(delays, [1_500, 2_250, 3_375, 5_000, 5_000, 5_000]);
});

Deno.test("pollDelayMs() spreads by a quarter to both sides", () => {
  const at = (random: number) => pollDelayMs(1, { baseMs: 1_000, random });
  assertEquals(at(0), 750);
  assertAlmostEquals(at(1), 1_250);
});

Deno.test("pollDelayMs() keeps a first delay that is longer than 5 s", () => {
  const delays = [1, 2].map((attempt) =>
    pollDelayMs(attempt, { baseMs: 8_000, random: 0.5 })
  );
  assertEquals(delays, [8_000, 8_000]);
});

Deno.test("pollIntervalOf() takes 100 ms at least, and 1.5 s for what is none", () => {
  const given = [undefined, NaN, Infinity, -1, 0, 99, 100, 700];
  assertEquals(
    given.map((value) => pollIntervalOf(value)),
    [1_500, 1_500, 1_500, 100, 100, 100, 100, 700],
  );
});
