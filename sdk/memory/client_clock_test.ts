import { assertEquals } from "@std/assert";
import { machineClock } from "./client_clock.ts";

const LONGEST_MS = 2 ** 31 - 1;

Deno.test("machineClock waits in steps when a delay is longer than timers know", () => {
  const real = globalThis.setTimeout;
  const delays: (number | undefined)[] = [];
  let fire = (): void => {};
  let hasFired = false;
  const fake = (callback: () => void, delayMs?: number): number => {
    delays.push(delayMs);
    fire = callback;
    return 0;
  };
  Object.assign(globalThis, { setTimeout: fake });
  try {
    machineClock.setTimer(() => {
      hasFired = true;
    }, 2 * LONGEST_MS + 5);
    fire();
    fire();
    assertEquals(hasFired, false);
    fire();
  } finally {
    Object.assign(globalThis, { setTimeout: real });
  }
  assertEquals(delays, [LONGEST_MS, LONGEST_MS, 5]);
  assertEquals(hasFired, true);
});
