import { assertEquals, assertStringIncludes } from "@std/assert";
import { listFaults, openTasksApi } from "../tasks/testing/tasks_api.ts";

/** The clock of the tests stands at 08:00 on 15 January 2027, a Friday. */
const PATH = "/v1/calendars/holidays";

type Api = Awaited<ReturnType<typeof openTasksApi>>;

/** A file with whole days. */
function file(...days: readonly string[]): string {
  return [
    "BEGIN:VCALENDAR",
    ...days.flatMap((day) => [
      "BEGIN:VEVENT",
      `DTSTART;VALUE=DATE:${day}`,
      "END:VEVENT",
    ]),
    "END:VCALENDAR",
    "",
  ].join("\r\n");
}

function put(api: Api, ical: string, path = PATH): ReturnType<Api["send"]> {
  return api.send("PUT", path, { ical });
}

const DAILY = { cron: "0 9 * * *", calendars: ["holidays"] };

Deno.test("the routes of calendars make, list, read, replace and remove one", async () => {
  const api = await openTasksApi();
  const ical = file("20271224", "20271225");
  const made = await put(api, ical);
  const { created_at, updated_at } = Object(made.json);
  const shown = {
    name: "holidays",
    events: 2,
    spans: 1,
    created_at,
    updated_at,
  };
  assertEquals(made.status, 201);
  assertEquals(made.json, { ...shown, version: 1, tasks_moved: 0 });
  const read = await api.call("GET", PATH);
  assertEquals(read.json, { ...shown, version: 1, ical });
  const list = await api.call("GET", "/v1/calendars");
  assertEquals(list.json, { data: [{ ...shown, version: 1 }], next: null });
  const same = await put(api, ical);
  assertEquals([same.status, same.at("version")], [200, 1]);
  const changed = await put(api, file());
  assertEquals(
    ["version", "events", "spans"].map((name) => changed.at(name)),
    [2, 0, 0],
  );
  assertEquals((await api.call("DELETE", PATH)).status, 204);
  assertEquals((await api.call("GET", PATH)).status, 404);
  assertEquals((await api.call("DELETE", PATH)).status, 404);
  assertEquals((await put(api, ical)).status, 201);
  await api.close();
});

Deno.test("PUT /v1/calendars/:name refuses what is no calendar, and a name that is none", async () => {
  const api = await openTasksApi();
  const bad = await put(api, "BEGIN:VCALENDAR\nBEGIN:VEVENT");
  assertEquals(listFaults(bad), [["/ical", "bad_calendar"]]);
  assertStringIncludes(bad.textAt("detail"), "line 2: END:VEVENT is missing");
  const named = await put(api, file(), "/v1/calendars/-x");
  assertEquals(named.at("errors", 0, "parameter"), "name");
  assertEquals((await put(api, "x".repeat(262_145))).status, 422);
  assertEquals((await put(api, "x".repeat(1_048_577))).status, 413);
  await api.close();
});

Deno.test("PUT /v1/calendars/:name heeds If-Match, and makes 100 calendars at the most", async () => {
  const api = await openTasksApi();
  const ifMatch = (version: number) => ({
    headers: { "if-match": `"${version}"` },
  });
  const absent = await api.send("PUT", PATH, { ical: file() }, ifMatch(1));
  assertEquals(absent.status, 404);
  for (let index = 0; index < 100; index++) {
    assertEquals(
      (await put(api, file(), `/v1/calendars/c${index}`)).status,
      201,
    );
  }
  const full = await put(api, file());
  assertEquals([full.status, full.at("code"), full.at("limit")], [
    403,
    "quota_exceeded",
    100,
  ]);
  const path = "/v1/calendars/c7";
  const body = { ical: file("20271224") };
  assertEquals((await api.send("PUT", path, body, ifMatch(2))).status, 412);
  assertEquals((await api.send("PUT", path, body, ifMatch(1))).status, 200);
  await api.close();
});

Deno.test("a task has no dates on the days of its calendar, and gets others when the calendar changes", async () => {
  const api = await openTasksApi();
  const unknown = await api.create({ repeat: DAILY });
  assertEquals(listFaults(unknown), [[
    "/repeat/calendars/0",
    "unknown_calendar",
  ]]);
  await put(api, file("20270115", "20270117"));
  const made = await api.create({ repeat: DAILY });
  assertEquals(made.status, 201);
  assertEquals(made.at("repeat", "calendars"), ["holidays"]);
  assertEquals(
    made.at("next"),
    [16, 18, 19].map((day) => `2027-01-${day}T09:00:00.000Z`),
  );
  const inUse = await api.call("DELETE", PATH);
  assertEquals([inUse.status, inUse.at("code")], [409, "calendar_in_use"]);
  const changed = await put(api, file("20270116"));
  assertEquals(changed.at("tasks_moved"), 1);
  const path = `/v1/tasks/${made.textAt("id")}`;
  const moved = await api.call("GET", path);
  assertEquals(
    moved.at("next"),
    [15, 17, 18].map((day) => `2027-01-${day}T09:00:00.000Z`),
  );
  assertEquals((await put(api, file("20270116"))).at("tasks_moved"), 0);
  const history = await api.call("GET", `${path}/history?order=desc&limit=1`);
  assertEquals(history.at("data", 0, "type"), "moved");
  await api.send("PATCH", path, { repeat: { calendars: [] } });
  assertEquals((await api.call("DELETE", PATH)).status, 204);
  await api.close();
});

Deno.test("GET /v1/tasks/:id/explain tells what a schedule leaves out", async () => {
  const api = await openTasksApi();
  await put(api, file("20270116"));
  const repeat = { ...DAILY, exclude: ["2027-01-15", "2027-01-17"] };
  const made = await api.create({ repeat });
  const explained = await api.call(
    "GET",
    `/v1/tasks/${made.textAt("id")}/explain`,
  );
  const until = "2027-01-18T09:00:00.000Z";
  assertEquals(explained.at("hindrances", 1), {
    code: "excluded",
    message: "Its schedule leaves out 2027-01-15T09:00:00+00:00 by its date " +
      "and 2 more",
    until,
  });
  await api.close();
});

Deno.test("POST /v1/schedules/preview shows what dates and calendars leave out", async () => {
  const api = await openTasksApi();
  await put(api, file("20270116"));
  const answer = await api.send("POST", "/v1/schedules/preview", {
    repeat: { ...DAILY, exclude: ["2027-01-17"] },
    timezone: "Europe/Berlin",
    count: 2,
  });
  const shownAt = (day: number) => ({
    at: `2027-01-${day}T08:00:00.000Z`,
    local: `2027-01-${day}T09:00:00`,
    offset: "+01:00",
  });
  assertEquals(answer.at("excluded"), [
    { ...shownAt(16), calendar: "holidays" },
    { ...shownAt(17), calendar: null },
  ]);
  assertEquals(answer.at("data", 1, "at"), "2027-01-18T08:00:00.000Z");
  const unknown = await api.send("POST", "/v1/schedules/preview", {
    repeat: { cron: "@daily", calendars: ["holidays", "other"] },
  });
  assertEquals(listFaults(unknown), [[
    "/repeat/calendars/1",
    "unknown_calendar",
  ]]);
  await api.close();
});
