import { assert, assertEquals } from "@std/assert";
import { FakeClock } from "../../tests/support/fake_clock.ts";
import { SeededRandom } from "../../tests/support/seeded_random.ts";
import { type Expiring, TimerWheel } from "./timer_wheel.ts";

Deno.test("TimerWheel expires what is due, never early and a tick late at most", () => {
  const random = new SeededRandom(5);
  const clock = new FakeClock();
  const wheel = new TimerWheel(clock);
  const startMs = clock.nowMs();
  const lateness: number[] = [];
  for (let count = 0; count < 200; count++) {
    const delayMs = random.below(1_000);
    wheel.add(
      createItem(() => lateness.push(clock.nowMs() - startMs - delayMs)),
      delayMs,
    );
  }
  clock.advance(1_100);
  assertEquals(lateness.length, 200);
  assert(lateness.every((ms) => ms >= 0 && ms <= 10), String(lateness));
  assertEquals(clock.pendingTimers, 0);
});

Deno.test("TimerWheel does not expire what has been removed", () => {
  const clock = new FakeClock();
  const wheel = new TimerWheel(clock);
  let expired = 0;
  const kept = createItem(() => expired++);
  const removed = createItem(() => expired += 100);
  wheel.add(removed, 50);
  wheel.add(kept, 50);
  wheel.remove(removed);
  wheel.remove(removed);
  clock.advance(100);
  assertEquals(expired, 1);
});

Deno.test("TimerWheel holds no timer when nothing waits", () => {
  const clock = new FakeClock();
  const wheel = new TimerWheel(clock);
  const item = createItem(() => {});
  wheel.add(item, 50);
  assertEquals(clock.pendingTimers, 1);
  wheel.remove(item);
  assertEquals(clock.pendingTimers, 0);
});

Deno.test("TimerWheel moves an item that is added again", () => {
  const clock = new FakeClock();
  const wheel = new TimerWheel(clock);
  let expired = 0;
  const item = createItem(() => expired++);
  wheel.add(item, 50);
  wheel.add(item, 500);
  clock.advance(400);
  assertEquals(expired, 0);
  clock.advance(200);
  assertEquals(expired, 1);
});

Deno.test("TimerWheel lets items add and remove others as they expire", () => {
  const clock = new FakeClock();
  const wheel = new TimerWheel(clock);
  const log: string[] = [];
  const victim = createItem(() => log.push("victim"));
  const again = createItem(() => {
    log.push("again");
    if (log.length < 3) wheel.add(again, 0);
  });
  wheel.add(createItem(() => wheel.remove(victim)), 20);
  wheel.add(victim, 20);
  wheel.add(again, 20);
  clock.advance(100);
  assertEquals(log, ["again", "again", "again"]);
  assertEquals(clock.pendingTimers, 0);
});

Deno.test("TimerWheel waits longer than a timer can", () => {
  const clock = new FakeClock();
  const wheel = new TimerWheel(clock);
  let expired = 0;
  wheel.add(createItem(() => expired++), 100_000_000 * 3_600);
  clock.advance(3_000_000_000);
  assertEquals(expired, 0);
  assertEquals(clock.pendingTimers, 1);
});

function createItem(expire: () => void): Expiring {
  return { wheelTick: undefined, expire };
}
