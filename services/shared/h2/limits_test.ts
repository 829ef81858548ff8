import { assertEquals } from "@std/assert";
import { FakeClock } from "../../../tests/support/fake_clock.ts";
import { FloodGuard } from "./limits.ts";

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

function passes(guard: FloodGuard): number {
  let count = 0;
  while (count < 1_000 && guard.pass()) count++;
  return count;
}
