import { assertEquals, assertRejects } from "@std/assert";
import { SeededRandom } from "../../../tests/support/seeded_random.ts";
import type { Store } from "../store/store.ts";
import { createMemoryStore } from "../store/testing/memory_store.ts";
import { crashingStore, NO_TROUBLE } from "./testing/crashing_store.ts";
import { MachineClock } from "./testing/machine_clock.ts";
import { SteppingClock } from "../../../tests/support/stepping_clock.ts";

const SCOPE = {
  tenantId: "ten_1",
  workerId: "wrk_1",
  limits: "worker",
} as const;

interface TestProcess {
  readonly store: Store;
  readonly machine: MachineClock;
  readonly die: () => void;
}

/** Processes on one store, none of which fails by itself. */
function openProcesses(count: number): {
  readonly clock: SteppingClock;
  readonly processes: readonly TestProcess[];
} {
  const clock = new SteppingClock();
  const shared = createMemoryStore({ clock });
  const processes = Array.from({ length: count }, (): TestProcess => {
    const machine = new MachineClock(clock);
    const death = Promise.withResolvers<never>();
    death.promise.catch(() => {});
    let isDead = false;
    const die = (): void => {
      isDead = true;
      death.reject(new Error("it died"));
    };
    const nothing = (): void => {};
    const store = crashingStore(createMemoryStore({ clock, besides: shared }), {
      clock,
      machine,
      random: new SeededRandom(1),
      trouble: () => NO_TROUBLE,
      way: { delayedShare: 0.2, maxDelayMs: 6 },
      noticeTrouble: () => ({ lostShare: 0, doubledShare: 0, maxDelayMs: 10 }),
      hearers: new Set(),
      isCut: () => false,
      isDead: () => isDead,
      death: death.promise,
      crash: die,
      onApplied: nothing,
      onBeat: nothing,
      onSweep: nothing,
      onTrouble: nothing,
    });
    return { store, machine, die };
  });
  return { clock, processes };
}

Deno.test("crashingStore() ends the claim of a process that dies, and never answers it", async () => {
  const { clock, processes: [dying, other] } = openProcesses(2);
  let isAnswered = false;
  const told = (): void => void (isAnswered = true);
  dying?.store.claim(SCOPE, async ({ running }) => {
    dying.die();
    await running("ten_1", "wrk_1");
    return [];
  }).then(told, told);
  let claimedAtMs = Infinity;
  void other?.store.claim(SCOPE, () => {
    claimedAtMs = clock.elapsedMs;
    return Promise.resolve([]);
  });
  await clock.advance(60_000);
  assertEquals([isAnswered, claimedAtMs < 100], [false, true]);
});

Deno.test("crashingStore() ends the claim of a process that stands still after some seconds", async () => {
  const { clock, processes: [stalled, other] } = openProcesses(2);
  const failing = stalled?.store.claim(SCOPE, async ({ running }) => {
    stalled.machine.stall(20_000);
    await running("ten_1", "wrk_1");
    return [];
  });
  const claimedAtMs = other?.store.claim(SCOPE, () => Promise.resolve([]))
    .then(() => clock.elapsedMs);
  const refused = assertRejects(() => failing ?? Promise.resolve(), Error);
  await clock.advance(60_000);
  assertEquals(Math.floor((await claimedAtMs ?? 0) / 1_000), 5);
  await refused;
});

Deno.test("crashingStore() gives notices of others late, and none to a process that is dead", async () => {
  const { clock, processes: [teller, hearer, dead] } = openProcesses(3);
  const heard: string[] = [];
  hearer?.store.onNotice(({ kind }) => heard.push(`heard ${kind}`));
  dead?.store.onNotice(({ kind }) => heard.push(`dead heard ${kind}`));
  hearer?.machine.stall(1_000);
  dead?.die();
  teller?.store.tell([{ kind: "gap" }]);
  await clock.advance(500);
  assertEquals(heard, []);
  await clock.advance(1_000);
  assertEquals(heard, ["heard gap"]);
});
