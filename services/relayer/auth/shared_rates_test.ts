/**
 * Tests of rate limits that hold over several instances.
 */

import { assert, assertEquals, assertRejects } from "@std/assert";
import { FakeClock } from "../../../tests/support/fake_clock.ts";
import { SeededRandom } from "../../../tests/support/seeded_random.ts";
import { serviceTest } from "../../../tests/support/services.ts";
import { openSubject } from "../store/postgres/testing/postgres_subject.ts";
import type { RateWindow } from "../store/rows.ts";
import type { RelayerStore } from "../store/store.ts";
import type { Caller } from "./authenticate.ts";
import { RateLimits, SHARED_SYNC_MS } from "./rate_limits.ts";
import { spentPoints } from "./rate_windows.ts";

const ANN: Caller = { owner: "0xa", accountId: "0xa", publicKey: "ann" };
const INSTANCES = 3;
const LIMITS = {
  keyPerMinute: 600,
  accountPerMinute: 600,
  accountPerHour: 3_000,
};

type SharedWindows = Pick<RelayerStore, "rateWindowsOf"> & {
  add(windows: readonly RateWindow[]): Promise<void>;
};

/** The windows of all instances, in memory. */
class MemoryWindows implements SharedWindows {
  readonly windows = new Map<string, RateWindow>();
  /** When set, calls reject with this error. */
  fault: Error | undefined;
  /** How many windows were read. */
  read = 0;

  // deno-lint-ignore require-await -- a throw becomes a rejection
  async add(windows: readonly RateWindow[]): Promise<void> {
    if (this.fault !== undefined) throw this.fault;
    for (const window of windows) {
      const key = `${window.name} ${window.minute}`;
      const points = (this.windows.get(key)?.points ?? 0) + window.points;
      this.windows.set(key, { ...window, points });
    }
  }

  // deno-lint-ignore require-await -- a throw becomes a rejection
  async rateWindowsOf(
    { names, minutes }: Parameters<RelayerStore["rateWindowsOf"]>[0],
  ): Promise<readonly RateWindow[]> {
    if (this.fault !== undefined) throw this.fault;
    const found = [...this.windows.values()].filter(({ name, minute }) =>
      names.includes(name) && minutes.includes(minute)
    );
    this.read += found.length;
    return found;
  }
}

function openInstance(store: SharedWindows, clock: FakeClock): RateLimits {
  return new RateLimits({
    ...LIMITS,
    clock,
    persist: (windows) => store.add(windows),
    read: (of) => store.rateWindowsOf(of),
  });
}

const TICK_MS = 50;
/** Points that a caller asks for at one instance within a tick, at most. */
const PER_TICK = 20;
/** Points that all instances together are asked for within a second. */
const OVERSHOOT = INSTANCES * PER_TICK * (1_000 / TICK_MS);

Deno.test("RateLimits of several instances let no more through than a limit and a second's traffic, whatever a caller does", async () => {
  const random = new SeededRandom(38);
  for (let round = 0; round < 4; round++) {
    const clock = new FakeClock(1_800_000_000_000 + random.below(60_000));
    const store = new MemoryWindows();
    const instances = Array.from(
      { length: INSTANCES },
      () => openInstance(store, clock),
    );
    const phases = instances.map(() => random.below(10));
    let asked: readonly boolean[] = [];
    let [most, refused] = [0, 0];
    const taken: RateWindow[] = [];
    for (let tick = 0; tick < 3_000; tick++) {
      // It goes on at some instances, stops, or goes elsewhere.
      if (tick === 0 || random.chance(0.05)) {
        asked = instances.map(() => random.chance(0.4));
      }
      for (const [at, limits] of instances.entries()) {
        if (asked[at] === true) {
          for (let point = 0; point < PER_TICK; point++) {
            if (limits.take(ANN, 1).kind === "ok") {
              const minute = Math.floor(clock.nowMs() / 60_000);
              taken.push({ name: "", minute, points: 1 });
            } else refused++;
          }
        }
        const isDue = tick % (SHARED_SYNC_MS / TICK_MS) === phases[at];
        if (isDue) await limits.sync();
      }
      const nowMs = clock.nowMs();
      const inMinute = spentPoints(taken, { nowMs, minutes: 1 });
      const inHour = spentPoints(taken, { nowMs, minutes: 60 });
      most = Math.max(most, inMinute, inHour - LIMITS.accountPerHour);
      assert(inMinute <= LIMITS.accountPerMinute + OVERSHOOT, `${inMinute}`);
      assert(inHour <= LIMITS.accountPerHour + OVERSHOOT, `${inHour}`);
      clock.advance(TICK_MS);
    }
    assert(refused > 0 && most > LIMITS.accountPerMinute, "nothing was tried");
  }
});

Deno.test("sync() reads the sums of callers that were served since, and only what may have changed", async () => {
  const clock = new FakeClock();
  const store = new MemoryWindows();
  const [one, other] = [openInstance(store, clock), openInstance(store, clock)];
  for (let minute = 0; minute < 30; minute++) {
    one.charge(ANN, 10);
    await one.sync();
    clock.advance(60_000);
  }
  store.read = 0;
  other.charge(ANN, 1);
  await other.sync();
  // The key's and the account's windows: an hour's, as they were not known.
  assertEquals(store.read, 62);
  other.charge(ANN, 1);
  await other.sync();
  assertEquals(store.read, 66);
  await other.sync();
  assertEquals(store.read, 66);
  assertEquals(other.take(ANN, 3_000 - 303).kind, "limited");
  assertEquals(other.take(ANN, 500).kind, "ok");
});

Deno.test("sync() that failed is made up for by the next one", async () => {
  const clock = new FakeClock();
  const store = new MemoryWindows();
  const [one, other] = [openInstance(store, clock), openInstance(store, clock)];
  one.charge(ANN, 550);
  await one.sync();
  store.fault = new Error("no answer");
  other.charge(ANN, 40);
  await assertRejects(() => other.sync(), Error, "no answer");
  assertEquals(other.take(ANN, 5).kind, "ok");
  store.fault = undefined;
  await other.sync();
  // 595 of 600: the points that could not be written count once.
  assertEquals(other.take(ANN, 6).kind, "limited");
  assertEquals(other.take(ANN, 5).kind, "ok");
  await other.sync();
  one.charge(ANN, 0.5);
  await one.sync();
  assertEquals(one.take(ANN, 1).kind, "limited");
});

serviceTest(["postgres"], {
  name:
    "RateLimits of three instances on one database know each other's points",
  async fn() {
    const subject = await openSubject();
    try {
      const stores = [
        subject.store,
        await subject.another(),
        await subject.another(),
      ];
      const instances = stores.map((store) =>
        openInstance({
          rateWindowsOf: (of) => store.rateWindowsOf(of),
          add: async (windows) => {
            const changes = windows.map((window) => ({
              kind: "rate" as const,
              window,
            }));
            await store.commit(changes);
          },
        }, subject.clock)
      );
      const counts = await Promise.all(instances.map(async (limits) => {
        let count = 0;
        for (let round = 0; round < 40; round++) {
          for (let call = 0; call < 10; call++) {
            if (limits.take(ANN, 1).kind === "ok") count++;
          }
          await limits.sync();
        }
        return count;
      }));
      const sum = counts.reduce((left, right) => left + right);
      // The instances spend so much between two reads of the sums.
      assert(sum >= 600 && sum <= 600 + 3 * 20, `${sum}`);
    } finally {
      await subject.close();
    }
  },
});
