import { assertEquals, assertMatch } from "@std/assert";
import { SERVICE_HOST } from "../testing/test_api.ts";
import {
  listFaults,
  openTasksApi,
  type TasksApi,
} from "./testing/tasks_api.ts";

Deno.test("GET /v1/tasks lists by date, the earliest first", async () => {
  const api = await openTasksApi();
  const last = (await api.create({ delay: "30s" })).textAt("id");
  const first = (await api.create({ delay: "10s" })).textAt("id");
  const second = (await api.create({ delay: "20s" })).textAt("id");
  assertEquals(await list(api), [first, second, last]);
  assertEquals(await list(api, "order=desc"), [last, second, first]);
  assertEquals(await list(api, "sort=created_at"), [last, first, second]);
  await api.close();
});

Deno.test("GET /v1/tasks shows tasks as GET /v1/tasks/:id does, without next dates", async () => {
  const api = await openTasksApi();
  const made = await api.create({ repeat: { interval: "P1D" }, data: [1] });
  const { next: _next, ...rest } = Object(made.json);
  const answer = await api.call("GET", "/v1/tasks");
  assertEquals(answer.json, { data: [rest], next: null });
  assertEquals(answer.headers.link, undefined);
  await api.close();
});

Deno.test("GET /v1/tasks finds tasks by each filter", async () => {
  const api = await openTasksApi();
  const other = await api.addWorker({ name: "other" });
  const a = (await api.create({
    job: "a",
    group: "g",
    key: "k",
    tags: ["x", "y"],
    metadata: { order: "17", "odd.name": "é" },
  })).textAt("id");
  const b = (await api.create({ worker: "other", delay: "60s", tags: ["x"] }))
    .textAt("id");
  const c = (await api.create({ retry: null, job: "c", priority: -9 })).textAt(
    "id",
  );
  await api.call("POST", `/v1/tasks/${a}/pause`);
  await api.work("fail");
  await api.call("POST", `/v1/tasks/${a}/resume`);
  const cases: readonly (readonly [string, readonly string[]])[] = [
    ["worker=other", [b]],
    [`worker=${other.id}`, [b]],
    ["worker=OTHER,mailer", [a, b, c]],
    ["status=waiting", [a]],
    ["status=waiting,failed", [a, c]],
    ["status=active", [a, b]],
    ["status=final", [c]],
    ["status=cancelled", []],
    ["status=completed", []],
    ["job=a", [a]],
    ["group=g", [a]],
    ["group=", [b, c]],
    ["key=k", [a]],
    ["tag=x", [a, b]],
    ["tag=x,y", [a]],
    ["metadata.order=17", [a]],
    ["metadata.odd.name=%C3%A9", [a]],
    ["metadata.order=18", []],
    ["due=true", [a]],
    ["due=false", [b, c]],
    ["error=boom", [c]],
    ["status=waiting&worker=other", []],
  ];
  for (const [query, expected] of cases) {
    assertEquals([query, (await list(api, query)).toSorted()], [
      query,
      expected.toSorted(),
    ]);
  }
  await api.close();
});

Deno.test("GET /v1/tasks includes both ends at the precision they are written in", async () => {
  const api = await openTasksApi();
  const ids: Record<string, string> = {};
  for (
    const date of [
      "2015-12-31T23:59:59.999Z",
      "2016-01-01T00:00:00.000Z",
      "2017-12-31T23:59:59.999Z",
      "2018-01-01T00:00:00.000Z",
    ]
  ) ids[(await api.create({ date })).textAt("id")] = date.slice(0, 10);
  const dates = async (query: string) =>
    (await list(api, query)).map((id) => ids[id]);
  assertEquals(await dates("start=2016&end=2017"), [
    "2016-01-01",
    "2017-12-31",
  ]);
  assertEquals(await dates("start=2016&end=2016"), ["2016-01-01"]);
  assertEquals(await dates("end=2015-12"), ["2015-12-31"]);
  assertEquals(await dates("start=2018-01-01"), ["2018-01-01"]);
  assertEquals(await dates("start=2017-12-31T23:59:59.999Z&end=2017"), [
    "2017-12-31",
  ]);
  assertEquals(
    await dates("start=2016&end=2016&tz=Asia/Tokyo"),
    ["2015-12-31", "2016-01-01"].slice(0, 2),
  );
  assertEquals(
    await dates("start=2016-01-01T01:00:00+01:00&end=2016-01-01T00:00:00Z"),
    ["2016-01-01"],
  );
  await api.close();
});

Deno.test("GET /v1/tasks bounds the time that `by` names", async () => {
  const api = await openTasksApi();
  const now = new Date(api.clock.nowMs()).toISOString();
  await api.create({ date: "2040-01-01T00:00:00Z" });
  await api.create();
  const ended = await api.work("complete");
  const query = `start=${now}&end=${now}`;
  assertEquals((await list(api, `${query}&by=created_at`)).length, 2);
  assertEquals(await list(api, `${query}&by=finished_at`), [ended]);
  assertEquals(await list(api, `${query}&by=date`), [ended]);
  await api.close();
});

Deno.test("GET /v1/tasks gives an empty list when no worker has the name", async () => {
  const api = await openTasksApi();
  const id = (await api.create()).textAt("id");
  // Queries from the first description of this API.
  for (
    const query of [
      "worker=manobi&status=retry&start=2016&end=2017",
      "worker=manobi",
      "worker=manobi,wrk_00000000000000000000000000&count=true",
    ]
  ) {
    const answer = await api.call("GET", `/v1/tasks?${query}`);
    assertEquals([answer.status, answer.at("data"), answer.at("next")], [
      200,
      [],
      null,
    ]);
  }
  const some = await api.call("GET", "/v1/tasks?worker=manobi,mailer");
  assertEquals(some.at("data", 0, "id"), id);
  await api.close();
});

const WRONG:
  readonly (readonly [string, readonly (readonly [string, string])[]])[] = [
    ["start=2016-13", [["start", "bad_time"]]],
    ["start=2016-02-30", [["start", "bad_time"]]],
    ["start=16&end=20166", [["start", "bad_time"], ["end", "bad_time"]]],
    ["start=2017&end=2016", [["end", "end_before_start"]]],
    ["start=2016-01-01T00:00:00", [["start", "bad_time"]]],
    ["tz=Mars/Base&start=2016", [["tz", "bad_timezone"]]],
    ["status=nope", [["status", "unknown_choice"]]],
    ["limit=0", [["limit", "too_small"]]],
    ["limit=201", [["limit", "too_large"]]],
    ["limit=x", [["limit", "wrong_type"]]],
    ["staus=waiting", [["staus", "unknown_parameter"]]],
    ["limit=5&limit=6", [["limit", "repeated"]]],
    ["fields=nope", [["fields", "unknown_choice"]]],
    ["sort=priority", [["sort", "unknown_choice"]]],
    ["cursor=AAAA", [["cursor", "bad_cursor"]]],
  ];

for (const [query, faults] of WRONG) {
  Deno.test(`GET /v1/tasks refuses ${query}`, async () => {
    const api = await openTasksApi();
    const answer = await api.call("GET", `/v1/tasks?${query}`);
    assertEquals([answer.status, listFaults(answer)], [422, faults]);
    await api.close();
  });
}

Deno.test("GET /v1/tasks shows the fields that are asked for, and counts", async () => {
  const api = await openTasksApi();
  const id = (await api.create({ data: 1 })).at("id");
  await api.create();
  const answer = await api.call(
    "GET",
    "/v1/tasks?fields=status,data&count&limit=1",
  );
  assertEquals(answer.at("data"), [{ id, status: "waiting", data: 1 }]);
  assertEquals([answer.at("count"), answer.at("count_is_exact")], [2, true]);
  const key = await api.addKey({ payloads: false });
  const blind = await api.call("GET", "/v1/tasks?fields=data&limit=1", { key });
  assertEquals(blind.at("data"), [{ id }]);
  await api.close();
});

Deno.test("GET /v1/tasks pages through all tasks once while others are made", async () => {
  const api = await openTasksApi();
  const expected = new Set<string>();
  for (let index = 0; index < 25; index++) {
    // Many tasks have the same date, so that ties are broken by the id.
    const made = await api.create({ delay: `${60 + index % 3}s` });
    expected.add(made.textAt("id"));
  }
  const seen: string[] = [];
  let path = "/v1/tasks?limit=4&status=scheduled";
  for (let page = 0; page < 20; page++) {
    const answer = await api.call("GET", path);
    const data = answer.at("data");
    if (Array.isArray(data)) seen.push(...data.map(({ id }) => String(id)));
    await api.create({ delay: "1s" });
    if (answer.at("next") === null) break;
    const link = answer.headers.link ?? "";
    assertMatch(
      link,
      /^<http:\/\/acme\.tercet\.test\/api\/v1\/tasks\?limit=4&status=scheduled&cursor=[\w-]+>; rel="next"$/,
    );
    path = link.slice(link.indexOf("/v1/"), link.indexOf(">"));
  }
  assertEquals(seen.length, new Set(seen).size);
  assertEquals([...expected].filter((id) => !seen.includes(id)), []);
  await api.close();
});

Deno.test("GET /v1/tasks takes a cursor of the same list of the same tenant alone", async () => {
  const api = await openTasksApi();
  const other = await api.addTenant("globex");
  await api.create();
  await api.create();
  const { next } = Object((await api.call("GET", "/v1/tasks?limit=1")).json);
  const status = async (query: string, call = {}) =>
    (await api.call("GET", `/v1/tasks?${query}&cursor=${next}`, call)).status;
  assertEquals(await status("limit=7&fields=status"), 200);
  assertEquals(await status("order=desc"), 422);
  assertEquals(await status("status=waiting"), 422);
  assertEquals(
    await status("limit=1", {
      key: other.ownerKey,
      host: `globex.${SERVICE_HOST}`,
    }),
    422,
  );
  await api.close();
});

async function list(api: TasksApi, query = ""): Promise<readonly string[]> {
  const answer = await api.call("GET", `/v1/tasks?${query}`);
  assertEquals([query, answer.status], [query, 200]);
  const data = answer.at("data");
  return Array.isArray(data) ? data.map(({ id }) => String(id)) : [];
}
