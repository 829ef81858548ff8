import { assert, assertEquals } from "@std/assert";
import { FakeClock } from "../../../tests/support/fake_clock.ts";
import { FloodGuard, headerLimits } from "./limits.ts";

Deno.test("FloodGuard lets a burst pass, then what time adds", () => {
  const clock = new FakeClock();
  const guard = new FloodGuard(clock, 5, 2);
  assertEquals(passes(guard), 5);
  assertEquals(passes(guard), 0);
  clock.advance(1_500);
  assertEquals(passes(guard), 3);
  clock.advance(3_600_000);
  assertEquals(passes(guard), 5);
});

Deno.test("FloodGuard lets pass what work has earned, up to the burst", () => {
  const guard = new FloodGuard(new FakeClock(), 5, 0);
  passes(guard);
  guard.earn(2);
  assertEquals(passes(guard), 2);
  guard.earn(100);
  assertEquals(passes(guard), 5);
});

Deno.test("headerLimits() lets headers of the allowed size come in whole frames", () => {
  for (const bytes of [4_096, 16_384, 262_144]) {
    const limits = headerLimits(bytes);
    assertEquals(limits.maxHeaderListBytes, bytes);
    assertEquals(limits.maxHeaderBlockBytes, Math.max(131_072, 2 * bytes));
    assert(limits.maxContinuations * 16_384 >= limits.maxHeaderBlockBytes);
  }
});

function passes(guard: FloodGuard): number {
  let count = 0;
  while (count < 1_000 && guard.pass()) count++;
  return count;
}
