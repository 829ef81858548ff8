import { assertEquals } from "@std/assert";
import { type ClockStep, computeShift, joinedSteps } from "./clock_step.ts";

const HOUR_MS = 3_600_000;
const NOON_MS = Date.UTC(2027, 0, 1, 12);

/** A clock that ticks, is set, and is read once a second. */
class Day {
  nowMs = NOON_MS;
  #readMs = NOON_MS;
  readonly steps: ClockStep[] = [];

  passes(ms: number): this {
    for (let leftMs = ms; leftMs > 0; leftMs -= 1_000) {
      this.nowMs += Math.min(leftMs, 1_000);
      this.#readMs = this.nowMs;
    }
    return this;
  }

  /**
   * Sets the clock half a second after the last reading and before the next.
   */
  isSet(byMs: number): this {
    this.nowMs += 500 + byMs;
    const lastReadMs = this.#readMs;
    this.nowMs += 500;
    this.#readMs = this.nowMs;
    this.steps.push({ byMs, lastReadMs, noticedAtMs: this.nowMs });
    return this;
  }

  shift(instantMs: number): number {
    return computeShift(instantMs, this);
  }
}

Deno.test("computeShift() tells by how much the clock was set since", () => {
  for (const byMs of [HOUR_MS, -HOUR_MS, 3_000, -3_000]) {
    const day = new Day().passes(10_000);
    const beforeMs = day.nowMs;
    day.isSet(byMs);
    const afterMs = day.nowMs;
    // The latest instant before the step, and the earliest one after it.
    const instants = [NOON_MS, beforeMs, beforeMs + 499, afterMs - 500];
    const shifts = [byMs, byMs, byMs, 0];
    assertEquals(instants.map((at) => day.shift(at)), shifts);
    assertEquals(day.shift(afterMs), 0);
  }
});

Deno.test("computeShift() adds up what came after the instant, whatever way", () => {
  const ways = [
    [HOUR_MS, -HOUR_MS],
    [-HOUR_MS, HOUR_MS],
    [HOUR_MS, HOUR_MS],
    [-HOUR_MS, -HOUR_MS],
    [-HOUR_MS, 3_000, HOUR_MS],
  ];
  for (const steps of ways) {
    const day = new Day().passes(5_000);
    const instants = [day.nowMs];
    for (const byMs of steps) {
      instants.push(day.isSet(byMs).passes(5_000).nowMs);
      day.passes(5_000);
    }
    const left = steps.map((_, index) =>
      steps.slice(index).reduce((sum, byMs) => sum + byMs, 0)
    );
    assertEquals(instants.map((at) => day.shift(at)), [...left, 0]);
  }
});

Deno.test("joinedSteps() shifts what was before both as both do", () => {
  for (const [first, second] of [[HOUR_MS, 3_000], [-HOUR_MS, 7_000]]) {
    const day = new Day().passes(5_000);
    const beforeMs = day.nowMs;
    day.isSet(first ?? 0).isSet(second ?? 0);
    const [one, two] = day.steps;
    const steps = [joinedSteps(one as ClockStep, two as ClockStep)];
    const { nowMs } = day;
    const shift = computeShift(beforeMs, { steps, nowMs });
    assertEquals(shift, (first ?? 0) + (second ?? 0));
    assertEquals(computeShift(nowMs, { steps, nowMs }), 0);
  }
});
