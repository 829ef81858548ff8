import { assertEquals } from "@std/assert";
import {
  listFaults,
  openTasksApi,
  type TasksApi,
} from "./testing/tasks_api.ts";

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

function iso(ms: number): string {
  return new Date(ms).toISOString();
}

/** Changes a task by PUT; returns the status, and the faults or the date. */
async function put(api: TasksApi, id: string, body: unknown) {
  const answer = await api.send("PUT", `/v1/tasks/${id}`, body);
  return answer.status === 200
    ? [200, answer.at("status"), answer.at("date")]
    : [answer.status, listFaults(answer)];
}

/** Makes a daily task whose first run has just ended. */
async function makeDaily(api: TasksApi): Promise<string> {
  await api.create({ repeat: { interval: "P1D" } });
  return await api.work("complete");
}

Deno.test("PUT /v1/tasks/:id gives a schedule that ends before the old next date", async () => {
  const api = await openTasksApi();
  const now = api.clock.nowMs();
  const id = await makeDaily(api);
  const repeat = { interval: "PT1H", until: iso(now + 5 * HOUR_MS) };
  assertEquals(await put(api, id, { repeat }), [
    200,
    "done",
    iso(now + HOUR_MS),
  ]);
  const fresh = await api.create({ delay: "P1D", repeat: { cron: "@daily" } });
  const soon = { interval: "PT1H", until: iso(now + DAY_MS) };
  assertEquals(await put(api, fresh.textAt("id"), { repeat: soon }), [
    200,
    "scheduled",
    iso(now + DAY_MS),
  ]);
  await api.close();
});

Deno.test("PUT /v1/tasks/:id refuses a schedule without a slot from now on", async () => {
  const api = await openTasksApi();
  const now = api.clock.nowMs();
  const id = await makeDaily(api);
  for (
    const repeat of [
      { interval: "PT1H", until: iso(now) },
      { interval: "PT2H", until: iso(now + HOUR_MS) },
      { cron: "@monthly", until: iso(now + HOUR_MS) },
    ]
  ) {
    assertEquals(await put(api, id, { repeat }), [422, [[
      "/repeat/until",
      "never_fires",
    ]]]);
  }
  const moved = { date: iso(now + 3 * DAY_MS), repeat: {} };
  moved.repeat = { interval: "P1D", until: iso(now + 2 * DAY_MS) };
  assertEquals(await put(api, id, moved), [422, [[
    "/repeat/until",
    "never_fires",
  ]]]);
  await api.close();
});

Deno.test("PUT /v1/tasks/:id lets a run that is tried or due be the schedule's last", async () => {
  const api = await openTasksApi();
  const now = api.clock.nowMs();
  const retry = { limit: 2, interval: "P2D" };
  await api.create({ retry, repeat: { interval: "P1D", until: iso(now) } });
  const id = await api.work("fail");
  const date = iso(now + 2 * DAY_MS);
  assertEquals(await put(api, id, { timezone: "Asia/Tokyo" }), [
    200,
    "retry",
    date,
  ]);
  const ended = { interval: "PT1H", until: iso(now - DAY_MS) };
  assertEquals(await put(api, id, { repeat: ended }), [200, "retry", date]);
  const due = (await api.create({ repeat: { interval: "P1D" } })).textAt("id");
  assertEquals(await put(api, due, { repeat: ended }), [
    200,
    "waiting",
    iso(now),
  ]);
  await api.close();
});

Deno.test("PUT /v1/tasks/:id with the status waiting lifts an expiry that has passed", async () => {
  const api = await openTasksApi();
  const now = api.clock.nowMs();
  const make = async () =>
    (await api.create({
      date: iso(now - DAY_MS),
      expires: iso(now - HOUR_MS),
    })).textAt("id");
  for (const sendsWhole of [false, true]) {
    const path = `/v1/tasks/${await make()}`;
    const expired = await api.call("GET", path);
    assertEquals(expired.at("status"), "expired");
    const answer = await api.send("PUT", path, {
      ...(sendsWhole ? Object(expired.json) : {}),
      status: "waiting",
      priority: 1,
    });
    assertEquals([answer.status, answer.at("status")], [200, "waiting"]);
    assertEquals([answer.at("expires"), answer.at("priority")], [null, 1]);
    const history = await api.call("GET", `${path}/history?order=desc`);
    assertEquals(history.at("data", 0, "changes"), [
      { field: "priority", from: 0, to: 1 },
    ]);
    assertEquals(history.at("data", 1, "changes"), [
      { field: "expires", from: iso(now - HOUR_MS), to: null },
    ]);
  }
  const past = { status: "waiting", expires: iso(now - 2 * HOUR_MS) };
  assertEquals(await put(api, await make(), past), [422, [[
    "/expires",
    "expires_before_date",
  ]]]);
  const ahead = { status: "waiting", expires: "PT1H" };
  const id = await make();
  await put(api, id, ahead);
  const read = await api.call("GET", `/v1/tasks/${id}`);
  assertEquals(read.at("expires"), iso(now + HOUR_MS));
  await api.close();
});

Deno.test("PUT /v1/tasks/:id runs an ended task now when its old date is sent back", async () => {
  const api = await openTasksApi();
  const now = api.clock.nowMs();
  await api.create();
  const path = `/v1/tasks/${await api.work("complete")}`;
  const ended = await api.call("GET", path);
  await api.clock.advanceAsync(HOUR_MS);
  const whole = { ...Object(ended.json), status: "waiting" };
  const answer = await api.send("PUT", path, whole);
  assertEquals([answer.status, answer.at("status")], [200, "waiting"]);
  assertEquals([answer.at("date"), answer.at("run")], [iso(now + HOUR_MS), 1]);
  await api.close();
});

Deno.test("PUT /v1/tasks/:id refuses a date behind the expiry that stays", async () => {
  const api = await openTasksApi();
  const now = api.clock.nowMs();
  const made = await api.create({ delay: "60s", expires: "PT1H" });
  const id = made.textAt("id");
  for (
    const [field, value] of [["date", iso(now + DAY_MS)], ["delay", "61m"]]
  ) {
    assertEquals(await put(api, id, { [String(field)]: value }), [422, [[
      `/${field}`,
      "expires_before_date",
    ]]]);
  }
  assertEquals(await put(api, id, { repeat: { cron: "@monthly" } }), [422, [[
    "/repeat",
    "expires_before_date",
  ]]]);
  const later = { date: iso(now + DAY_MS), expires: "PT1H" };
  assertEquals(await put(api, id, later), [
    200,
    "scheduled",
    iso(now + DAY_MS),
  ]);
  await api.call("POST", `/v1/tasks/${id}/cancel`);
  const monthly = {
    status: "waiting",
    date: iso(now + HOUR_MS),
    repeat: { cron: "@monthly" },
  };
  assertEquals(await put(api, id, monthly), [422, [[
    "/date",
    "expires_before_date",
  ]]]);
  const reopened = await put(api, id, { date: iso(now + 9 * DAY_MS) });
  assertEquals(reopened, [200, "scheduled", iso(now + 9 * DAY_MS)]);
  const read = await api.call("GET", `/v1/tasks/${id}`);
  assertEquals(read.at("expires"), null);
  await api.close();
});

Deno.test("POST /v1/tasks counts the expiry from the first slot", async () => {
  const api = await openTasksApi();
  const at = Date.UTC(2030, 0, 15);
  const monthly = { cron: "@monthly" };
  const first = Date.UTC(2030, 1, 1);
  const fetchExpiry = async (body: Readonly<Record<string, unknown>>) => {
    const made = await api.create({ date: iso(at), ...body });
    return made.status === 201 ? made.at("expires") : listFaults(made);
  };
  const refused = [["/expires", "expires_before_date"]];
  assertEquals(
    await fetchExpiry({ repeat: monthly, expires: "PT1S" }),
    iso(first + 1_000),
  );
  assertEquals(
    await fetchExpiry({
      repeat: { ...monthly, jitter: "PT1H" },
      expires: "PT1S",
    }),
    iso(first + HOUR_MS + 1_000),
  );
  assertEquals(
    await fetchExpiry({ repeat: monthly, expires: iso(first) }),
    refused,
  );
  assertEquals(
    await fetchExpiry({ repeat: monthly, expires: iso(first + 1) }),
    iso(first + 1),
  );
  assertEquals(await fetchExpiry({ expires: iso(at) }), refused);
  assertEquals(await fetchExpiry({ expires: iso(at + 1) }), iso(at + 1));
  const skipping = { ...monthly, catch_up: "none" };
  const next = await api.create({
    date: iso(api.clock.nowMs() - 400 * DAY_MS),
    repeat: skipping,
    expires: "PT1S",
  });
  assertEquals(
    next.at("expires"),
    iso(Date.parse(next.textAt("date")) + 1_000),
  );
  await api.close();
});

Deno.test("PUT /v1/tasks/:id moves no task behind the end of its schedule", async () => {
  const api = await openTasksApi();
  const at = (hours: number) =>
    new Date(api.clock.nowMs() + hours * 3_600_000).toISOString();
  const made = await api.create({
    date: at(1),
    repeat: { cron: "0 * * * *", until: at(2) },
  });
  const path = `/v1/tasks/${made.textAt("id")}`;
  const repeat = made.at("repeat");
  for (
    const [field, change] of [
      ["/date", { date: at(3) }],
      ["/delay", { delay: "PT3H" }],
      ["/date", { date: at(3), repeat }],
    ] as const
  ) {
    const answer = await api.call("PUT", path, { body: change });
    assertEquals(
      [answer.status, answer.at("errors", 0, "pointer")],
      [422, field],
    );
    assertEquals(answer.at("errors", 0, "code"), "never_fires");
  }
  await api.close();
});

Deno.test("PUT /v1/tasks/:id judges an expiry by the date that stays", async () => {
  const api = await openTasksApi();
  const at = (hours: number) =>
    new Date(api.clock.nowMs() + hours * 3_600_000).toISOString();
  await api.create({ repeat: { interval: "PT1H" } });
  const path = `/v1/tasks/${await api.work("complete")}`;
  const moved = await api.call("PUT", path, { body: { date: at(6) } });
  assertEquals(moved.status, 200);
  const repeat = { interval: "PT1H", limit: 5 };
  const early = await api.call("PUT", path, {
    body: { repeat, expires: at(3) },
  });
  assertEquals(early.status, 422);
  const late = await api.call("PUT", path, {
    body: { repeat, expires: at(7) },
  });
  assertEquals([late.status, late.at("date")], [200, at(6)]);
  await api.close();
});
