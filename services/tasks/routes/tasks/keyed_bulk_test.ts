import { assert, assertEquals } from "@std/assert";
import type { TaskStatus } from "../../domain/task.ts";
import { REGISTRY } from "../../engine/repositories.ts";
import type { Engine } from "../../engine/engine.ts";
import type { Store } from "../../store/store.ts";
import {
  type AnswerPlace,
  type BulkOrder,
  newOperation,
} from "../../engine/bulk/operation.ts";
import { openOperations } from "./bulk_routes.ts";
import { openTasksApi, type TasksApi } from "./testing/tasks_api.ts";

const CALL = { headers: { "idempotency-key": "bulk" } };

Deno.test("POST /v1/tasks/actions with a key answers as it does without", async () => {
  const api = await openTasksApi();
  const id = (await api.create()).textAt("id");
  await api.create();
  const ids = [id, "nope"];
  const body = { action: "pause", ids };
  const first = await api.send("POST", "/v1/tasks/actions", body, CALL);
  const again = await api.send("POST", "/v1/tasks/actions", body, CALL);
  assertEquals([first.status, again.status], [200, 200]);
  assertEquals(again.headers["idempotency-replayed"], "true");
  assertEquals(again.text, first.text);
  const plain = await api.send("POST", "/v1/tasks/actions", body);
  assertEquals(first.json, {
    ...Object(plain.json),
    changed: plain.at("unchanged"),
    unchanged: plain.at("changed"),
  });
  const other = { action: "resume", ids };
  const reused = await api.send("POST", "/v1/tasks/actions", other, CALL);
  assertEquals(reused.at("code"), "idempotency_key_reused");
  assertEquals(await countRecords(api), 0);
  await api.close();
});

Deno.test("POST /v1/tasks/actions with a key is bound by no number of operations", async () => {
  const api = await openTasksApi();
  await api.create();
  const body = { action: "pause", filter: { status: "active" } };
  const answers = await Promise.all(
    Array.from(
      { length: 15 },
      (_, index) =>
        api.send("POST", "/v1/tasks/actions", body, {
          headers: { "idempotency-key": `k${index}` },
        }),
    ),
  );
  assertEquals(answers.map(({ status }) => status), answers.map(() => 200));
  await api.close();
});

Deno.test("POST /v1/tasks/actions with a key goes on after the store failed, and a repeat waits for it", async () => {
  const api = await openTasksApi();
  await makeCanceled(api, 300);
  const failing = failFrom(api.store, { commit: 4, isApplied: true });
  const body = {
    action: "retry",
    filter: { status: "canceled" },
    limit: 250,
  };
  const first = await api.send("POST", "/v1/tasks/actions", body, CALL);
  assertEquals([first.status, first.at("code")], [
    409,
    "idempotency_in_progress",
  ]);
  failing.end();
  const repeat = api.send("POST", "/v1/tasks/actions", body, CALL);
  for (let turn = 0; turn < 20; turn++) await api.clock.advanceAsync(500);
  const answer = await repeat;
  assertEquals([answer.status, answer.at("matched"), answer.at("changed")], [
    200,
    250,
    250,
  ]);
  assertEquals(await fetchCount(api, "canceled"), 50);
  const again = await api.send("POST", "/v1/tasks/actions", body, CALL);
  assertEquals(again.text, answer.text);
  await api.close();
});

Deno.test("Operations.perform() does all of an order and no more, wherever it is broken off", async () => {
  let runs = 0;
  for (const isApplied of [false, true]) {
    for (let commit = 1;; commit++) {
      const api = await openTasksApi();
      await makeCanceled(api, 260);
      const outcome = await brokenOff(api, { commit, isApplied });
      if (outcome === "done") {
        await api.close();
        break;
      }
      assert(runs++ < 40);
      const left = await fetchCount(api, "canceled");
      const expected = outcome === "none"
        ? { left: 260, answer: undefined }
        : { left: 30, answer: [230, 230, 0] };
      const entry = await findEntry(api);
      const told = entry === undefined ? undefined : JSON.parse(entry.body);
      assertEquals(
        {
          left,
          answer: told && [told.matched, told.changed, told.failed],
        },
        expected,
        `commit ${commit}, applied: ${isApplied}`,
      );
      assertEquals(await countRecords(api), 0);
      await api.close();
    }
  }
});

Deno.test("Operations.perform() goes on with each action where it was broken off", async () => {
  for (const action of ["cancel", "pause", "resume", "delete"] as const) {
    const api = await openTasksApi();
    await api.send("POST", "/v1/tasks/batch", {
      tasks: Array.from({ length: 20 }, () => ({
        worker: "mailer",
        ...(action === "resume" ? { status: "paused" } : {}),
      })),
    });
    const status = action === "resume" ? "paused" : "waiting";
    // The third commit is the one that changes the tasks.
    const commit = 3;
    await brokenOff(api, { commit, isApplied: true, action, status });
    const { matched, changed } = JSON.parse(
      (await findEntry(api))?.body ?? "{}",
    );
    assertEquals([action, matched, changed], [action, 20, 20]);
    await api.close();
  }
});

Deno.test("Operations.stop() ends a perform() after its step, and the next start goes on", async () => {
  const api = await openTasksApi();
  await makeCanceled(api, 450);
  const first = openOperations(api.engine);
  const place: AnswerPlace = { ...PLACE, tenantId: api.tenant.id };
  const order = createOrder(api, { limit: 430 });
  const begun = { ...newOperation(order, "opr_1"), answersTo: place };
  const performing = first.perform(begun, []);
  // Waits until the operation has begun.
  while (await countRecords(api) < 2);
  await first.stop();
  assertEquals((await performing).kind, "running");
  const done = await fetchCount(api, "waiting");
  assert(typeof done === "number" && done < 430);
  await runAll(api.engine);
  const { changed } = JSON.parse((await findEntry(api))?.body ?? "{}");
  assertEquals([changed, await fetchCount(api, "canceled")], [430, 20]);
  await api.close();
});

Deno.test("Operations keeps an answer also for what it gives up", async () => {
  const api = await openTasksApi();
  await makeCanceled(api, 3);
  const { store } = api.engine.parts;
  const list = store.listTasks.bind(store);
  const body = { action: "retry", filter: { status: "canceled" } };
  store.listTasks = (query) =>
    query.count === true
      ? list(query)
      : Promise.reject(new Error("disk on fire"));
  const first = await api.send("POST", "/v1/tasks/actions", body, CALL);
  assertEquals(first.status, 409);
  for (let tries = 0; tries < 70; tries++) await api.clock.advanceAsync(1_000);
  store.listTasks = list;
  const again = await api.send("POST", "/v1/tasks/actions", body, CALL);
  assertEquals([again.status, again.at("status")], [202, "failed"]);
  const read = await api.call(
    "GET",
    `/v1/operations/${again.textAt("id")}`,
  );
  assertEquals(read.json, again.json);
  await api.close();
});

const PLACE = { key: "k", bodyHash: "b" };

/** Performs an order during which the process ends, then starts again. */
async function brokenOff(
  api: TasksApi,
  { commit, isApplied, action = "retry", status = "canceled" }: {
    readonly commit: number;
    readonly isApplied: boolean;
    readonly action?: BulkOrder["action"];
    readonly status?: TaskStatus;
  },
): Promise<"done" | "went on" | "none"> {
  const { engine, tenant, store } = api;
  const place: AnswerPlace = { ...PLACE, tenantId: tenant.id };
  const order = createOrder(api, {
    action,
    filter: { by: "date", statuses: [status] },
  });
  const failing = failFrom(store, { commit, isApplied });
  const first = openOperations(engine);
  const begun = { ...newOperation(order, "opr_1"), answersTo: place };
  let kind: string;
  try {
    ({ kind } = await first.perform(begun, []));
  } catch {
    kind = "thrown";
  }
  await first.stop();
  failing.end();
  if (kind === "done") return "done";
  await runAll(engine);
  return await findEntry(api) === undefined ? "none" : "went on";
}

function createOrder(
  { tenant, clock }: TasksApi,
  patch: Partial<BulkOrder> = {},
): BulkOrder {
  return {
    action: "retry",
    tenantId: tenant.id,
    actor: { type: "key", id: "key_1" },
    filter: { by: "date", statuses: ["canceled"] },
    limit: 230,
    isDryRun: false,
    orderedAtMs: clock.nowMs(),
    ...patch,
  };
}

/** Creates canceled tasks. */
async function makeCanceled(api: TasksApi, count: number): Promise<void> {
  const tasks = Array.from({ length: count }, () => ({ worker: "mailer" }));
  await api.send("POST", "/v1/tasks/batch", { tasks });
  await api.send("POST", "/v1/tasks/actions", {
    action: "cancel",
    filter: { status: "active" },
  });
}

async function fetchCount(api: TasksApi, status: string): Promise<unknown> {
  const path = `/v1/tasks?status=${status}&count&limit=1`;
  return (await api.call("GET", path)).at("count");
}

function findEntry({ store, tenant, clock }: TasksApi) {
  return store.idempotency(tenant.id, PLACE.key, clock.nowMs());
}

/** How many records of operations, and notes about them, are left. */
async function countRecords({ store, tenant }: TasksApi): Promise<number> {
  const pages = await Promise.all(
    [tenant.id, REGISTRY].map((tenantId) =>
      store.records({ kind: "operation", tenantId, limit: 100 })
    ),
  );
  return pages.reduce((sum, { records }) => sum + records.length, 0);
}

/** Restarts the operations until nothing is left to do. */
async function runAll(engine: Engine): Promise<void> {
  for (let tries = 0; tries < 20; tries++) {
    const operations = openOperations(engine);
    const count = await operations.start();
    // Stopping lets each start do one step.
    await operations.stop();
    if (count === 0) return;
  }
  throw new Error("operations do not end");
}

/**
 * Makes commits fail from one on; the first of them fails before or after it is
 * applied.
 */
function failFrom(
  store: Store,
  { commit: from, isApplied }: {
    readonly commit: number;
    readonly isApplied: boolean;
  },
): { end(): void } {
  const commit = store.commit.bind(store);
  let count = 0;
  store.commit = async (transactions) => {
    count++;
    if (count < from) return await commit(transactions);
    if (count === from && isApplied) await commit(transactions);
    throw new Error("disk on fire");
  };
  return {
    end: () => {
      store.commit = commit;
    },
  };
}
