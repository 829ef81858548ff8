import { assertEquals, assertNotEquals } from "@std/assert";
import {
  listFaults,
  openTasksApi,
  type TasksApi,
} from "./testing/tasks_api.ts";

/** Opens the API with a running engine, so that dates make tasks due. */
async function open(): Promise<TasksApi> {
  const api = await openTasksApi();
  await api.engine.start();
  return {
    ...api,
    async close() {
      await api.engine.stop();
      await api.close();
    },
  };
}

function secondsFrom(api: TasksApi, startMs: number): number {
  return (api.clock.nowMs() - startMs) / 1_000;
}

/** Does what is due, and returns the data that each run was given. */
async function workAll(api: TasksApi): Promise<readonly unknown[]> {
  const done: unknown[] = [];
  for (;;) {
    const { tasks } = await due(api);
    if (tasks === 0) return done;
    const id = await api.work("complete");
    done.push((await api.call("GET", `/v1/tasks/${id}`)).at("data"));
  }
}

async function due(api: TasksApi): Promise<{ readonly tasks: number }> {
  const list = await api.call("GET", "/v1/tasks?due=true");
  return { tasks: (list.at("data") as readonly unknown[]).length };
}

Deno.test("POST /v1/tasks runs what is under way once more with the newest values, however many ask", async () => {
  const api = await open();
  const first = await api.create({ key: "k", data: 0 });
  await api.take();
  for (const data of [1, 2, 3]) {
    const answer = await api.create({
      key: "k",
      data,
      on_conflict: "run_after",
    });
    assertEquals([answer.status, answer.at("id")], [200, first.at("id")]);
    assertEquals(answer.at("status"), "running");
    assertEquals(answer.at("again"), first.at("date"));
  }
  const { attempt } = Object(
    (await api.call("GET", `/v1/tasks/${first.textAt("id")}`)).json,
  );
  await api.engine.changes.apply({
    tenantId: api.tenant.id,
    id: first.textAt("id"),
    event: { kind: "complete", lease: { id: attempt.id } },
    actor: { type: "system", id: "system" },
  });
  assertEquals(await workAll(api), [3]);
  const read = await api.call("GET", `/v1/tasks/${first.textAt("id")}`);
  assertEquals([read.at("status"), read.at("executions")], ["complete", 2]);
  assertEquals(read.at("again"), undefined);
  await api.close();
});

Deno.test("POST /v1/tasks debounces the requests of a key", async () => {
  const api = await open();
  const startMs = api.clock.nowMs();
  const debounce = { window: "5s", max_wait: "12s" };
  const runs: unknown[] = [];
  const ids = new Set<unknown>();
  // The first window ends by the longest wait, the second one by itself.
  for (let second = 0; second < 30; second++) {
    if (second % 4 === 0 && second <= 16) {
      const answer = await api.create({ key: "k", data: second, debounce });
      ids.add(answer.at("id"));
    }
    await api.clock.advanceAsync(1_000);
    for (const data of await workAll(api)) {
      runs.push([data, secondsFrom(api, startMs)]);
    }
  }
  assertEquals(runs, [[8, 12], [16, 21]]);
  assertEquals(ids.size, 2);
  await api.close();
});

Deno.test("POST /v1/tasks throttles the requests of a key", async () => {
  const api = await open();
  const startMs = api.clock.nowMs();
  const throttle = { window: "10s" };
  const runs: unknown[] = [];
  for (let second = 0; second < 60; second++) {
    if (second < 15 || second === 45) {
      await api.create({ key: "k", data: second, throttle });
    }
    for (const data of await workAll(api)) {
      runs.push([data, secondsFrom(api, startMs)]);
    }
    await api.clock.advanceAsync(1_000);
  }
  // The request at 10 s comes before the second run is taken.
  assertEquals(runs, [[0, 0], [10, 10], [14, 20], [45, 45]]);
  await api.close();
});

Deno.test("POST /v1/tasks throttles requests while a run of the key is under way", async () => {
  const api = await open();
  const throttle = { window: "10s" };
  const first = await api.create({ key: "k", data: 1, throttle });
  await api.take();
  const [second, third] = [
    await api.create({ key: "k", data: 2, throttle }),
    await api.create({ key: "k", data: 3, throttle }),
  ];
  const atMs = Date.parse(first.textAt("date")) + 10_000;
  const expected = new Date(atMs).toISOString();
  assertEquals([second.at("again"), third.at("again")], [expected, expected]);
  assertEquals([second.status, second.at("id")], [200, first.at("id")]);
  await api.close();
});

Deno.test("POST /v1/tasks/batch settles the spacing of a key within the batch", async () => {
  const api = await open();
  const task = { worker: "mailer", key: "k" };
  const debounce = { window: "5s" };
  const answer = await api.send("POST", "/v1/tasks/batch", {
    tasks: [
      { ...task, data: 1, debounce },
      { ...task, data: 2, debounce },
      { ...task, key: "t", data: 3, throttle: { window: "5s" } },
      { ...task, key: "t", data: 4, throttle: { window: "5s" } },
    ],
  });
  const results = [0, 1, 2, 3].map((index) =>
    answer.at("results", index, "status")
  );
  assertEquals(results, [201, 200, 201, 200]);
  assertEquals(await workAll(api), [4]);
  await api.clock.advanceAsync(5_000);
  assertEquals(await workAll(api), [2]);
  await api.close();
});

Deno.test("POST /v1/tasks/batch asks for a run after a retry once, and gives it the last values", async () => {
  const api = await open();
  await api.create({ key: "k", retry: { limit: 1, interval: "60s" } });
  const id = await api.work("fail");
  const task = { worker: "mailer", key: "k", on_conflict: "run_after" };
  await api.send("POST", "/v1/tasks/batch", {
    tasks: [{ ...task, data: 1 }, { ...task, data: 2 }],
  });
  const read = await api.call("GET", `/v1/tasks/${id}`);
  assertEquals([read.at("run"), read.at("data")], [1, 2]);
  assertEquals(await workAll(api), [2]);
  await api.close();
});

Deno.test("POST /v1/tasks refuses a spacing that makes no sense", async () => {
  const api = await openTasksApi({ limits: { maxDelayMs: 60_000 } });
  const window = { window: "5s" };
  const cases:
    readonly (readonly [object, readonly (readonly [string, string])[]])[] = [
      [{ debounce: window }, [["/debounce", "needs_key"]]],
      [{ on_conflict: "run_after" }, [["/on_conflict", "needs_key"]]],
      [{ key: "k", throttle: { window: "0s" } }, [[
        "/throttle/window",
        "too_small",
      ]]],
      [{ key: "k", throttle: window, debounce: window }, [
        ["/throttle", "exclusive"],
      ]],
      [{ key: "k", throttle: window, delay: "1s" }, [["/delay", "exclusive"]]],
      [{ key: "k", throttle: window, on_conflict: "reject" }, [
        ["/on_conflict", "exclusive"],
      ]],
      [{ key: "k", debounce: { window: "5s", max_wait: "4s" } }, [
        ["/debounce/max_wait", "too_small"],
      ]],
      [{ key: "k", debounce: window, repeat: { interval: "P1D" } }, [
        ["/debounce", "exclusive"],
      ]],
      [{ key: "k", on_conflict: "run_after", repeat: { interval: "P1D" } }, [
        ["/on_conflict", "exclusive"],
      ]],
      [{ key: "k", throttle: { window: "61s" } }, [[
        "/throttle/window",
        "too_late",
      ]]],
    ];
  for (const [body, faults] of cases) {
    const answer = await api.create({ ...body });
    assertEquals([answer.status, listFaults(answer)], [422, faults]);
  }
  await api.create({ key: "k", repeat: { interval: "P1D" } });
  const answer = await api.create({ key: "k", throttle: window });
  assertEquals([answer.status, answer.at("code")], [409, "key_conflict"]);
  await api.close();
});

Deno.test("POST /v1/tasks forgets the window of a throttled task that was removed", async () => {
  const api = await open();
  const throttle = { window: "60s" };
  const first = await api.create({ key: "k", throttle });
  await api.work("complete");
  await api.call("DELETE", `/v1/tasks/${first.textAt("id")}`);
  const second = await api.create({ key: "k", throttle });
  assertEquals(second.at("status"), "waiting");
  assertNotEquals(second.at("id"), first.at("id"));
  await api.close();
});
