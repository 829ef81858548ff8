import { assert, assertAlmostEquals, assertEquals } from "@std/assert";
import { SeededRandom } from "../../../tests/support/seeded_random.ts";
import {
  estimateQuantileMs,
  timerBucketsMs,
  TimerCell,
  TimerInterval,
} from "./stat_cell.ts";

/** Returns the bucket in which a timer counts a duration. */
function timerBucketIndex(durationMs: number): number {
  const timer = new TimerCell("t");
  timer.record(durationMs);
  return timer.summary().buckets.indexOf(1);
}

Deno.test("TimerCell.record() counts a bound to its own bucket", () => {
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

Deno.test("TimerInterval keeps all values while they are few", () => {
  const interval = new TimerInterval({ maxSamples: 3, random: () => 0 });
  for (const ms of [4, 2, 9]) interval.add(ms);
  assertEquals(interval.take(), {
    count: 3,
    sumMs: 15,
    maxMs: 9,
    buckets: [2, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
    samplesMs: [4, 2, 9],
  });
  assertEquals(interval.take(), undefined);
});

Deno.test("TimerInterval chooses each of many values equally often", () => {
  const random = new SeededRandom(11);
  const next = (): number => random.next();
  const interval = new TimerInterval({ maxSamples: 10, random: next });
  const chosen = new Array<number>(100).fill(0);
  for (let round = 0; round < 2_000; round++) {
    for (let value = 0; value < 100; value++) interval.add(value);
    const taken = interval.take();
    assertEquals(taken?.count, 100);
    assertEquals(taken?.samplesMs.length, 10);
    for (const value of taken?.samplesMs ?? []) {
      chosen[value] = (chosen[value] ?? 0) + 1;
    }
  }
  // 200 expected of each; 5 standard deviations are about 67.
  for (const times of chosen) assert(times > 130 && times < 270, `${times}`);
});

Deno.test("TimerInterval.absorb() chooses of two threads' values by how many each has taken", () => {
  const random = new SeededRandom(12);
  const next = (): number => random.next();
  let ofBusy = 0;
  for (let round = 0; round < 500; round++) {
    const own = new TimerInterval({ maxSamples: 100, random: next });
    const busy = new TimerInterval({ maxSamples: 100, random: next });
    for (let i = 0; i < 1_000; i++) own.add(1);
    for (let i = 0; i < 3_000; i++) busy.add(2);
    own.absorb(busy.take()!);
    const taken = own.take()!;
    assertEquals(
      [taken.count, taken.sumMs, taken.maxMs, taken.buckets[0]],
      [4_000, 7_000, 2, 4_000],
    );
    assertEquals(taken.samplesMs.length, 100);
    ofBusy += taken.samplesMs.filter((ms) => ms === 2).length;
  }
  // Three quarters of all durations were the other thread's.
  const share = ofBusy / 50_000;
  assert(share > 0.65 && share < 0.85, String(share));
});
