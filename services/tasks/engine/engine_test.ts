import { leaseHolder } from "./leases.ts";
import { assertEquals } from "@std/assert";
import { sweeper } from "./engine.ts";
import { openTestEngine, TENANT_ID } from "./testing/test_engine.ts";

Deno.test("Leases.lease() hands out a due task and complete ends it when its worker says so", async () => {
  const { engine, worker, task, read, history } = await openTestEngine();
  const mailer = await worker();
  const made = await task(mailer);
  const [grant] = await engine.leases.lease({
    tenantId: TENANT_ID,
    workerId: mailer.id,
    max: 10,
    waitMs: 0,
  });
  assertEquals(grant?.task.id, made.id);
  const outcome = await engine.leases.report({
    holder: leaseHolder({
      tenantId: TENANT_ID,
      leaseId: grant?.task.attempt?.id ?? "",
      token: grant?.token ?? "",
    }),
    event: (lease) => ({ kind: "complete", lease, resultJson: "42" }),
  });
  assertEquals(outcome.kind, "ok");
  assertEquals((await read(made)).status, "complete");
  assertEquals((await read(made)).resultJson, "42");
  assertEquals(await history(made), [
    "created",
    "started",
    "succeeded",
    "completed",
  ]);
  await engine.stop();
});

Deno.test("Leases.lease() answers a waiting worker when a task becomes due", async () => {
  const { engine, clock, worker, task } = await openTestEngine();
  const mailer = await worker();
  await engine.start();
  const waiting = engine.leases.lease({
    tenantId: TENANT_ID,
    workerId: mailer.id,
    max: 1,
    waitMs: 30_000,
  });
  const made = await task(mailer, { dateMs: clock.nowMs() + 5_000 });
  await clock.advance(4_999);
  let isAnswered = false;
  waiting.then(() => isAnswered = true);
  await clock.advance(0);
  assertEquals(isAnswered, false);
  await clock.advance(1);
  await clock.advance(100);
  assertEquals((await waiting).map((grant) => grant.task.id), [made.id]);
  await engine.stop();
});

Deno.test("Leases.lease() gives a task again when its worker fell silent for the lease", async () => {
  const { engine, clock, worker, task, read } = await openTestEngine();
  const mailer = await worker();
  await engine.start();
  const made = await task(mailer);
  const wish = {
    tenantId: TENANT_ID,
    workerId: mailer.id,
    max: 1,
    waitMs: 0,
  };
  const [first] = await engine.leases.lease(wish);
  await clock.advance(31_000);
  const again = engine.leases.lease({ ...wish, waitMs: 5_000 });
  await clock.advance(1_000);
  const [second] = await again;
  assertEquals(second?.task.id, made.id);
  assertEquals(second?.task.fence, 2);
  assertEquals((await read(made)).lost, 1);
  const late = await engine.leases.report({
    holder: leaseHolder({
      tenantId: TENANT_ID,
      leaseId: first?.task.attempt?.id ?? "",
      token: first?.token ?? "",
    }),
    event: (lease) => ({ kind: "complete", lease }),
  });
  assertEquals(late.kind, "lease_gone");
  await engine.stop();
});

Deno.test("sweeper() removes expired answers once a minute, and keeps the others", async () => {
  const { engine, store, clock } = await openTestEngine();
  const sweeping = sweeper(engine.parts);
  const keep = (key: string, lifeMs: number) =>
    store.commit([{
      writes: [{
        kind: "idempotency",
        tenantId: TENANT_ID,
        key,
        entry: {
          bodyHash: "",
          status: 201,
          headers: {},
          body: "",
          expiresAtMs: clock.nowMs() + lifeMs,
        },
      }],
    }]);
  await keep("short", 30_000);
  await keep("long", 300_000);
  // The search is for the time at which both tasks existed.
  const asOf = clock.nowMs();
  const has = async (key: string) =>
    await store.idempotency(TENANT_ID, key, asOf) !== undefined;
  sweeping.start();
  await clock.advance(59_999);
  assertEquals([await has("short"), await has("long")], [true, true]);
  await clock.advance(1);
  assertEquals([await has("short"), await has("long")], [false, true]);
  await sweeping.stop();
  await engine.stop();
});

Deno.test("sweeper() goes on until nothing is left, and after a fault", async () => {
  const { engine, clock, logger } = await openTestEngine();
  const answers = [1_000, 1_000, 3, new Error("disk"), 0];
  let asked = 0;
  const sweeping = sweeper({
    clock,
    logger,
    instances: engine.parts.instances,
    store: {
      ...engine.parts.store,
      sweep: () => {
        const answer = answers[asked++];
        return typeof answer === "number"
          ? Promise.resolve(answer)
          : Promise.reject(answer);
      },
    },
  });
  sweeping.start();
  await clock.advance(60_000);
  assertEquals(asked, 3);
  await clock.advance(60_000);
  assertEquals([asked, logger.listMessages("error").length], [4, 1]);
  await clock.advance(60_000);
  assertEquals(asked, 5);
  await sweeping.stop();
  await engine.stop();
});
