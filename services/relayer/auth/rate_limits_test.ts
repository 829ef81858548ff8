import {
  assert,
  assertAlmostEquals,
  assertEquals,
  assertRejects,
} from "@std/assert";
import { FakeClock } from "../../../tests/support/fake_clock.ts";
import { SeededRandom } from "../../../tests/support/seeded_random.ts";
import type { RateWindow } from "../store/rows.ts";
import type { Caller } from "./authenticate.ts";
import { RateLimits } from "./rate_limits.ts";
import { spentPoints, waitSeconds } from "./rate_windows.ts";

type MinutePoints = Parameters<typeof spentPoints>[0][number];

type RateOutcome = ReturnType<RateLimits["take"]>;

type RateLimitsOptions = ConstructorParameters<typeof RateLimits>[0];

Deno.test("spentPoints() counts a minute less and less as it leaves the window", () => {
  const spent = [{ minute: 10, points: 12 }, { minute: 11, points: 3 }];
  const at = (nowMs: number): number =>
    spentPoints(spent, { nowMs, minutes: 1 });
  assertEquals(at(10 * 60_000), 12);
  assertEquals(at(10 * 60_000 + 59_999), 12);
  assertEquals(at(11 * 60_000), 15);
  assertAlmostEquals(at(11 * 60_000 + 45_000), 6);
  assertEquals(at(12 * 60_000), 3);
  assertEquals(at(13 * 60_000), 0);
});

Deno.test("spentPoints() leaves out what lies ahead, after a clock was set back", () => {
  const spent = [{ minute: 100, points: 30 }];
  assertEquals(spentPoints(spent, { nowMs: 40 * 60_000, minutes: 60 }), 0);
});

Deno.test("waitSeconds() gives the first second at which the points fit", () => {
  const random = new SeededRandom(8);
  for (let round = 0; round < 300; round++) {
    const minutes = random.pick([1, 60]);
    const limit = 1 + random.below(100);
    const points = 1 + random.below(limit);
    const spent: MinutePoints[] = [];
    for (let minute = 100; minute <= 100 + minutes; minute++) {
      if (random.chance(0.5)) spent.push({ minute, points: random.below(20) });
    }
    const nowMs = (100 + minutes) * 60_000 + random.below(60_000);
    const options = { nowMs, minutes, limit, points };
    const seconds = waitSeconds(spent, options);
    const fits = (after: number): boolean =>
      spentPoints(spent, { nowMs: nowMs + after * 1_000, minutes }) + points <=
        limit + 1e-6;
    assert(fits(seconds));
    assert(seconds === 0 || !fits(seconds - 1.001));
  }
});

Deno.test("waitSeconds() ends for what never fits", () => {
  const options = { nowMs: 0, minutes: 1, limit: 5, points: 10 };
  assertEquals(waitSeconds([], options), 120);
});

const ANN: Caller = { accountId: "0x1", owner: "0xf1", publicKey: "aa" };
const ANNS_PHONE: Caller = { ...ANN, publicKey: "ab" };
const ANNS_CAR: Caller = { ...ANN, publicKey: "ac" };
const BEN: Caller = { accountId: "0x2", owner: "0xf2", publicKey: "ba" };

Deno.test("take() limits a key", () => {
  const { limits, clock } = setUp();
  for (let call = 0; call < 6; call++) assertEquals(limits.take(ANN, 5), OK);
  assertEquals(limits.take(ANN, 1), {
    kind: "limited",
    layer: "delegate_key",
    limit: 30,
    retryAfterSeconds: 62,
  });
  assertEquals(limits.take(ANNS_PHONE, 5), OK);
  assertEquals(limits.take(BEN, 5), OK);
  clock.advance(61_000);
  assertEquals(limits.take(ANN, 1).kind, "limited");
  clock.advance(1_000);
  assertEquals(limits.take(ANN, 1), OK);
});

Deno.test("take() limits an account whatever key calls", () => {
  const { limits } = setUp();
  limits.take(ANN, 30);
  limits.take(ANNS_PHONE, 30);
  assertEquals(getCode(limits.take(ANNS_CAR, 1)), "account_burst");
  assertEquals(limits.take(BEN, 30), OK);
});

Deno.test("take() limits an account by the hour and says how long it takes", () => {
  const { limits, clock } = setUp();
  let taken = 0;
  for (let minute = 0; minute < 30; minute++) {
    for (const caller of [ANN, ANNS_PHONE]) {
      if (limits.take(caller, 20).kind === "ok") taken += 20;
    }
    // Two minutes, so that no limit of a minute is reached.
    clock.advance(120_000);
  }
  assertEquals(taken, 500);
  const outcome = limits.take(ANN, 20);
  assert(outcome.kind === "limited");
  assertEquals(outcome.layer, "account_sustained");
  clock.advance((outcome.retryAfterSeconds - 1) * 1_000);
  assertEquals(getCode(limits.take(ANN, 20)), "account_sustained");
  clock.advance(1_000);
  assertEquals(limits.take(ANN, 20), OK);
});

Deno.test("take() spends nothing when it refuses", () => {
  const { limits, clock } = setUp({ keyPerMinute: 10 });
  limits.take(ANN, 10);
  for (let call = 0; call < 100; call++) limits.take(ANN, 1);
  clock.advance(120_000);
  assertEquals(limits.take(ANN, 10), OK);
});

Deno.test("charge() may go over what is allowed", () => {
  const { limits, clock } = setUp();
  assertEquals(limits.take(ANN, 5), OK);
  limits.charge(ANN, 40);
  assertEquals(getCode(limits.take(ANN, 1)), "delegate_key");
  clock.advance(120_000);
  assertEquals(limits.take(ANN, 1), OK);
  // Points that are not above 0 are ignored.
  limits.charge(ANN, NaN);
  limits.charge(ANN, -5);
  assertEquals(limits.take(ANN, 29), OK);
});

Deno.test("flush() has written down what changed, and load() takes it in", async () => {
  const { limits, clock, written } = setUp();
  limits.take(ANN, 5);
  limits.take(ANN, 5);
  limits.take(BEN, 5);
  await limits.flush();
  assertEquals(written.map(({ name, points }) => [name, points]), [
    ["k:aa", 10],
    ["a:0x1", 10],
    ["k:ba", 5],
    ["a:0x2", 5],
  ]);
  await limits.flush();
  assertEquals(written.length, 4);
  const next = setUp({ clock }).limits;
  next.load(written);
  assertEquals(next.take(ANN, 20), OK);
  assertEquals(getCode(next.take(ANN, 1)), "delegate_key");
});

Deno.test("flush() writes the points since the last one, as others add theirs", async () => {
  const { limits, written } = setUp();
  limits.take(ANN, 5);
  await limits.flush();
  limits.take(ANN, 2);
  await limits.flush();
  assertEquals(written.map(({ points }) => points), [5, 5, 2, 2]);
});

Deno.test("load() leaves out what does not count any more", () => {
  const { limits, clock } = setUp();
  const minute = Math.floor(clock.nowMs() / 60_000);
  limits.load([
    { name: "k:aa", minute: minute - 62, points: 9 },
    { name: "a:0x1", minute: minute - 30, points: 500 },
  ]);
  assertEquals(limits.size, 1);
  assertEquals(getCode(limits.take(ANN, 1)), "account_sustained");
});

Deno.test("flush() tries again what was not written", async () => {
  let isBroken = true;
  const written: RateWindow[] = [];
  const { limits } = setUp({
    persist: (windows) => {
      if (isBroken) return Promise.reject(new Error("disk full"));
      written.push(...windows);
      return Promise.resolve();
    },
  });
  limits.take(ANN, 5);
  await assertRejects(() => limits.flush(), Error, "disk full");
  limits.take(ANN, 1);
  isBroken = false;
  await limits.flush();
  assertEquals(written.map(({ points }) => points), [6, 6]);
});

Deno.test("RateLimits keeps what it remembers within its bounds", async () => {
  const { limits, clock } = setUp({
    maxNames: 10,
    persist: () => Promise.reject(new Error("disk full")),
  });
  for (let round = 0; round < 200; round++) {
    const publicKey = `key ${round}`;
    limits.take({ ...BEN, publicKey, accountId: publicKey }, 1);
    clock.advance(60_000);
    await limits.flush().catch(() => {});
    // The account that calls all the time is not evicted.
    limits.charge(ANN, 1);
  }
  assert(limits.size <= 10);
  limits.charge(ANN, 500);
  assertEquals(getCode(limits.take(ANN, 1)), "account_sustained");
});

const OK: RateOutcome = { kind: "ok" };

interface SetUp {
  readonly limits: RateLimits;
  readonly clock: FakeClock;
  readonly written: RateWindow[];
}

function setUp(
  options: Partial<RateLimitsOptions> & { readonly clock?: FakeClock } = {},
): SetUp {
  const clock = options.clock ?? new FakeClock();
  const written: RateWindow[] = [];
  const limits = new RateLimits({
    clock,
    keyPerMinute: 30,
    accountPerMinute: 60,
    accountPerHour: 500,
    persist: (windows) => {
      written.push(...windows);
      return Promise.resolve();
    },
    ...options,
  });
  return { limits, clock, written };
}

function getCode(outcome: RateOutcome): string {
  return outcome.kind === "ok" ? "ok" : outcome.layer;
}
