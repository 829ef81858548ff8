import { assertEquals, assertMatch } from "@std/assert";
import { listFaults, openTasksApi } from "./testing/tasks_api.ts";

Deno.test("POST /v1/tasks makes a task with all defaults, due at once", async () => {
  const api = await openTasksApi();
  const { tenant, clock, worker } = api;
  const answer = await api.create();
  assertEquals(answer.status, 201);
  const id = answer.textAt("id");
  assertMatch(id, /^tsk_[0-9a-z]{26}$/);
  assertEquals(
    answer.headers.location,
    `http://acme.tercet.test/api/v1/tasks/${id}`,
  );
  assertEquals(answer.headers.etag, '"1"');
  const now = new Date(clock.nowMs()).toISOString();
  assertEquals(answer.json, {
    id,
    status: "waiting",
    worker: "mailer",
    worker_id: worker.id,
    job: "default",
    data: null,
    date: now,
    first_date: now,
    timezone: tenant.timezone,
    repeat: null,
    timeout: null,
    expires: null,
    dependencies: [],
    on_dependency_failure: "fail",
    priority: 0,
    group: null,
    key: null,
    callback: null,
    tags: [],
    metadata: {},
    due: true,
    run: 0,
    executions: 0,
    retries: 0,
    repetitions: 0,
    last_outcome: null,
    lost: 0,
    missed: 0,
    lag: null,
    duration: null,
    result: null,
    error: null,
    attempt: null,
    next: [],
    created_by: { type: "key", id: api.ownerKey.slice(0, 19) },
    created_at: now,
    updated_at: now,
    started_at: null,
    finished_at: null,
    version: 1,
    links: {
      self: `/api/v1/tasks/${id}`,
      history: `/api/v1/tasks/${id}/history`,
      worker: `/api/v1/workers/${worker.id}`,
    },
  });
  await api.close();
});

Deno.test("POST /v1/tasks keeps every field as it is written", async () => {
  const api = await openTasksApi();
  const first = await api.create();
  const answer = await api.send("POST", "/v1/tasks", {
    worker: "MAILER",
    job: "send",
    data: { to: ["a@example.com"], n: 1.5, deep: { ok: true, no: null } },
    date: "2030-01-31T08:30:00+02:00",
    timezone: "europe/berlin",
    repeat: {
      interval: { months: 1 },
      limit: 4,
      until: "2031-01-01T00:00:00Z",
      catch_up: "all",
      catch_up_window: "3600s",
      on_time: "30s",
      jitter: "PT1M",
      mode: "spawn",
      on_failure: "continue",
    },
    retry: { limit: 2, interval: "PT10S" },
    timeout: 5_000,
    expires: "P2Y",
    dependencies: [first.textAt("id")],
    on_dependency_failure: "wait",
    priority: -9,
    group: "acme",
    key: "invoice-17",
    callback: "https://example.com/done",
    tags: ["a", "b"],
    metadata: { order: "17" },
  });
  assertEquals(answer.status, 201);
  assertEquals(answer.at("status"), "blocked");
  assertEquals(answer.at("worker"), "mailer");
  assertEquals(answer.at("data"), {
    to: ["a@example.com"],
    n: 1.5,
    deep: { ok: true, no: null },
  });
  assertEquals(answer.at("date"), "2030-01-31T06:30:00.000Z");
  assertEquals(answer.at("timezone"), "Europe/Berlin");
  assertEquals(answer.at("repeat"), {
    interval: "P1M",
    limit: 4,
    until: "2031-01-01T00:00:00.000Z",
    catch_up: "all",
    catch_up_window: "PT1H",
    on_time: "PT30S",
    jitter: "PT1M",
    mode: "spawn",
    on_failure: "continue",
  });
  assertEquals(answer.at("next"), [
    "2030-01-31T06:30:00.000Z",
    "2030-02-28T06:30:00.000Z",
    "2030-03-31T05:30:00.000Z",
  ]);
  assertEquals(answer.at("retry"), { limit: 2, interval: "PT10S" });
  assertEquals(answer.at("timeout"), 5_000);
  assertEquals(answer.at("expires"), "2032-01-31T06:30:00.000Z");
  assertEquals(answer.at("dependencies"), [first.at("id")]);
  assertEquals(answer.at("on_dependency_failure"), "wait");
  assertEquals(answer.at("priority"), -9);
  assertEquals(answer.at("group"), "acme");
  assertEquals(answer.at("key"), "invoice-17");
  assertEquals(answer.at("callback"), {
    url: "https://example.com/done",
    on: ["complete", "failed", "canceled", "expired"],
  });
  assertEquals(answer.at("tags"), ["a", "b"]);
  assertEquals(answer.at("metadata"), { order: "17" });
  const read = await api.call("GET", `/v1/tasks/${answer.textAt("id")}`);
  assertEquals(read.json, answer.json);
  await api.close();
});

Deno.test("POST /v1/tasks counts months from the first date in the task's zone", async () => {
  const api = await openTasksApi();
  const answer = await api.create({
    date: "2030-01-31T06:30:00Z",
    timezone: "Europe/Berlin",
    repeat: { interval: "P1M" },
  });
  assertEquals(answer.at("next"), [
    "2030-01-31T06:30:00.000Z",
    "2030-02-28T06:30:00.000Z",
    // Summer time begins on the last day of March.
    "2030-03-31T05:30:00.000Z",
  ]);
  await api.close();
});

Deno.test("POST /v1/tasks takes a delay instead of a date", async () => {
  const api = await openTasksApi();
  const now = api.clock.nowMs();
  for (
    const delay of ["1m30s", "PT90S", { seconds: 90 }, {
      minute: 1,
      second: 30,
    }]
  ) {
    const answer = await api.create({ delay });
    assertEquals(answer.at("date"), new Date(now + 90_000).toISOString());
    assertEquals(answer.at("status"), "scheduled");
  }
  const both = await api.create({ delay: "5s", date: "2030-01-01T00:00:00Z" });
  assertEquals(listFaults(both), [["/delay", "exclusive"]]);
  await api.close();
});

Deno.test("POST /v1/tasks makes a task due at once when its date has passed", async () => {
  const api = await openTasksApi();
  const answer = await api.create({ date: "1999-12-31T23:59:59Z" });
  assertEquals(answer.at("status"), "waiting");
  assertEquals(answer.at("due"), true);
  assertEquals(answer.at("date"), "1999-12-31T23:59:59.000Z");
  await api.close();
});

Deno.test("POST /v1/tasks takes null for what it would take by default", async () => {
  const api = await openTasksApi();
  const answer = await api.create({
    date: null,
    delay: null,
    repeat: null,
    timeout: null,
    expires: null,
    group: null,
    key: null,
    callback: null,
    tags: null,
    metadata: null,
    dependencies: null,
    priority: null,
    job: null,
    timezone: null,
    data: null,
  });
  assertEquals(answer.status, 201);
  assertEquals(answer.at("job"), "default");
  assertEquals(answer.at("retry"), undefined);
  assertEquals((await api.create({ retry: null })).at("retry"), null);
  await api.close();
});

Deno.test("POST /v1/tasks makes a paused task, and takes what is so anyway", async () => {
  const api = await openTasksApi();
  assertEquals((await api.create({ status: "paused" })).at("status"), "paused");
  for (const status of ["waiting", "scheduled"]) {
    assertEquals((await api.create({ status })).at("status"), "waiting");
  }
  const other = await api.create({ status: "running" });
  assertEquals(listFaults(other), [["/status", "unknown_choice"]]);
  await api.close();
});

Deno.test("POST /v1/tasks expires a task after its date, by a duration or at an instant", async () => {
  const api = await openTasksApi();
  const now = api.clock.nowMs();
  const at = async (body: Record<string, unknown>): Promise<unknown> =>
    (await api.create(body)).at("expires");
  assertEquals(await at({ expires: "PT1M" }), iso(now + 60_000));
  assertEquals(await at({ expires: "60s" }), iso(now + 60_000));
  assertEquals(
    await at({ expires: { minutes: 1 }, delay: "60s" }),
    iso(now + 120_000),
  );
  assertEquals(
    await at({ expires: "2030-01-01T00:00:00Z" }),
    "2030-01-01T00:00:00.000Z",
  );
  const late = await api.create({
    date: "2030-01-01T00:00:00Z",
    expires: "2029-01-01T00:00:00Z",
  });
  assertEquals(listFaults(late), [["/expires", "expires_before_date"]]);
  const past = await api.create({
    date: "2020-01-01T00:00:00Z",
    expires: "2020-01-02T00:00:00Z",
  });
  assertEquals(past.at("status"), "expired");
  await api.close();
});

Deno.test("POST /v1/tasks gives cron its own default for failed runs", async () => {
  const api = await openTasksApi();
  const cron = await api.create({ repeat: { cron: "@daily" } });
  assertEquals(cron.at("repeat", "on_failure"), "continue");
  assertEquals(cron.at("repeat", "catch_up_window"), "PT24H");
  const interval = await api.create({ repeat: { interval: "P1D" } });
  assertEquals(interval.at("repeat", "on_failure"), "stop");
  await api.close();
});

function iso(ms: number): string {
  return new Date(ms).toISOString();
}

Deno.test("POST /v1/tasks keeps the answer it gives, also when a date passes meanwhile", async () => {
  const api = await openTasksApi();
  const { store } = api;
  const commit = store.commit.bind(store);
  store.commit = async (transactions) => {
    await api.clock.advanceAsync(10);
    return await commit(transactions);
  };
  const call = { headers: { "idempotency-key": "c-1" } };
  const date = new Date(api.clock.nowMs() + 5).toISOString();
  const repeat = { interval: "PT1H", limit: 1 };
  const body = { worker: "mailer", date, repeat };
  const first = await api.send("POST", "/v1/tasks", body, call);
  assertEquals(first.status, 201);
  const again = await api.send("POST", "/v1/tasks", body, call);
  assertEquals(again.headers["idempotency-replayed"], "true");
  assertEquals(again.json, first.json);
  await api.close();
});

Deno.test("POST /v1/tasks answers as documented when durations have fractions", async () => {
  const api = await openTasksApi();
  const repeat = {
    interval: "PT90.5S",
    jitter: "0.25s",
    catch_up_window: "P1W1DT0.001S",
  };
  const retry = { limit: 2, interval: ["pt0.5s", "PT1,5S"], for: "P1W2D" };
  const answer = await api.create({ repeat, retry });
  assertEquals(answer.status, 201, answer.text);
  assertEquals(answer.at("repeat", "jitter"), "PT0.25S");
  assertEquals(answer.at("retry"), retry);
  await api.close();
});

Deno.test("POST /v1/tasks warns of a cron expression of Quartz until its dialect is said, and keeps the dialect", async () => {
  const api = await openTasksApi();
  const cron = "0 0 9 ? * 2-6";
  const plain = await api.create({ repeat: { cron } });
  assertEquals(plain.at("warnings", 0, "dialect"), "quartz");
  assertEquals(plain.at("next", 1), "2027-01-16T09:00:00.000Z");
  const path = `/v1/tasks/${plain.textAt("id")}`;
  const told = await api.send("PATCH", path, { repeat: { dialect: "quartz" } });
  assertEquals(told.at("warnings"), undefined);
  assertEquals(told.at("repeat", "dialect"), "quartz");
  assertEquals(told.at("next", 1), "2027-01-18T09:00:00.000Z");
  await api.close();
});
