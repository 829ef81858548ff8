import { assert, assertEquals } from "@std/assert";
import type { WorkerDefinition } from "../domain/records.ts";
import { pickDefinition, type Task } from "../domain/task.ts";
import { repeatWith } from "../domain/testing/task_story.ts";
import { BlockedCensus } from "./dependents.ts";
import { buildRemoval } from "./task_writes.ts";
import { interceptStore } from "./testing/intercepted_store.ts";
import {
  openTestEngine,
  type TestEngine,
  type TestEngineOptions,
} from "./testing/test_engine.ts";

/**
 * Opens an engine whose clock and reconciler do not run: only changes have
 * effects.
 */
async function open(
  options: TestEngineOptions = {},
): Promise<
  TestEngine & {
    readonly mailer: WorkerDefinition;
    end(task: Task, how: "complete" | "fail"): Promise<void>;
    status(task: Task): Promise<string>;
  }
> {
  const world = await openTestEngine(options);
  const mailer = await world.worker();
  return {
    ...world,
    mailer,
    async end(task, how) {
      const [grant] = await world.lease(mailer, { jobs: [task.job] });
      if (grant?.task.id !== task.id) throw new Error("another task is first");
      await world[how](grant);
      await world.clock.advance(0);
    },
    async status({ id }) {
      await world.clock.advance(0);
      return (await world.read({ id })).status;
    },
  };
}

Deno.test("Dependents lets a task go on when all of its dependencies have succeeded", async () => {
  const world = await open();
  const one = await world.task(world.mailer, { job: "one" });
  const two = await world.task(world.mailer, { job: "two" });
  const dependencies = [one.id, two.id];
  const waits = await world.task(world.mailer, { dependencies, job: "x" });
  assertEquals(await world.status(waits), "blocked");
  await world.end(one, "complete");
  assertEquals(await world.status(waits), "blocked");
  assertEquals(await world.lease(world.mailer, { jobs: ["x"] }), []);
  await world.end(two, "complete");
  assertEquals(await world.status(waits), "waiting");
  const late = await world.task(world.mailer, { dependencies });
  assertEquals(late.status, "waiting");
});

Deno.test("Dependents does what a task wants when a dependency fails, is canceled or removed", async () => {
  const expected = { fail: "failed", run: "waiting", wait: "blocked" };
  for (const how of ["fail", "cancel", "remove"] as const) {
    for (const policy of ["fail", "run", "wait"] as const) {
      const world = await open();
      const one = await world.task(world.mailer, { job: "a", retry: null });
      const waits = await world.task(world.mailer, {
        dependencies: [one.id],
        onDependencyFailure: policy,
      });
      if (how === "fail") await world.end(one, "fail");
      else {
        await world.apply(one, { kind: "cancel" });
        if (how === "remove") {
          const task = await world.read(one);
          await world.parts.store.commit([{ writes: [buildRemoval(task)] }]);
          world.engine.changes.announce(task, undefined);
        }
      }
      const isGone = how === "remove" && policy === "wait";
      const status = isGone ? "failed" : expected[policy];
      assertEquals(await world.status(waits), status, how);
      if (status !== "failed") continue;
      const code = how === "remove" && policy === "wait"
        ? "dependency_removed"
        : "dependency_failed";
      assertEquals((await world.read(waits)).error?.code, code, how);
    }
  }
});

Deno.test("Dependents lets a task run after a failure only when the others are settled", async () => {
  const world = await open();
  const one = await world.task(world.mailer, { job: "one", retry: null });
  const two = await world.task(world.mailer, { job: "two" });
  const waits = await world.task(world.mailer, {
    dependencies: [one.id, two.id],
    onDependencyFailure: "run",
  });
  await world.end(one, "fail");
  assertEquals(await world.status(waits), "blocked");
  await world.end(two, "complete");
  assertEquals(await world.status(waits), "waiting");
});

Deno.test("Dependents sees a dependency that ends while the task is being made", async () => {
  let meanwhile: (() => Promise<void>) | undefined;
  const world: Awaited<ReturnType<typeof open>> = await open({
    wrap: (store) =>
      interceptStore(store, {
        async tasks(proceed) {
          const answer = await proceed();
          const act = meanwhile;
          meanwhile = undefined;
          await act?.();
          return answer;
        },
      }),
  });
  const one = await world.task(world.mailer);
  const [grant] = await world.lease(world.mailer);
  meanwhile = async () => {
    await world.complete(grant);
  };
  const waits = await world.task(world.mailer, { dependencies: [one.id] });
  assertEquals(waits.status, "blocked");
  assertEquals(await world.status(waits), "waiting");
});

Deno.test("Dependents judges a task again when it is resumed or gets other dependencies", async () => {
  const world = await open();
  const one = await world.task(world.mailer, { job: "one" });
  const two = await world.task(world.mailer, { job: "two" });
  const paused = await world.task(world.mailer, { dependencies: [one.id] });
  const changed = await world.task(world.mailer, { dependencies: [two.id] });
  await world.apply(paused, { kind: "pause" });
  await world.end(one, "complete");
  assertEquals(await world.status(paused), "paused");
  await world.apply(paused, { kind: "resume" });
  assertEquals(await world.status(paused), "waiting");
  await world.apply(changed, {
    kind: "update",
    definition: { ...pickDefinition(changed), dependencies: [one.id] },
    changes: [{ field: "dependencies", from: [two.id], to: [one.id] }],
  });
  assertEquals(await world.status(changed), "waiting");
});

Deno.test("Dependents hears of a success that leaves its task scheduled", async () => {
  const world = await open();
  const one = await world.task(world.mailer, { job: "one" });
  const waits = await world.task(world.mailer, { dependencies: [one.id] });
  const [grant] = await world.lease(world.mailer, { jobs: ["one"] });
  await world.apply(one, {
    kind: "update",
    definition: {
      ...pickDefinition(one),
      repeat: {
        interval: "PT1H",
        catchUp: "one",
        catchUpWindowMs: 0,
        jitterMs: 0,
        mode: "spawn",
        onFailure: "stop",
      },
    },
    changes: [{ field: "repeat", from: null, to: null }],
  });
  await world.complete(grant);
  assertEquals(await world.status(one), "scheduled");
  assertEquals(await world.status(waits), "waiting");
});

Deno.test("Dependents hears that a canceled task, which has succeeded before, is tried again", async () => {
  const world = await open();
  const one = await world.task(world.mailer, {
    job: "a",
    repeat: repeatWith({ interval: "PT1H" }),
  });
  await world.end(one, "complete");
  await world.apply(one, { kind: "cancel" });
  const waits = await world.task(world.mailer, {
    dependencies: [one.id],
    onDependencyFailure: "wait",
  });
  assertEquals(await world.status(waits), "blocked");
  await world.apply(one, { kind: "retry" });
  assertEquals(await world.status(one), "waiting");
  assertEquals(await world.status(waits), "waiting");
});

Deno.test("Dependents sees to all of a task's many dependents", async () => {
  const world = await open();
  const one = await world.task(world.mailer, { job: "one" });
  const tasks: Task[] = [];
  for (let index = 0; index < 250; index++) {
    tasks.push(
      await world.task(world.mailer, { dependencies: [one.id], job: "x" }),
    );
  }
  await world.end(one, "complete");
  for (const task of tasks) {
    assertEquals(await world.status(task), "waiting");
  }
});

Deno.test("Dependents lets others have their turn while it reads tasks that go on waiting", async () => {
  let reads = 0;
  const world = await open({
    wrap: (store) =>
      interceptStore(store, {
        tasks: (proceed) => {
          reads++;
          return proceed();
        },
      }),
  });
  const one = await world.task(world.mailer, { job: "one" });
  const two = await world.task(world.mailer, { job: "two" });
  const dependencies = [one.id, two.id];
  for (let index = 0; index < 250; index++) {
    await world.task(world.mailer, { dependencies, job: "x" });
  }
  await world.clock.advance(0);
  reads = 0;
  await world.end(one, "complete");
  assert(reads < 50, `${reads}`);
  await world.clock.advance(100);
  assert(reads > 250, `${reads}`);
  await world.end(two, "complete");
  await world.clock.advance(100);
  assertEquals((await world.lease(world.mailer, { jobs: ["x"] })).length, 1);
});

Deno.test("Dependents asks once for the dependents of tasks that end in one commit", async () => {
  let asked = 0;
  const world = await open({
    wrap: (store) =>
      interceptStore(store, {
        dependents: (proceed) => {
          asked++;
          return proceed();
        },
      }),
  });
  const parents: Task[] = [];
  const children: Task[] = [];
  for (let index = 0; index < 10; index++) {
    const parent = await world.task(world.mailer, { job: "parent" });
    parents.push(parent);
    children.push(
      await world.task(world.mailer, {
        dependencies: [parent.id],
        onDependencyFailure: "run",
      }),
    );
  }
  await world.engine.changes.applyAll(
    parents.map(({ tenantId, id }) => ({
      tenantId,
      id,
      event: { kind: "cancel" },
      actor: { type: "system", id: "system" },
    })),
  );
  await world.clock.advance(0);
  assertEquals(asked, 1);
  for (const child of children) {
    assertEquals(await world.status(child), "waiting");
  }
});

Deno.test("Dependents leaves to the reconciler what the store did not let it do", async () => {
  let fails = false;
  const world = await open({
    wrap: (store) =>
      interceptStore(store, {
        dependents: (proceed) =>
          fails ? Promise.reject(new Error("no disk")) : proceed(),
      }),
  });
  const one = await world.task(world.mailer);
  const waits = await world.task(world.mailer, { dependencies: [one.id] });
  fails = true;
  await world.end(one, "complete");
  assertEquals(await world.status(waits), "blocked");
  assertEquals(world.logger.listMessages("error").length, 1);
  const round = world.engine.reconciler.runOnce();
  await world.clock.advance(2_000);
  assertEquals((await round).repaired, 1);
  assertEquals(await world.status(waits), "waiting");
});

Deno.test("BlockedCensus.mayHave() is true for everybody before the first count", () => {
  const census = new BlockedCensus();
  census.begin();
  assertEquals(census.mayHave("a"), true);
});

Deno.test("BlockedCensus.mayHave() is true for who was found and who came since", () => {
  const census = new BlockedCensus();
  census.begin();
  census.add("during");
  census.end(["found"]);
  census.add("after");
  assertEquals(
    ["found", "during", "after", "other"].map((id) => census.mayHave(id)),
    [true, true, true, false],
  );
});

Deno.test("BlockedCensus.end() forgets who has none any more", () => {
  const census = new BlockedCensus();
  census.begin();
  census.end(["a", "b"]);
  census.begin();
  census.end(["b"]);
  assertEquals([census.mayHave("a"), census.mayHave("b")], [false, true]);
});

Deno.test("Dependents keeps a task that has succeeded for as long as blocked tasks depend on it", async () => {
  const world = await open({ limits: { retentionMs: 60_000 } });
  await world.engine.start();
  const one = await world.task(world.mailer, { job: "one" });
  const two = await world.task(world.mailer, { job: "two" });
  const dependencies = [one.id, two.id];
  const waits = await world.task(world.mailer, { dependencies, job: "x" });
  const other = await world.task(world.mailer, { job: "other" });
  await world.end(one, "complete");
  await world.end(other, "complete");
  await world.clock.advance(3_600_000);
  assertEquals(await world.status(waits), "blocked");
  const stored = async ({ tenantId, id }: Task) =>
    (await world.store.task(tenantId, id))?.status;
  assertEquals([await stored(one), await stored(other)], [
    "complete",
    undefined,
  ]);
  await world.end(two, "complete");
  assertEquals(await world.status(waits), "waiting");
  await world.clock.advance(3_600_000);
  assertEquals(await stored(one), undefined);
  await world.engine.stop();
});

Deno.test("Dependents fails a task that waits for a retry when the failed one is removed after its time", async () => {
  const world = await open({ limits: { retentionMs: 60_000 } });
  await world.engine.start();
  const one = await world.task(world.mailer, { job: "one", retry: null });
  const waits = await world.task(world.mailer, {
    dependencies: [one.id],
    onDependencyFailure: "wait",
  });
  await world.end(one, "fail");
  assertEquals(await world.status(waits), "blocked");
  await world.clock.advance(60_001);
  assertEquals(await world.status(waits), "failed");
  assertEquals((await world.read(waits)).error?.code, "dependency_removed");
  await world.engine.stop();
});
