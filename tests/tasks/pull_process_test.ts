import { assert, assertEquals } from "@std/assert";
import { startTasks, type TasksProcess } from "../support/tasks_process.ts";
import { DataFolder } from "./data_folder.ts";
import type { LeaseJson, TaskJson, TasksClient } from "./tasks_client.ts";
import { makeTenant } from "./tenant_client.ts";
import { takeOver } from "./worker_death.ts";

interface Leases {
  readonly leases: readonly LeaseJson[];
}

Deno.test("tasks gives tasks to workers", { timeout: 240_000 }, async (t) => {
  await using folder = await DataFolder.make();
  await using service = await startTasks({ dataDir: folder.path });
  await t.step(
    "tasks gives each task to one of eight racing workers, once",
    () => racesEight(service),
  );
  using client = await makeTenant(service, "other");
  await client.expect(201, ["POST", "/api/v1/workers", {
    name: "mortal",
    lease: "PT5S",
  }]);
  // The two leases run out at the same time.
  const death = takeOver(client, "mortal");
  const life = heartbeats(client);
  await Promise.allSettled([death, life]);
  await t.step(
    "tasks gives a task of a dead worker to another one when its lease is over",
    async () => {
      const { noticedAfterMs, late } = await death;
      assert(
        noticedAfterMs >= 4_950,
        `${noticedAfterMs} ms: the lease was cut`,
      );
      assertEquals(late, { status: 409, code: "lease_gone" });
    },
  );
  await t.step(
    "tasks lets a live worker keep its task by heartbeats",
    async () => {
      const lease = await life;
      const { status } = await client.call(
        "POST",
        `/api/v1/leases/${lease.id}/complete`,
        { token: lease.token },
      );
      assertEquals(status, 200);
      const task = await client.expect<TaskJson>(200, [
        "GET",
        `/api/v1/tasks/${lease.task.id}`,
      ]);
      assertEquals([task.status, task.lost], ["complete", 0]);
    },
  );
});

async function racesEight(service: TasksProcess): Promise<void> {
  using client = await makeTenant(service);
  await client.expect(201, ["POST", "/api/v1/workers", {
    name: "racer",
    concurrency: 0,
  }]);
  const total = 600;
  const taken = new Map<string, number>();
  let done = 0;
  const race = async (instance: string): Promise<void> => {
    while (done < total) {
      const { leases } = await client.expect<Leases>(200, [
        "POST",
        "/api/v1/workers/racer/lease",
        { max: 7, wait: "PT0.5S", instance },
      ]);
      for (const { task } of leases) {
        taken.set(task.id, (taken.get(task.id) ?? 0) + 1);
      }
      if (leases.length === 0) continue;
      const { results } = await client.expect<
        { readonly results: readonly { readonly status: number }[] }
      >(200, ["POST", "/api/v1/leases/batch", {
        leases: leases.map(({ id, token }) => ({
          id,
          token,
          action: "complete",
        })),
      }]);
      assertEquals(results.map(({ status }) => status), leases.map(() => 200));
      done += leases.length;
    }
  };
  const workers = Array.from({ length: 8 }, (_, index) => race(`w${index}`));
  const ids = new Set<string>();
  // Tasks are created both in batches and one by one, while the workers compete
  // for them.
  for (let round = 0; round < total / 60; round++) {
    const batch = await client.expect<
      { readonly results: readonly { readonly task: TaskJson }[] }
    >(200, ["POST", "/api/v1/tasks/batch", {
      tasks: Array.from({ length: 50 }, () => ({ worker: "racer" })),
    }]);
    for (const { task } of batch.results) ids.add(task.id);
    const singles = await Promise.all(
      Array.from(
        { length: 10 },
        () =>
          client.expect<TaskJson>(201, ["POST", "/api/v1/tasks", {
            worker: "racer",
          }]),
      ),
    );
    for (const { id } of singles) ids.add(id);
  }
  await Promise.all(workers);
  assertEquals(ids.size, total);
  assertEquals(new Set(taken.keys()), ids);
  assertEquals(new Set(taken.values()), new Set([1]));
  for (const id of ids) {
    const task = await client.expect<TaskJson>(200, [
      "GET",
      `/api/v1/tasks/${id}`,
    ]);
    assertEquals([task.status, task.executions, task.lost], [
      "complete",
      1,
      0,
    ]);
  }
}

/** Keeps a task for longer than its lease. */
async function heartbeats(client: TasksClient): Promise<LeaseJson> {
  await client.expect(201, ["POST", "/api/v1/workers", {
    name: "slow",
    lease: "PT5S",
  }]);
  await client.expect(201, ["POST", "/api/v1/tasks", { worker: "slow" }]);
  const [lease] = await takeLeases(client);
  if (lease === undefined) throw new Error("Cannot go on: no task came");
  const endMs = Date.now() + 6_500;
  while (Date.now() < endMs) {
    const { status, json } = await client.call<{ readonly canceled: boolean }>(
      "POST",
      `/api/v1/leases/${lease.id}/heartbeat`,
      { token: lease.token, body: { progress: { of: 10 } } },
    );
    assertEquals([status, json.canceled], [200, false]);
    assertEquals(await takeLeases(client, "PT1S"), []);
  }
  return lease;
}

async function takeLeases(
  client: TasksClient,
  wait = "PT0S",
): Promise<readonly LeaseJson[]> {
  const { leases } = await client.expect<Leases>(200, [
    "POST",
    "/api/v1/workers/slow/lease",
    { wait },
  ]);
  return leases;
}
