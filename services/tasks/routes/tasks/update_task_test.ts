import { assertEquals, assertStringIncludes } from "@std/assert";
import { listFaults, openTasksApi } from "./testing/tasks_api.ts";

Deno.test("PUT /v1/tasks/:id changes what is given and leaves the rest", async () => {
  const api = await openTasksApi();
  const made = await api.create({ data: 1, tags: ["a"], delay: "60s" });
  const path = `/v1/tasks/${made.textAt("id")}`;
  const answer = await api.send("PUT", path, { data: { b: 2 }, priority: 3 });
  assertEquals(answer.status, 200);
  assertEquals(answer.headers.etag, '"2"');
  const expected = {
    ...Object(made.json),
    data: { b: 2 },
    priority: 3,
    version: 2,
  };
  assertEquals(answer.json, expected);
  assertEquals((await api.call("GET", path)).json, answer.json);
  const history = await api.call("GET", `${path}/history?type=updated`);
  assertEquals(history.at("data", 0, "changes"), [
    { field: "data", from: "1", to: '{"b":2}' },
    { field: "priority", from: 0, to: 3 },
  ]);
  await api.close();
});

Deno.test("PUT /v1/tasks/:id takes back what GET shows without a change", async () => {
  const api = await openTasksApi();
  const bodies = [
    {},
    { repeat: { interval: "P1D", jitter: "5s" }, retry: null, expires: "P9D" },
    { repeat: { cron: "@daily" }, retry: { limit: 1 }, key: "k", group: "g" },
    { callback: "https://example.com", timeout: 1_500, metadata: { a: "b" } },
    { status: "paused", data: { deep: [1, null] } },
  ];
  for (const body of bodies) {
    const { id } = Object((await api.create(body)).json);
    const read = await api.call("GET", `/v1/tasks/${id}`);
    const answer = await api.send("PUT", `/v1/tasks/${id}`, read.json);
    assertEquals([answer.status, answer.json], [200, read.json]);
  }
  const id = await api.work("complete").catch(() => "");
  const ended = await api.call("GET", `/v1/tasks/${id}`);
  const answer = await api.send("PUT", `/v1/tasks/${id}`, ended.json);
  assertEquals([answer.status, answer.at("version")], [
    200,
    ended.at("version"),
  ]);
  await api.close();
});

Deno.test("PUT /v1/tasks/:id resets fields to their defaults with null", async () => {
  const api = await openTasksApi();
  const made = await api.create({
    job: "send",
    data: 1,
    delay: "PT1H",
    timezone: "Asia/Tokyo",
    repeat: { interval: "P1D" },
    timeout: 2_000,
    expires: "P1D",
    priority: 5,
    group: "g",
    key: "k",
    callback: "https://example.com",
    tags: ["t"],
    metadata: { a: "b" },
  });
  const answer = await api.send("PUT", `/v1/tasks/${made.textAt("id")}`, {
    job: null,
    data: null,
    date: null,
    timezone: null,
    repeat: null,
    timeout: null,
    expires: null,
    priority: null,
    group: null,
    key: null,
    callback: null,
    tags: null,
    metadata: null,
  });
  const plain = Object((await api.create()).json);
  assertEquals(answer.json, {
    ...plain,
    id: made.at("id"),
    version: 2,
    links: made.at("links"),
  });
  await api.close();
});

Deno.test("PUT /v1/tasks/:id refuses to change what the service decides", async () => {
  const api = await openTasksApi();
  const made = await api.create();
  const path = `/v1/tasks/${made.textAt("id")}`;
  const answer = await api.send("PUT", path, {
    executions: 7,
    id: made.at("id"),
    created_by: { id: "x", type: "user" },
  });
  assertEquals([answer.status, answer.at("code")], [422, "read_only"]);
  assertEquals(listFaults(answer), [
    ["/executions", "read_only"],
    ["/created_by", "read_only"],
  ]);
  const unknown = await api.send("PUT", path, { on_conflict: "return" });
  assertEquals(listFaults(unknown), [["/on_conflict", "unknown_field"]]);
  await api.close();
});

Deno.test("PUT /v1/tasks/:id moves a task, and its old time does not fire", async () => {
  const api = await openTasksApi();
  await api.engine.start();
  const made = await api.create({ delay: "60s" });
  const path = `/v1/tasks/${made.textAt("id")}`;
  await api.send("PUT", path, { delay: "120s" });
  await api.clock.advanceAsync(61_000);
  assertEquals((await api.call("GET", path)).at("status"), "scheduled");
  await api.clock.advanceAsync(60_000);
  assertEquals((await api.call("GET", path)).at("status"), "waiting");
  await api.close();
});

Deno.test("PUT /v1/tasks/:id judges fields as POST does", async () => {
  const api = await openTasksApi({
    limits: { minIntervalMs: 60_000, payloadBytes: 10 },
  });
  const made = await api.create({ repeat: { cron: "30 2 * * *" } });
  const path = `/v1/tasks/${made.textAt("id")}`;
  const faults = async (body: unknown) =>
    listFaults(await api.send("PUT", path, body));
  assertEquals(await faults({ repeat: { interval: "5s" } }), [[
    "/repeat/interval",
    "too_frequent",
  ]]);
  assertEquals(await faults({ worker: "nobody" }), [[
    "/worker",
    "unknown_worker",
  ]]);
  assertEquals(await faults({ dependencies: ["x"] }), [[
    "/dependencies/0",
    "unknown_task",
  ]]);
  assertEquals(await faults({ callback: "ftp://x" }), [[
    "/callback",
    "bad_url",
  ]]);
  assertEquals(
    (await api.send("PUT", path, { data: "0123456789" })).status,
    413,
  );
  await api.close();
});

Deno.test("PUT /v1/tasks/:id cancels, pauses and requeues by the status", async () => {
  const api = await openTasksApi();
  const path = `/v1/tasks/${(await api.create({ delay: "60s" })).textAt("id")}`;
  const put = async (status: string) => {
    const answer = await api.send("PUT", path, { status });
    return [answer.status, answer.at("status") ?? answer.at("code")];
  };
  assertEquals(await put("scheduled"), [200, "scheduled"]);
  assertEquals(await put("waiting"), [409, 409]);
  assertEquals(await put("running"), [422, 422]);
  assertEquals(await put("paused"), [200, "paused"]);
  assertEquals(await put("waiting"), [200, "scheduled"]);
  assertEquals(await put("cancel"), [200, "canceled"]);
  assertEquals(await put("cancelled"), [200, "canceled"]);
  assertEquals(await put("paused"), [409, 409]);
  assertEquals(await put("waiting"), [200, "waiting"]);
  const read = await api.call("GET", path);
  assertEquals(read.at("run"), 1);
  await api.close();
});

Deno.test("PUT /v1/tasks/:id changes fields and status together or not at all", async () => {
  const api = await openTasksApi();
  const path = `/v1/tasks/${(await api.create()).textAt("id")}`;
  const canceled = await api.send("PUT", path, {
    status: "canceled",
    tags: ["x"],
  });
  assertEquals([canceled.at("status"), canceled.at("tags")], ["canceled", [
    "x",
  ]]);
  assertEquals(canceled.at("version"), 2);
  const fixed = await api.send("PUT", path, { data: 1 });
  assertEquals([fixed.status, fixed.at("code")], [409, "wrong_state"]);
  const reopened = await api.send("PUT", path, { status: "waiting", data: 1 });
  assertEquals([reopened.at("status"), reopened.at("data")], ["waiting", 1]);
  assertEquals([reopened.at("run"), reopened.at("version")], [1, 3]);
  await api.take();
  const refused = await api.send("PUT", path, { status: "paused", data: 2 });
  assertEquals([refused.status, refused.at("code")], [409, "wrong_state"]);
  assertEquals((await api.call("GET", path)).at("data"), 1);
  await api.close();
});

Deno.test("PUT /v1/tasks/:id takes labels of a task that has ended, and a date opens it again", async () => {
  const api = await openTasksApi();
  await api.create();
  const path = `/v1/tasks/${await api.work("complete")}`;
  const labeled = await api.send("PUT", path, { metadata: { a: "b" } });
  assertEquals([labeled.status, labeled.at("status")], [200, "complete"]);
  const opened = await api.send("PUT", path, { delay: "60s", data: 1 });
  assertEquals([opened.at("status"), opened.at("run")], ["scheduled", 1]);
  await api.close();
});

Deno.test("PUT /v1/tasks/:id changes a running task from its next attempt on", async () => {
  const api = await openTasksApi();
  await api.addWorker({ name: "other" });
  const path = `/v1/tasks/${(await api.create()).textAt("id")}`;
  await api.take();
  const answer = await api.send("PUT", path, { data: 2 });
  assertEquals([answer.at("status"), answer.at("data")], ["running", 2]);
  const moved = await api.send("PUT", path, { delay: "60s" });
  assertEquals(moved.at("code"), "wrong_state");
  const other = await api.send("PUT", path, { worker: "other" });
  assertEquals(other.at("code"), "wrong_state");
  await api.close();
});

Deno.test("PUT /v1/tasks/:id gives a task to another worker", async () => {
  const api = await openTasksApi();
  const other = await api.addWorker({ name: "other" });
  const path = `/v1/tasks/${(await api.create({ key: "k" })).textAt("id")}`;
  const answer = await api.send("PUT", path, { worker: "Other" });
  assertEquals(answer.at("worker_id"), other.id);
  await api.create({ key: "k" });
  const back = await api.send("PUT", path, { worker: "mailer" });
  assertEquals([back.status, back.at("code")], [409, "key_conflict"]);
  assertEquals(back.headers["retry-after"], "5");
  await api.close();
});

Deno.test("PUT /v1/tasks/:id changes the dependencies of a task that waits for them", async () => {
  const api = await openTasksApi();
  const first = await api.create({ delay: "60s" });
  const blocked = await api.create({ dependencies: [first.textAt("id")] });
  const path = `/v1/tasks/${blocked.textAt("id")}`;
  assertEquals(blocked.at("status"), "blocked");
  assertEquals(
    (await api.send("PUT", path, { dependencies: null })).status,
    200,
  );
  await api.engine.stop();
  const free = await api.call("GET", path);
  assertEquals([free.at("status"), free.at("dependencies")], ["waiting", []]);
  const again = await api.send("PUT", path, {
    dependencies: [first.textAt("id")],
  });
  assertEquals([again.status, again.at("code")], [409, "wrong_state"]);
  await api.close();
});

Deno.test("PUT /v1/tasks/:id heeds If-Match", async () => {
  const api = await openTasksApi();
  const path = `/v1/tasks/${(await api.create()).textAt("id")}`;
  const put = (header: string) =>
    api.send("PUT", path, { data: header }, {
      headers: { "if-match": header },
    });
  assertEquals((await put('"1"')).status, 200);
  assertEquals((await put('"1"')).status, 412);
  assertEquals((await put('"7", "2"')).status, 200);
  assertEquals((await put("*")).status, 200);
  assertEquals((await put("nonsense")).status, 400);
  const answers = await Promise.all([put('"4"'), put('"4"')]);
  assertEquals(answers.map(({ status }) => status).sort(), [200, 412]);
  await api.close();
});

Deno.test("GET /v1/tasks/:id heeds If-None-Match, and HEAD has no body", async () => {
  const api = await openTasksApi();
  const path = `/v1/tasks/${(await api.create()).textAt("id")}`;
  const same = await api.call("GET", path, {
    headers: { "if-none-match": '"1"' },
  });
  assertEquals([same.status, same.text, same.headers.etag], [304, "", '"1"']);
  const other = await api.call("GET", path, {
    headers: { "if-none-match": '"2"' },
  });
  assertEquals(other.status, 200);
  const head = await api.call("HEAD", path);
  assertEquals([head.status, head.text], [200, ""]);
  await api.close();
});

Deno.test("PATCH /v1/tasks/:id merges members of objects", async () => {
  const api = await openTasksApi();
  const made = await api.create({
    data: { a: 1, b: { c: 2, d: 3 } },
    metadata: { x: "1", y: "2" },
    repeat: { interval: "P1D", limit: 3 },
    retry: { limit: 2, interval: "PT5S" },
    delay: "60s",
  });
  const path = `/v1/tasks/${made.textAt("id")}`;
  const answer = await api.send("PATCH", path, {
    data: { a: null, b: { c: 9 } },
    metadata: { x: null, z: "3" },
    repeat: { interval: null, cron: "@daily" },
    retry: { limit: 5 },
  }, { headers: { "content-type": "application/merge-patch+json" } });
  assertEquals(answer.status, 200);
  assertEquals(answer.at("data"), { b: { c: 9, d: 3 } });
  assertEquals(answer.at("metadata"), { y: "2", z: "3" });
  assertEquals(answer.at("repeat", "cron"), "@daily");
  assertEquals(answer.at("repeat", "interval"), undefined);
  assertEquals(answer.at("repeat", "limit"), 3);
  assertEquals(answer.at("retry"), { limit: 5, interval: "PT5S" });
  const put = await api.send("PUT", path, { metadata: { only: "this" } });
  assertEquals(put.at("metadata"), { only: "this" });
  const type = { headers: { "content-type": "text/plain" } };
  assertEquals((await api.send("PATCH", path, {}, type)).status, 415);
  await api.close();
});

Deno.test("PATCH /v1/tasks/:id treats members such as __proto__ as data", async () => {
  const api = await openTasksApi();
  const path = `/v1/tasks/${(await api.create({ data: {} })).textAt("id")}`;
  const body = '{"data":{"__proto__":{"polluted":true},"constructor":1}}';
  const answer = await api.send("PATCH", path, body);
  assertStringIncludes(answer.text, '"__proto__":{"polluted":true}');
  assertEquals(Reflect.get({}, "polluted"), undefined);
  await api.close();
});

Deno.test("PUT /v1/tasks/:id leaves data that the caller does not see", async () => {
  const api = await openTasksApi();
  const made = await api.create({ data: { secret: 1 } });
  const path = `/v1/tasks/${made.textAt("id")}`;
  const key = await api.addKey({ payloads: false });
  const shown = await api.call("GET", path, { key });
  assertEquals(shown.at("data"), undefined);
  const answer = await api.send("PUT", path, {
    ...Object(shown.json),
    tags: ["t"],
  }, { key });
  assertEquals([answer.status, answer.at("data")], [200, undefined]);
  assertEquals((await api.call("GET", path)).at("data"), { secret: 1 });
  const wrong = await api.send("PUT", path, 7);
  assertEquals(listFaults(wrong), [["", "wrong_type"]]);
  await api.close();
});
