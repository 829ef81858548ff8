import { assertEquals, assertStringIncludes } from "@std/assert";
import { openTasksApi, type TasksApi } from "./testing/tasks_api.ts";

async function listCodes(
  api: TasksApi,
  id: string,
): Promise<readonly unknown[]> {
  const { hindrances } = Object(
    (await api.call("GET", `/v1/tasks/${id}/explain`)).json,
  );
  return hindrances.map(({ code }: { code: string }) => code);
}

Deno.test("GET /v1/tasks/:id/explain tells that a task is not due, and until when", async () => {
  const api = await openTasksApi();
  api.engine.liveness.seen({
    tenantId: api.tenant.id,
    workerId: api.worker.id,
  }, { nowMs: api.clock.nowMs() });
  const made = await api.create({ delay: "PT3H2M" });
  const answer = await api.call(
    "GET",
    `/v1/tasks/${made.textAt("id")}/explain`,
  );
  assertEquals(answer.json, {
    task: made.at("id"),
    status: "scheduled",
    hindrances: [{
      code: "not_due",
      message: "It is not due for 3 h 2 min",
      until: made.at("date"),
    }],
    earliest: made.at("date"),
  });
  await api.close();
});

Deno.test("GET /v1/tasks/:id/explain tells of a silent and of a paused worker", async () => {
  const api = await openTasksApi();
  const id = (await api.create()).textAt("id");
  assertEquals(await listCodes(api, id), ["worker_silent"]);
  const { repositories } = api.engine.parts;
  await api.write(repositories.workers.update(api.worker, {
    ...api.worker,
    version: 2,
    isPaused: true,
  }));
  assertEquals(await listCodes(api, id), ["worker_paused", "worker_silent"]);
  await api.close();
});

Deno.test("GET /v1/tasks/:id/explain tells that no process asks for the job", async () => {
  const api = await openTasksApi();
  const id = (await api.create({ job: "reprot" })).textAt("id");
  const worker = { tenantId: api.tenant.id, workerId: api.worker.id };
  const seen = (jobs?: readonly string[]): void =>
    api.engine.liveness.seen(worker, { jobs, nowMs: api.clock.nowMs() });
  seen(["mail", "report"]);
  const answer = await api.call("GET", `/v1/tasks/${id}/explain`);
  assertEquals(answer.at("hindrances"), [{
    code: "job_not_asked",
    message:
      `No process of its worker "${api.worker.name}" asks for tasks of ` +
      'job "reprot"; start one with a handler of it',
    until: null,
  }]);
  for (const jobs of [["mail", "reprot"], undefined]) {
    api.clock.advance(61_000);
    seen(["mail"]);
    assertEquals(await listCodes(api, id), ["job_not_asked"]);
    seen(jobs);
    assertEquals(await listCodes(api, id), ["next_in_line"]);
  }
  await api.close();
});

Deno.test("GET /v1/tasks/:id/explain tells the place in line", async () => {
  const api = await openTasksApi();
  await api.create({ priority: 5 });
  const first = (await api.create({ priority: 9 })).textAt("id");
  const last = (await api.create()).textAt("id");
  const now = { nowMs: api.clock.nowMs() };
  api.engine.liveness.seen({
    tenantId: api.tenant.id,
    workerId: api.worker.id,
  }, now);
  assertEquals(await listCodes(api, first), ["next_in_line"]);
  const answer = await api.call("GET", `/v1/tasks/${last}/explain`);
  assertStringIncludes(answer.textAt("hindrances", 0, "message"), "2 tasks");
  await api.close();
});

Deno.test("GET /v1/tasks/:id/explain tells of full workers, dependencies, pauses and ends", async () => {
  const api = await openTasksApi({ limits: { concurrency: 1 } });
  const running = (await api.create()).textAt("id");
  await api.take();
  const waiting = (await api.create()).textAt("id");
  assertEquals(await listCodes(api, waiting), ["concurrency"]);
  assertEquals(await listCodes(api, running), ["running"]);
  const blocked = (await api.create({ dependencies: [waiting] })).textAt("id");
  const answer = await api.call("GET", `/v1/tasks/${blocked}/explain`);
  assertStringIncludes(answer.textAt("hindrances", 0, "message"), waiting);
  await api.call("POST", `/v1/tasks/${waiting}/pause`);
  assertEquals(await listCodes(api, waiting), ["paused"]);
  await api.call("POST", `/v1/tasks/${waiting}/cancel`);
  assertEquals(await listCodes(api, waiting), ["finished"]);
  await api.close();
});

Deno.test("GET /v1/tasks/:id/explain tells of a rate limit, and when it lets the task start", async () => {
  const api = await openTasksApi();
  const { repositories } = api.engine.parts;
  const limit = async (per: "worker" | "group", version: number) => {
    const rate = { count: 1, periodMs: 60_000, per };
    await api.write(repositories.workers.update(
      { ...api.worker, version: version - 1 },
      { ...api.worker, version, limits: { rate } },
    ));
  };
  const explained = async (id: string) =>
    Object((await api.call("GET", `/v1/tasks/${id}/explain`)).json);
  await limit("worker", 2);
  await api.create({ group: "acme" });
  await api.work("complete");
  const startedAtMs = api.clock.nowMs();
  await api.clock.advance(15_000);
  const waiting = (await api.create({ group: "acme" })).textAt("id");
  const until = new Date(startedAtMs + 60_000).toISOString();
  assertEquals(await explained(waiting), {
    task: waiting,
    status: "waiting",
    hindrances: [{
      code: "rate_limit",
      message: "Its worker's rate limit is reached for 45 s",
      until,
    }],
    earliest: until,
  });
  const { leases } = api.engine;
  const wish = {
    tenantId: api.tenant.id,
    workerId: api.worker.id,
    max: 9,
    waitMs: 0,
  };
  assertEquals(await leases.lease(wish), []);
  await api.clock.advance(45_000);
  assertEquals(await listCodes(api, waiting), ["next_in_line"]);
  // The limit holds for each group by itself, and not for tasks without a
  // group.
  await limit("group", 3);
  await api.work("complete");
  const ofGroup = (await api.create({ group: "acme" })).textAt("id");
  const ofOther = (await api.create({ group: "other" })).textAt("id");
  const ofNone = (await api.create()).textAt("id");
  const { hindrances: [first] } = await explained(ofGroup);
  assertEquals(
    first.message,
    'The rate limit of its group "acme" is reached for 1 min',
  );
  for (const id of [ofOther, ofNone]) {
    assertEquals((await listCodes(api, id)).includes("rate_limit"), false);
  }
  await api.close();
});

Deno.test("GET /v1/tasks/:id/explain names no quota, as none holds back a task that is there", async () => {
  const api = await openTasksApi({ limits: { executionsPerMonth: 1 } });
  await api.create();
  const waiting = (await api.create()).textAt("id");
  await api.work("complete");
  assertEquals((await api.create()).at("code"), "quota_exceeded");
  assertEquals(await listCodes(api, waiting), ["next_in_line"]);
  assertEquals(await api.work("complete"), waiting);
  await api.close();
});

Deno.test("GET /v1/tasks/:id/explain tells of a schedule that makes tasks only when the next one is", async () => {
  const api = await openTasksApi();
  const { repositories } = api.engine.parts;
  await api.write(repositories.workers.update(api.worker, {
    ...api.worker,
    version: 2,
    isPaused: true,
  }));
  const made = await api.create({
    delay: "PT1H",
    repeat: { interval: "PT1H", mode: "spawn" },
  });
  const id = made.textAt("id");
  const answer = await api.call("GET", `/v1/tasks/${id}/explain`);
  assertEquals(answer.at("hindrances"), [{
    code: "not_due",
    message: "It is not due for 1 h",
    until: made.at("date"),
  }]);
  assertEquals(answer.at("earliest"), made.at("date"));
  const now = await api.create({ repeat: { interval: "PT1H", mode: "spawn" } });
  assertEquals(await listCodes(api, now.textAt("id")), ["next_in_line"]);
  await api.close();
});

Deno.test("GET /v1/tasks/:id/explain tells what became of dependencies, and what to do", async () => {
  const api = await openTasksApi();
  const fetchMessage = async (id: string): Promise<string> => {
    await api.clock.advanceAsync(0);
    const answer = await api.call("GET", `/v1/tasks/${id}/explain`);
    return answer.textAt("hindrances", 0, "message");
  };
  const first = (await api.create({ retry: null })).textAt("id");
  const waits = { dependencies: [first], on_dependency_failure: "wait" };
  const second = (await api.create(waits)).textAt("id");
  assertEquals(await fetchMessage(second), `It waits for ${first} (waiting)`);
  await api.work("fail");
  assertEquals(
    await fetchMessage(second),
    `It waits for ${first} (failed); on_dependency_failure is "wait", so ` +
      `retry ${first}`,
  );
  await api.call("DELETE", `/v1/tasks/${first}`);
  assertEquals(
    await fetchMessage(second),
    `It is failed, since dependency "${first}" was removed, and does nothing ` +
      "more; retry it to run it again, within 30 d: then it is removed",
  );
  await api.close();
});

Deno.test("GET /v1/tasks/:id/explain tells of slots that were missed since no run began on time", async () => {
  const api = await openTasksApi();
  await api.engine.start();
  const repeat = { interval: "PT1M", catch_up: "none", on_time: "PT20S" };
  const id = (await api.create({ repeat })).textAt("id");
  await api.clock.advanceAsync(20_001);
  const { hindrances } = Object(
    (await api.call("GET", `/v1/tasks/${id}/explain`)).json,
  );
  assertEquals(
    hindrances[0].message,
    "It is not due for 40 s; 1 slot was missed, since catch_up is " +
      '"none" and no run began within 20 s of them',
  );
  await api.engine.stop();
  await api.close();
});
Deno.test("GET /v1/tasks/:id/explain tells of a group that runs at another worker", async () => {
  const api = await openTasksApi();
  const limits = { groupConcurrency: 1, groupScope: "tenant" } as const;
  const { repositories } = api.engine.parts;
  await api.write(repositories.workers.update(api.worker, {
    ...{ ...api.worker, version: 2, limits },
  }));
  const other = await api.addWorker({ name: "other", limits });
  await api.create({ group: "acme" });
  await api.take();
  const held = await api.create({ worker: other.name, group: "acme" });
  const answer = await api.call(
    "GET",
    `/v1/tasks/${held.textAt("id")}/explain`,
  );
  const { hindrances } = Object(answer.json);
  assertEquals(
    hindrances.find(({ code }: { code: string }) => code !== "worker_silent"),
    {
      code: "group_concurrency",
      message: 'Its group "acme" has 1 of 1 tasks running at all workers',
      until: null,
    },
  );
  await api.close();
});
