import { assert, assertAlmostEquals, assertEquals } from "@std/assert";
import { SeededRandom } from "../../../tests/support/seeded_random.ts";
import { TimerCell } from "./stat_cell.ts";
import {
  estimateQuantileMs,
  timerBucketIndex,
  timerBucketsMs,
} from "./timer_histogram.ts";

Deno.test("timerBucketIndex() counts a bound to its own bucket", () => {
  assertEquals(timerBucketIndex(0), 0);
  assertEquals(timerBucketIndex(5), 0);
  assertEquals(timerBucketIndex(5.001), 1);
  assertEquals(timerBucketIndex(10_000), timerBucketsMs.length - 1);
  assertEquals(timerBucketIndex(10_001), timerBucketsMs.length);
});

Deno.test("estimateQuantileMs() is 0 when nothing was taken", () => {
  assertEquals(estimateQuantileMs(new TimerCell("t").summary(), 0.99), 0);
});

Deno.test("estimateQuantileMs() lies in the bucket of the true value", () => {
  const random = new SeededRandom(3);
  for (let round = 0; round < 200; round++) {
    const timer = new TimerCell("t");
    const values: number[] = [];
    for (let n = 1 + random.below(300); n > 0; n--) {
      const value = random.next() ** 4 * 20_000;
      values.push(value);
      timer.record(value);
    }
    values.sort((a, b) => a - b);
    for (const quantile of [0.5, 0.9, 0.99, 1]) {
      const index = Math.max(1, Math.ceil(quantile * values.length)) - 1;
      const bucket = timerBucketIndex(values[index] ?? NaN);
      const estimate = estimateQuantileMs(timer.summary(), quantile);
      assert(estimate >= (timerBucketsMs[bucket - 1] ?? 0));
      assert(estimate <= (timerBucketsMs[bucket] ?? Infinity));
      assert(estimate <= (values.at(-1) ?? NaN));
    }
  }
});

Deno.test("estimateQuantileMs() spreads values evenly within a bucket", () => {
  const timer = new TimerCell("t");
  for (let ms = 51; ms <= 100; ms++) timer.record(ms);
  assertAlmostEquals(estimateQuantileMs(timer.summary(), 0.5), 75);
  assertAlmostEquals(estimateQuantileMs(timer.summary(), 1), 100);
});
