import { assertEquals } from "@std/assert";
import { HandClock } from "./fake_redis.ts";
import { Pauses } from "./pauses.ts";

Deno.test("Pauses.pause() resolves when its time is over, or at the end", async () => {
  const clock = new HandClock();
  const pauses = new Pauses(clock);
  const over: number[] = [];
  for (const ms of [10, 20, 30]) pauses.pause(ms).then(() => over.push(ms));
  await clock.advance(10);
  assertEquals(over, [10]);
  pauses.end();
  await clock.advance(0);
  assertEquals(over, [10, 20, 30]);
  await pauses.pause(1_000);
  assertEquals(clock.timers, 0);
});
