import { assert, assertEquals } from "@std/assert";
import {
  DAY_MS,
  type Duration,
  formatDuration,
  isExactDuration,
  isTooLong,
  isZeroDuration,
  nominalMs,
} from "./duration.ts";

function duration(parts: Partial<Duration>): Duration {
  return { months: 0, days: 0, ms: 0, ...parts };
}

Deno.test("formatDuration() writes the one form that equal durations share", () => {
  const cases: readonly [Partial<Duration>, string][] = [
    [{}, "PT0S"],
    [{ ms: 30_000 }, "PT30S"],
    [{ ms: 1 }, "PT0.001S"],
    [{ ms: 61_250 }, "PT1M1.25S"],
    [{ ms: 129_600_000 }, "PT36H"],
    [{ ms: 3_600_000 + 5_000 }, "PT1H5S"],
    [{ days: 14 }, "P14D"],
    [{ months: 1, days: 2, ms: 4_205_000 }, "P1M2DT1H10M5S"],
    [{ months: 12 }, "P1Y"],
    [{ months: 14 }, "P1Y2M"],
    [{ months: 1_200 }, "P100Y"],
  ];
  for (const [parts, text] of cases) {
    assertEquals(formatDuration(duration(parts)), text);
  }
});

Deno.test("isZeroDuration() and isExactDuration() look at every part", () => {
  assert(isZeroDuration(duration({})));
  for (const parts of [{ months: 1 }, { days: 1 }, { ms: 1 }]) {
    assert(!isZeroDuration(duration(parts)), JSON.stringify(parts));
  }
  assert(isExactDuration(duration({ ms: 5 })));
  assert(!isExactDuration(duration({ days: 1, ms: 5 })));
  assert(!isExactDuration(duration({ months: 1 })));
});

Deno.test("nominalMs() gives months their average length", () => {
  assertEquals(nominalMs(duration({ months: 4_800 })), 146_097 * DAY_MS);
  assertEquals(nominalMs(duration({ days: 2, ms: 7 })), 2 * DAY_MS + 7);
});

Deno.test("isTooLong() draws the line at a hundred years", () => {
  assert(!isTooLong(duration({ months: 1_200 })));
  assert(isTooLong(duration({ months: 1_200, ms: 1 })));
  assert(!isTooLong(duration({ days: 36_524 })));
  assert(isTooLong(duration({ days: 36_525 })));
  assert(isTooLong(duration({ ms: NaN })));
});
