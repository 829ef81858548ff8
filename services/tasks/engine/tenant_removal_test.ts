import { BLANK_DEFINITION, type Task } from "../domain/task.ts";
import { createTask } from "./testing/create_tasks.ts";
import { assert, assertEquals } from "@std/assert";
import { waitUntil } from "../../../tests/support/wait_until.ts";
import { SYSTEM_ACTOR } from "../domain/records.ts";
import type { RecordKind } from "../store/store.ts";
import { AWAY, RecordingMirror } from "./testing/recording_mirror.ts";
import { accountRoutes } from "../routes/account/account_routes.ts";
import { addUser, peopleRoutes } from "../routes/users/testing/add_user.ts";
import { openTestApi, type TestApi } from "../routes/testing/test_api.ts";
import { removalWrites, TenantEraser } from "./tenant_removal.ts";

const KINDS: readonly RecordKind[] = [
  "worker",
  "user",
  "key",
  "credential",
  "secret",
  "retired_secrets",
  "data_key",
  "operation",
  "service",
];

Deno.test("TenantEraser erases all of a removed tenant but its audit log", async () => {
  const api = await open();
  await fill(api, 450);
  const stays = await api.addTenant("globex");
  const worker = await api.addWorker({ tenantId: stays.tenant.id });
  await addTask(api, { tenantId: stays.tenant.id, workerId: worker.id });
  const canceled: string[] = [];
  api.engine.changes.onChange(({ next }) => {
    if (next?.status === "canceled") canceled.push(next.id);
  });
  await remove(api);
  const eraser = new TenantEraser({ engine: api.engine });
  assertEquals(await eraser.runOnce(), 1);
  assertEquals(canceled.length, 450);
  assertEquals(await taskCount(api, api.tenant.id), 0);
  for (const kind of KINDS) {
    const page = await api.store.records({
      kind,
      tenantId: api.tenant.id,
      limit: 10,
    });
    assertEquals(page.records, [], kind);
  }
  const [last] = await api.store.audit({ tenantId: api.tenant.id, limit: 1 });
  assertEquals(last?.action, "tenant.erased");
  assertEquals(await taskCount(api, stays.tenant.id), 1);
  const workers = await api.store.records({
    kind: "worker",
    tenantId: stays.tenant.id,
    limit: 10,
  });
  assertEquals(workers.records.length, 1);
  assertEquals(await eraser.runOnce(), 0);
  await api.close();
});

Deno.test("removalWrites() destroys all keys of the tenant at once", async () => {
  const api = await open();
  await fill(api, 0);
  const { dataKeys } = api.engine.parts.repositories;
  assertEquals((await dataKeys.all(api.tenant.id)).length, 2);
  await remove(api);
  assertEquals(await dataKeys.all(api.tenant.id), []);
  await api.close();
});

Deno.test("TenantEraser erases what a late request adds", async () => {
  const api = await open();
  await fill(api, 1);
  const [worker] = await api.engine.parts.repositories.workers.all(
    api.tenant.id,
  );
  assert(worker !== undefined);
  await remove(api);
  let late: Promise<unknown> | undefined;
  const eraser = new TenantEraser({ engine: api.engine });
  api.engine.changes.onChange(({ next }) => {
    // One more task is created after the tasks were read.
    late ??= next === undefined
      ? addTask(api, { tenantId: api.tenant.id, workerId: worker.id })
      : undefined;
  });
  await eraser.runOnce();
  await late;
  assertEquals(await taskCount(api, api.tenant.id), 0);
  await api.close();
});

Deno.test("TenantEraser goes on after a restart where the one before it ended", async () => {
  const api = await open();
  await fill(api, 450);
  await remove(api);
  const first = new TenantEraser({ engine: api.engine });
  api.engine.changes.onChange(() => {
    void first.stop();
  });
  assertEquals(await first.runOnce(), 0);
  assert(await taskCount(api, api.tenant.id) > 0, "it did not stop");
  const second = new TenantEraser({ engine: api.engine });
  second.start();
  await untilErased(api);
  assertEquals(await taskCount(api, api.tenant.id), 0);
  await second.stop();
  await api.close();
});

Deno.test("TenantEraser.wake() erases what was removed meanwhile", async () => {
  const api = await open();
  const eraser = new TenantEraser({ engine: api.engine });
  eraser.start();
  await fill(api, 3);
  await remove(api);
  eraser.wake();
  eraser.wake();
  await untilErased(api);
  assertEquals(await taskCount(api, api.tenant.id), 0);
  const timers = api.clock.pendingTimers;
  await eraser.stop();
  assertEquals(api.clock.pendingTimers, timers - 1);
  await api.close();
});

Deno.test("TenantEraser tries again a minute after a failure", async () => {
  const api = await open();
  await fill(api, 1);
  await remove(api);
  let isBroken = true;
  const { parts } = api.engine;
  const store = new Proxy(parts.store, {
    get(target, name) {
      if (name === "listTasks" && isBroken) {
        return () => Promise.reject(new Error("disk full"));
      }
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
  const eraser = new TenantEraser({
    engine: {
      parts: { ...parts, store },
      changes: api.engine.changes,
      mirroring: api.engine.mirroring,
    },
  });
  eraser.start();
  await waitUntil(() => api.logger.listMessages("error").length === 1, {
    what: "the failure that is logged",
  });
  isBroken = false;
  await api.clock.advanceAsync(60_000);
  await untilErased(api);
  await eraser.stop();
  await api.close();
});

Deno.test("TenantEraser has mirrored users removed, also later", async () => {
  const mirror = new RecordingMirror();
  const api = await openTestApi({ routes: peopleRoutes, mirror });
  await api.call("POST", "/v1/users", { body: { email: "ada@example.com" } });
  mirror.next = AWAY;
  await api.call("POST", "/v1/users", { body: { email: "bob@example.com" } });
  await remove(api);
  mirror.always = AWAY;
  await new TenantEraser({ engine: api.engine }).runOnce();
  await api.clock.advanceAsync(5_000);
  await waitUntil(() => mirror.calls.length === 3, { what: "the first try" });
  mirror.always = undefined;
  await api.clock.advanceAsync(60_000);
  await waitUntil(() => mirror.calls.length === 4, { what: "the second try" });
  assertEquals(mirror.calls.slice(2), [["remove", "sub_1"], [
    "remove",
    "sub_1",
  ]]);
  await api.close();
});

function open(): Promise<TestApi> {
  return openTestApi({ routes: (parts) => accountRoutes(parts) });
}

/** Adds records of every kind to the tenant "acme". */
async function fill(api: TestApi, tasks: number): Promise<void> {
  const worker = await api.addWorker();
  await addUser(api);
  const { writes } = await api.parts.vault.keys.ticket(api.tenant.id);
  await api.write(...writes);
  const { repositories } = api.engine.parts;
  const tenantId = api.tenant.id;
  await api.write(
    repositories.retiredSecrets.insert({
      tenantId,
      id: worker.id,
      version: 1,
      values: [],
    }),
    repositories.dataKeys.insert({
      tenantId,
      id: "data.1",
      version: 1,
      wrapped: "?",
    }),
  );
  await api.write({
    kind: "record",
    recordKind: "service",
    tenantId: api.tenant.id,
    id: "guard:access",
    expectedVersion: 0,
    next: {
      kind: "service",
      tenantId: api.tenant.id,
      id: "guard:access",
      version: 1,
      text: "",
    },
  });
  for (let index = 0; index < tasks; index++) {
    await addTask(api, { tenantId: api.tenant.id, workerId: worker.id });
  }
}

async function addTask(
  api: TestApi,
  { tenantId, workerId }: {
    readonly tenantId: string;
    readonly workerId: string;
  },
): Promise<Task> {
  const worker = await api.engine.parts.workers.get(tenantId, workerId);
  assert(worker !== undefined);
  return await createTask(api.engine, {
    tenantId,
    worker,
    definition: {
      ...BLANK_DEFINITION,
      workerId,
    },
    isPaused: false,
    actor: SYSTEM_ACTOR,
  });
}

async function remove(api: TestApi): Promise<void> {
  const { repositories } = api.engine.parts;
  const tenant = await repositories.tenants.get("", api.tenant.id);
  assert(tenant !== undefined);
  await api.write(
    ...await removalWrites(api.engine.parts, tenant, {
      nowMs: api.clock.nowMs(),
      actor: SYSTEM_ACTOR,
    }),
  );
}

async function untilErased({ logger }: TestApi): Promise<void> {
  await waitUntil(() => logger.messages.includes("Erased a removed tenant"), {
    what: "the end of the erasure",
  });
}

async function taskCount(api: TestApi, tenantId: string): Promise<number> {
  const page = await api.store.listTasks({
    tenantId,
    by: "created_at",
    sort: "created_at",
    order: "asc",
    limit: 1_000,
  });
  return page.tasks.length;
}
