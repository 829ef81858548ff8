import { assertAlmostEquals, assertEquals } from "@std/assert";
import { Poller } from "./poller.ts";
import { InstantClock } from "./testing/instant_clock.ts";
import { stubParts } from "./testing/stub_parts.ts";

interface Wait {
  readonly pollIntervalMs?: number | undefined;
  readonly canAwaitStatus?: boolean;
  readonly random?: number;
}

/** The delays before the looks after the first one. */
async function delaysMs(
  looks: number,
  { pollIntervalMs, canAwaitStatus = false, random = 0.5 }: Wait = {},
): Promise<readonly number[]> {
  const parts = stubParts({ random: () => random });
  const poller = new Poller(parts, {
    pollIntervalMs,
    defaultTimeoutMs: 100_000_000,
    canAwaitStatus,
  });
  for (let look = 0; look < looks; look++) {
    assertEquals(await poller.next(), true);
  }
  return parts.clock.delaysMs;
}

Deno.test("Poller.next() waits half as long again each time, up to 5 s", async () => {
  const delays = await delaysMs(5_000);
  assertEquals(delays.slice(0, 5), [1_500, 2_250, 3_375, 5_000, 5_000]);
  assertEquals(delays.at(-1), 5_000);
});

Deno.test("Poller.next() spreads delays by a quarter to both sides", async () => {
  const [shortest] = await delaysMs(1, { pollIntervalMs: 1_000, random: 0 });
  const [longest] = await delaysMs(1, { pollIntervalMs: 1_000, random: 1 });
  assertEquals(shortest, 750);
  assertAlmostEquals(longest ?? NaN, 1_250);
});

Deno.test("Poller.next() keeps a first delay that is longer than 5 s", async () => {
  assertEquals(await delaysMs(2, { pollIntervalMs: 8_000 }), [8_000, 8_000]);
});

Deno.test("Poller.next() takes 100 ms at least, and the usual delay in place of no number", async () => {
  const given = [undefined, NaN, Infinity, -1, 0, 99, 100, 700];
  const measureFirst = (canAwaitStatus: boolean) =>
    Promise.all(
      given.map(async (pollIntervalMs) =>
        (await delaysMs(1, { pollIntervalMs, canAwaitStatus }))[0]
      ),
    );
  assertEquals(
    await measureFirst(false),
    [1_500, 1_500, 1_500, 100, 100, 100, 100, 700],
  );
  assertEquals(await measureFirst(true), [
    100,
    100,
    100,
    100,
    100,
    100,
    100,
    700,
  ]);
});

Deno.test("Poller keeps to its timeout when the clock is set", async () => {
  const HOUR_MS = 3_600_000;
  for (const setByMs of [HOUR_MS, -HOUR_MS]) {
    const clock = new InstantClock();
    let isSet = false;
    const parts = stubParts({
      clock: Object.assign(Object.create(clock), {
        nowMs: () => clock.nowMs() + (isSet ? setByMs : 0),
        monotonicMs: () => clock.nowMs(),
        setTimer: (callback: () => void, delayMs: number) =>
          clock.setTimer(callback, delayMs),
      }),
    });
    const poller = new Poller(parts, {
      ...{ timeoutMs: 10_000, pollIntervalMs: 4_000 },
      ...{ defaultTimeoutMs: 60_000, canAwaitStatus: false },
    });
    isSet = true;
    assertEquals(poller.lookTimeoutMs, 10_000);
    assertEquals(await poller.next(), true);
    assertEquals(poller.lookTimeoutMs, 6_000);
    assertEquals(await poller.next(), true);
    assertEquals(await poller.next(), false);
  }
});
