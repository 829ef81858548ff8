import { assert, assertEquals } from "@std/assert";
import { SeededRandom } from "../../../tests/support/seeded_random.ts";
import { TimerInterval } from "./timer_interval.ts";

Deno.test("TimerInterval keeps all values while they are few", () => {
  const interval = new TimerInterval({ maxSamples: 3, random: () => 0 });
  for (const ms of [4, 2, 9]) interval.add(ms);
  assertEquals(interval.take(), {
    count: 3,
    sumMs: 15,
    maxMs: 9,
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
