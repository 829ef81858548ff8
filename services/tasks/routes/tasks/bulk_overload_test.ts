import { assertEquals } from "@std/assert";
import { type Store, StoreBusyError } from "../../store/store.ts";
import type { TestAnswer } from "../testing/test_caller.ts";
import { openTasksApi, type TasksApi } from "./testing/tasks_api.ts";

Deno.test("POST /v1/tasks/actions removes more tasks than the store takes at once", async () => {
  const api = await openWithTasks();
  const narrow = narrowed(api.store, 10);
  const answer = await patiently(api, { action: "delete" });
  assertEquals(counts(answer), { status: 200, changed: 60, failed: 0 });
  narrow.end();
  assertEquals((await api.call("GET", "/v1/tasks?count")).at("count"), 0);
  await api.close();
});

Deno.test("POST /v1/tasks/actions counts what was done before the store had no more room", async () => {
  for (const action of ["delete", "retry"]) {
    const api = await openWithTasks();
    if (action === "retry") await patiently(api, { action: "cancel" });
    const status = action === "retry" ? "canceled" : "active";
    // The audit entry is committed first.
    const narrow = narrowed(api.store, 0, { after: 1 });
    const answer = await patiently(api, { action, status });
    assertEquals(counts(answer), { status: 200, changed: 0, failed: 60 });
    assertEquals(answer.at("errors", 0, "code"), "overloaded");
    narrow.end();
    const again = await patiently(api, { action, status });
    assertEquals(counts(again), { status: 200, changed: 60, failed: 0 });
    await api.close();
  }
});

Deno.test("POST /v1/tasks/actions says that nothing was done when it could not begin", async () => {
  const api = await openWithTasks();
  const narrow = narrowed(api.store, 0);
  const answer = await patiently(api, { action: "cancel" });
  assertEquals([answer.status, answer.at("code")], [503, "overloaded"]);
  narrow.end();
  const left = await api.call("GET", "/v1/tasks?status=active&count");
  assertEquals(left.at("count"), 60);
  await api.close();
});

async function openWithTasks(): Promise<TasksApi> {
  const api = await openTasksApi();
  const tasks = Array.from({ length: 60 }, () => ({ worker: "mailer" }));
  await api.send("POST", "/v1/tasks/batch", { tasks });
  return api;
}

/** Sends a bulk action and advances the clock until it is answered. */
async function patiently(
  api: TasksApi,
  { action, status = "active" }: {
    readonly action: string;
    readonly status?: string;
  },
): Promise<TestAnswer> {
  let isDone = false;
  const sending = api.send("POST", "/v1/tasks/actions", {
    action,
    filter: { status },
  }).finally(() => {
    isDone = true;
  });
  for (let turn = 0; turn < 500 && !isDone; turn++) {
    await api.clock.advanceAsync(50);
  }
  return await sending;
}

function counts(answer: TestAnswer) {
  const { status } = answer;
  return { status, changed: answer.at("changed"), failed: answer.at("failed") };
}

/**
 * Makes a store refuse more than `room` commits at once, after some that it
 * accepts.
 */
function narrowed(
  store: Store,
  room: number,
  { after = 0 }: { readonly after?: number } = {},
): { end(): void } {
  const commit = store.commit.bind(store);
  let [count, underWay] = [0, 0];
  store.commit = async (transactions) => {
    if (count++ >= after && underWay >= room) throw new StoreBusyError(50);
    underWay++;
    try {
      return await commit(transactions);
    } finally {
      underWay--;
    }
  };
  return {
    end: () => {
      store.commit = commit;
    },
  };
}
