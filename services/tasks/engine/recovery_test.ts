import { assertEquals } from "@std/assert";
import type { Grant } from "./waiter.ts";
import { openTestEngine, TENANT_ID } from "./testing/test_engine.ts";

Deno.test("Engine.start() gives back the calls of earlier starts, and leaves leases to their holders", async () => {
  const before = await openTestEngine();
  const pull = await before.worker();
  const push = await before.worker({
    name: "push",
    kind: "push",
    url: "https://worker.example/",
  });
  const pulled = await before.task(pull);
  const pushed = await before.task(push);
  const [grant] = await before.lease(pull);
  const taken = Promise.withResolvers<readonly Grant[]>();
  before.engine.claims.add({ tenantId: TENANT_ID, workerId: push.id }, {
    max: () => 1,
    isPush: true,
    isLasting: false,
    actorId: "system",
    take: (grants) => {
      taken.resolve(grants);
      return true;
    },
  });
  await taken.promise;
  const { store, clock } = before;
  const after = await openTestEngine({ store, clock, seed: 2 });
  assertEquals(await after.engine.start(), 1);
  const lost = await after.read(pushed);
  assertEquals([lost.status, lost.lost, lost.retries], ["waiting", 1, 0]);
  assertEquals((await after.read(pulled)).status, "running");
  assertEquals((await after.complete(grant)).kind, "ok");
  await after.engine.stop();
});

Deno.test("Engine.start() gives back more than one commit holds, whatever the conflicts", async () => {
  const before = await openTestEngine();
  const push = await before.worker({ kind: "push" });
  for (let index = 0; index < 1_100; index++) await before.task(push);
  let taken = 0;
  const all = Promise.withResolvers<void>();
  before.engine.claims.add({ tenantId: TENANT_ID, workerId: push.id }, {
    max: () => 1_000,
    isPush: true,
    isLasting: true,
    actorId: "system",
    take: (grants) => {
      taken += grants.length;
      if (taken === 1_100) all.resolve();
      return true;
    },
  });
  await all.promise;
  const { store, clock } = before;
  const after = await openTestEngine({
    store,
    clock,
    seed: 2,
    trouble: { conflictShare: 0.3 },
  });
  assertEquals(await after.engine.start(), 1_100);
  await after.engine.stop();
});

Deno.test("Engine.start() leaves its own attempts alone", async () => {
  const world = await openTestEngine();
  const mailer = await world.worker({ concurrency: 1 });
  await world.task(mailer);
  const [grant] = await world.lease(mailer);
  assertEquals(await world.engine.start(), 0);
  assertEquals((await world.complete(grant)).kind, "ok");
  await world.engine.stop();
});
