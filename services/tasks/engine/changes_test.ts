import { assert, assertEquals, assertExists, assertRejects } from "@std/assert";
import { verifyChain } from "../domain/testing/verify_history.ts";
import { pickDefinition, type Task } from "../domain/task.ts";
import type { Write } from "../store/store.ts";
import { sha256 } from "../store/digest.ts";
import { openTestEngine, OWNER, TENANT_ID } from "./testing/test_engine.ts";

Deno.test("TaskChanges neither loses nor doubles anything when commits meet conflicts", async () => {
  for (let seed = 1; seed <= 10; seed++) {
    const world = await openTestEngine({
      seed,
      trouble: { conflictShare: 0.5 },
    });
    const mailer = await world.worker();
    const tasks: Task[] = [];
    for (let index = 0; index < 20; index++) {
      tasks.push(await world.task(mailer, { retry: null }));
    }
    let grants = 0;
    while (grants < tasks.length) {
      const batch = await world.lease(mailer, { max: 7 });
      grants += batch.length;
      await world.clock.advance(100);
      const outcomes = await Promise.all(
        batch.map((grant, index) =>
          index % 3 === 0 ? world.fail(grant) : world.complete(grant)
        ),
      );
      for (const { kind } of outcomes) assertEquals(kind, "ok");
    }
    assertEquals(await world.lease(mailer, { max: 7 }), []);
    for (const { id } of tasks) {
      const task = await world.read({ id });
      assertEquals([task.executions, task.fence, task.lost], [1, 1, 0]);
      assert(["complete", "failed"].includes(task.status));
      const { records } = await world.store.history({
        tenantId: TENANT_ID,
        taskId: id,
        order: "asc",
        limit: 100,
      });
      const chain = verifyChain(records, { count: 0, hash: "" }, sha256);
      assertEquals(chain, {
        kind: "ok",
        end: { count: task.historyCount, hash: task.historyHash },
      });
    }
    await world.engine.stop();
  }
});

Deno.test("TaskChanges.apply() gives up on a task that changes for ever", async () => {
  const world = await openTestEngine();
  const mailer = await world.worker();
  const made = await world.task(mailer);
  const conflicting = await openTestEngine({
    store: world.store,
    clock: world.clock,
    trouble: { conflictShare: 1 },
  });
  await assertRejects(
    () => conflicting.apply(made, { kind: "cancel" }),
    Error,
    "Cannot change task: it changed 50 times meanwhile",
  );
  assertEquals(await world.history(made), ["created"]);
});

Deno.test("TaskChanges.apply() writes what goes along with the outcome, or nothing", async () => {
  const { engine, worker, task, history, store, clock } =
    await openTestEngine();
  const made = await task(await worker());
  const answer: Write = {
    kind: "idempotency",
    tenantId: TENANT_ID,
    key: "once",
    entry: {
      bodyHash: "hash",
      status: 200,
      headers: {},
      body: "{}",
      expiresAtMs: clock.nowMs() + 1_000,
    },
  };
  const pause = {
    tenantId: TENANT_ID,
    id: made.id,
    event: { kind: "pause" },
    actor: OWNER,
    extraWrites: [answer],
  } as const;
  assertEquals((await engine.changes.apply(pause)).kind, "changed");
  assertExists(await store.idempotency(TENANT_ID, "once", clock.nowMs()));
  assertEquals(
    await engine.changes.apply({ ...pause, event: { kind: "resume" } }),
    { kind: "conflict", reason: "idempotency" },
  );
  assertEquals(await history(made), ["created", "paused"]);
});

Deno.test("TaskChanges.apply() tells at once that a record that goes along has changed", async () => {
  const { engine, parts, worker, task, history } = await openTestEngine();
  const mailer = await worker();
  const made = await task(mailer);
  const next = { ...mailer, version: 8 };
  const outcome = await engine.changes.apply({
    tenantId: TENANT_ID,
    id: made.id,
    event: { kind: "cancel" },
    actor: OWNER,
    extraWrites: [
      parts.repositories.workers.update({ ...mailer, version: 7 }, next),
    ],
  });
  assertEquals(outcome, { kind: "conflict", reason: "version" });
  assertEquals(await history(made), ["created"]);
});

Deno.test("TaskChanges.apply() changes a task by the rules of what it becomes", async () => {
  const { worker, task, apply, read, clock } = await openTestEngine();
  const made = await task(await worker(), { dateMs: clock.nowMs() + 5_000 });
  const outcome = await apply(made, {
    kind: "update",
    definition: {
      ...pickDefinition(made),
      repeat: {
        interval: "PT1H",
        limit: 1,
        catchUp: "one",
        catchUpWindowMs: 60_000,
        jitterMs: 0,
        mode: "same",
        onFailure: "stop",
      },
    },
    changes: [{ field: "repeat", from: null, to: { interval: "PT1H" } }],
  });
  assertEquals(outcome.kind, "changed");
  assertEquals((await read(made)).repeat?.interval, "PT1H");
});

Deno.test("TaskChanges.apply() reads a task before it says that nothing changes", async () => {
  const { engine, worker, task, apply } = await openTestEngine();
  const made = await task(await worker());
  await apply(made, { kind: "pause" });
  const stale = await engine.changes.apply({
    tenantId: TENANT_ID,
    id: made.id,
    event: { kind: "resume" },
    actor: OWNER,
    cachedTask: made,
  });
  assertEquals(stale.kind, "changed");
  const missing = await engine.changes.apply({
    tenantId: TENANT_ID,
    id: "tsk_00000000000000000000000000",
    event: { kind: "resume" },
    actor: OWNER,
    cachedTask: made,
  });
  assertEquals(missing.kind, "missing");
});

Deno.test("TaskChanges.apply() does not find a task of another tenant", async () => {
  const { engine, worker, task } = await openTestEngine();
  const made = await task(await worker());
  const outcome = await engine.changes.apply({
    tenantId: "ten_other",
    id: made.id,
    event: { kind: "cancel" },
    actor: OWNER,
  });
  assertEquals(outcome.kind, "missing");
});

Deno.test("TaskChanges.applyAll() is not held up by a task whose rules cannot be read", async () => {
  const { worker, task, parts, read, logger, engine, clock } =
    await openTestEngine();
  const mailer = await worker();
  const dateMs = clock.nowMs() + 1_000;
  const odd = await task(mailer, { dateMs });
  const fine = await task(mailer, { dateMs });
  const broken = { ...odd, version: 2, retry: "none that can be read" };
  await parts.store.commit([{
    writes: [{
      kind: "task",
      tenantId: TENANT_ID,
      id: odd.id,
      expectedVersion: 1,
      next: broken,
      history: [],
    }],
  }]);
  await engine.start();
  await clock.advance(2_000);
  assertEquals((await read(fine)).status, "waiting");
  assertEquals((await read(odd)).status, "scheduled");
  assert(logger.listMessages("error").length > 0);
  await engine.stop();
});

Deno.test("TaskChanges tells its listeners of all that was written, and of nothing else", async () => {
  const { engine, worker, task, apply, read } = await openTestEngine();
  const heard: (readonly [string | undefined, string | undefined])[] = [];
  engine.changes.onChange(({ previous, next }) => {
    heard.push([previous?.status, next?.status]);
  });
  const made = await task(await worker(), {
    callback: { url: "https://owner.example/", on: ["canceled"] },
  });
  await apply(made, { kind: "retry" });
  await apply(made, { kind: "cancel" });
  await apply(made, { kind: "cancel" });
  assertEquals((await read(made)).status, "canceled");
  assertEquals(heard, [
    [undefined, "waiting"],
    ["waiting", "canceled"],
    [undefined, "waiting"],
  ]);
});
