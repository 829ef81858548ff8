import { assertEquals } from "@std/assert";
import { observeCommits } from "./testing/intercepted_store.ts";
import { LeaseLedger } from "./testing/lease_ledger.ts";
import { SimulationLedger } from "./testing/simulation_ledger.ts";
import { openTestEngine, type TestEngine } from "./testing/test_engine.ts";

/** Opens an engine whose leases a ledger checks. */
async function open(): Promise<
  TestEngine & {
    readonly leases: LeaseLedger;
    readonly violations: readonly string[];
  }
> {
  const ledger = new SimulationLedger([]);
  const seen: { leases?: LeaseLedger } = {};
  const world = await openTestEngine({
    wrap: (store) =>
      observeCommits(store, (...of) => seen.leases?.applied(...of)),
  });
  const leases = new LeaseLedger({
    ledger,
    elapsedMs: () => world.clock.elapsedMs,
    isReliable: true,
  });
  seen.leases = leases;
  return { ...world, leases, violations: ledger.violations };
}

/**
 * Lets a worker lease a task, and the engine's clock notice the end much later.
 */
async function late(
  { isVanished, waitMs }: {
    readonly isVanished: boolean;
    readonly waitMs: number;
  },
): Promise<readonly string[]> {
  const world = await open();
  const mailer = await world.worker();
  const task = await world.task(mailer);
  const [grant] = await world.lease(mailer);
  const attemptId = grant?.task.attempt?.id ?? "";
  world.leases.begins(task.id, attemptId);
  if (isVanished) world.leases.vanishes(task.id, attemptId);
  await world.clock.advance(waitMs);
  await world.apply(task, { kind: "wake" });
  return world.violations.map((text) => text.replace(/lse_\w+/g, "it"));
}

Deno.test("LeaseLedger has nothing against a lease that ends in time, with its worker", async () => {
  assertEquals(await late({ isVanished: true, waitMs: 30_000 }), []);
});

Deno.test("LeaseLedger notices a lease that ends late, or with its worker at it", async () => {
  assertEquals(await late({ isVanished: true, waitMs: 40_000 }), [
    "it was lost after 40000 ms of 30000",
  ]);
  assertEquals(await late({ isVanished: false, waitMs: 30_000 }), [
    "it was lost, and its worker is at it",
  ]);
});

Deno.test("LeaseLedger notices two at one task, unless the first is gone or was canceled", async () => {
  const { leases, violations } = await open();
  leases.begins("t", "one");
  leases.ends("t", "one");
  leases.begins("t", "two");
  leases.vanishes("t", "two");
  leases.begins("t", "three");
  assertEquals(violations, []);
  leases.begins("t", "four");
  assertEquals(violations, ["four began while somebody was at three"]);
});
