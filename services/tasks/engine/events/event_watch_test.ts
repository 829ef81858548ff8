import { assertEquals } from "@std/assert";
import {
  openTestEngine,
  TENANT_ID,
  type TestEngine,
} from "../testing/test_engine.ts";
import { EventWatch } from "./event_watch.ts";

const FAR_MS = Date.UTC(2095, 0, 1);

interface Watched extends TestEngine {
  /** Looks, and returns what was told since the last look. */
  look(watch?: EventWatch): Promise<readonly unknown[]>;
  readonly watch: EventWatch;
  /** Another instance's watch. */
  readonly other: EventWatch;
}

async function openWatch(
  limits: Parameters<typeof openTestEngine>[0] = {},
): Promise<Watched> {
  const test = await openTestEngine(limits);
  const { parts, engine, store } = test;
  await store.commit([{
    writes: [{ kind: "listen", tenantId: TENANT_ID, untilMs: FAR_MS }],
  }]);
  const { liveness, usage } = engine;
  const [watch, other] = [
    new EventWatch({ parts, liveness, usage }),
    new EventWatch({ parts, liveness, usage }),
  ];
  let after = (await store.events({ tenantId: TENANT_ID, limit: 1 })).end;
  return {
    ...test,
    watch,
    other,
    async look(by = watch) {
      await by.runOnce();
      const page = await store.events({
        ...{ tenantId: TENANT_ID, after, limit: 1_000 },
      });
      after = page.end;
      return page.events.flatMap((event) =>
        event.source === "engine" ? [event.type, JSON.parse(event.text)] : []
      );
    },
  };
}

Deno.test("EventWatch tells once that a worker asks for nothing, and that it does again", async () => {
  const test = await openWatch();
  const { clock, look, watch, other } = test;
  const worker = await test.worker({ name: "mailer" });
  assertEquals(await look(), []);
  await test.task(worker);
  await test.task(worker);
  assertEquals(await look(), []);
  assertEquals(await look(other), []);
  await clock.advance(59_000);
  assertEquals(await look(), []);
  await clock.advance(1_000);
  const stale = {
    worker: worker.id,
    name: "mailer",
    last_seen_at: null,
    waiting: 2,
  };
  assertEquals(await look(), ["worker.stale", stale]);
  assertEquals(await look(other), []);
  await clock.advance(600_000);
  assertEquals(await look(watch), []);
  await test.lease(worker, { max: 1 });
  const [type] = await look(other);
  assertEquals(type, "worker.recovered");
  assertEquals(await look(watch), []);
});

Deno.test("EventWatch says nothing of workers that are paused, pushed to or have nothing", async () => {
  const test = await openWatch();
  for (
    const patch of [
      { name: "a", isPaused: true },
      { name: "b", kind: "push", url: "https://example.com/" },
    ] as const
  ) await test.task(await test.worker(patch));
  await test.worker({ name: "c" });
  await test.look();
  await test.clock.advance(120_000);
  assertEquals(await test.look(), []);
});

Deno.test("EventWatch tells once that a quota is near, and that it is reached", async () => {
  const test = await openWatch({ limits: { activeTasks: 10 } });
  const worker = await test.worker({ kind: "push", url: "https://a.example/" });
  const told: unknown[] = [];
  for (let count = 1; count <= 10; count++) {
    await test.task(worker);
    told.push(...await test.look(), ...await test.look(test.other));
  }
  const quota = { quota: "active_tasks", limit: 10 };
  assertEquals(told, [
    ...["quota.near", { ...quota, used: 8 }],
    ...["quota.reached", { ...quota, used: 10 }],
  ]);
});

Deno.test("EventWatch looks only at tenants that someone listens to", async () => {
  const test = await openWatch({ limits: { activeTasks: 1 } });
  await test.store.commit([{
    writes: [{ kind: "listen", tenantId: TENANT_ID, untilMs: 0 }],
  }]);
  await test.task(await test.worker());
  await test.watch.runOnce();
  const record = await test.store.record("service", TENANT_ID, "watch");
  assertEquals(record, undefined);
  assertEquals(await test.store.listeners(9), []);
});
