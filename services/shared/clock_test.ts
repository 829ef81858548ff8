import { assertEquals } from "@std/assert";
import { systemClock } from "./clock.ts";

Deno.test("systemClock.setTimer() does not fire at once when the delay is longer than a timer's", async () => {
  let fired = 0;
  const timer = systemClock.setTimer(() => fired++, 2 ** 31);
  const short = Promise.withResolvers<void>();
  systemClock.setTimer(short.resolve, 20);
  await short.promise;
  timer.cancel();
  assertEquals(fired, 0);
});
