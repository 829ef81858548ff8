import { assertEquals } from "@std/assert";
import { FakeClock } from "../../tests/support/fake_clock.ts";
import { LoopWatch } from "./loop_watch.ts";

Deno.test("LoopWatch.look() tells for how long the event loop was blocked since the look before", () => {
  const clock = new FakeClock();
  const seen: number[] = [];
  const watch = new LoopWatch({
    clock,
    onLook: (blockedMs) => seen.push(blockedMs) < 5,
  });
  watch.look();
  clock.advance(250);
  clock.block(7_000);
  clock.advance(0);
  clock.advance(100);
  watch.look();
  assertEquals(seen, [0, 0, 6_750, 0]);
  clock.advance(250);
  assertEquals(clock.pendingTimers, 0, "onLook said to stop");
  clock.advance(60_000);
  watch.look();
  assertEquals(seen.at(-1), 0, "nobody looked meanwhile");
  watch.stop();
  assertEquals(clock.pendingTimers, 0);
});
