import { assertEquals } from "@std/assert";
import { listFaults, openTasksApi } from "./testing/tasks_api.ts";

const REFUSED: readonly (readonly [
  string,
  Readonly<Record<string, unknown>>,
  readonly (readonly [string, string])[],
])[] = [
  ["a misspelt field", { retires: {} }, [["/retires", "unknown_field"]]],
  ["a field of the service", { executions: 3 }, [["/executions", "read_only"]]],
  ["a worker that is not there", { worker: "nobody" }, [[
    "/worker",
    "unknown_worker",
  ]]],
  ["a worker that is not text", { worker: 7 }, [["/worker", "wrong_type"]]],
  ["a long job", { job: "j".repeat(129) }, [["/job", "too_long"]]],
  ["an empty job", { job: "" }, [["/job", "too_short"]]],
  ["a date without a zone", { date: "2030-01-01T00:00:00" }, [[
    "/date",
    "bad_time",
  ]]],
  ["a date in the year 10000", { date: "10000-01-01T00:00:00Z" }, [[
    "/date",
    "bad_time",
  ]]],
  ["a date before 1970", { date: "1969-12-31T23:59:59Z" }, [[
    "/date",
    "bad_time",
  ]]],
  ["a negative delay", { delay: "-1s" }, [["/delay", "bad_duration"]]],
  ["durations without a unit, but for the timeout", {
    delay: 5000,
    timeout: 5000,
    expires: 60,
    repeat: { interval: 60, jitter: 1, catch_up_window: "60" },
    retry: { interval: [5], max_interval: 60, for: 600 },
  }, [
    ["/delay", "bad_duration"],
    ["/expires", "bad_duration"],
    ["/repeat/interval", "bad_duration"],
    ["/repeat/jitter", "bad_duration"],
    ["/repeat/catch_up_window", "bad_duration"],
    ["/retry/interval/0", "bad_retry"],
    ["/retry/max_interval", "bad_retry"],
    ["/retry/for", "bad_retry"],
  ]],
  ["an unknown zone", { timezone: "Mars/Base" }, [[
    "/timezone",
    "bad_timezone",
  ]]],
  ["a repeat without timing", { repeat: {} }, [["/repeat", "bad_repeat"]]],
  [
    "a repeat with two timings",
    { repeat: { cron: "@daily", interval: "P1D" } },
    [["/repeat", "bad_repeat"]],
  ],
  ["an interval of nothing", { repeat: { interval: "PT0S" } }, [[
    "/repeat/interval",
    "bad_repeat",
  ]]],
  ["bad cron", { repeat: { cron: "61 * * * *" } }, [[
    "/repeat/cron",
    "bad_cron",
  ]]],
  ["cron of 513 characters", { repeat: { cron: "0 0 1 1 *".padEnd(513) } }, [[
    "/repeat/cron",
    "too_long",
  ]]],
  ["an unknown dialect", { repeat: { cron: "@daily", dialect: "spring" } }, [[
    "/repeat/dialect",
    "unknown_choice",
  ]]],
  ["a dialect without cron", {
    repeat: { interval: "P1D", dialect: "quartz" },
  }, [["/repeat/dialect", "needs_cron"]]],
  ["cron of another dialect", {
    repeat: { cron: "0 9 * * 1-5", dialect: "quartz" },
  }, [["/repeat/cron", "bad_cron"]]],
  ["dates that are none", {
    repeat: { cron: "@daily", exclude: ["2027-02-29", "soon"] },
  }, [
    ["/repeat/exclude/0", "bad_date"],
    ["/repeat/exclude/1", "bad_date"],
  ]],
  ["six calendars", {
    repeat: { cron: "@daily", calendars: [..."abcdef"] },
  }, [["/repeat/calendars", "too_many"]]],
  ["a schedule of which nothing is left", {
    repeat: {
      cron: "@daily",
      exclude: ["2027-01-16"],
      until: "2027-01-16T12:00:00Z",
    },
  }, [["/repeat/until", "never_fires"]]],
  ["cron that never fires", { repeat: { cron: "0 0 30 2 *" } }, [[
    "/repeat/cron",
    "never_fires",
  ]]],
  ["an end before the first slot", {
    repeat: { cron: "0 0 1 1 *", until: "2027-01-20T00:00:00Z" },
  }, [["/repeat/until", "never_fires"]]],
  ["an interval below a second", { repeat: { interval: "PT0.5S" } }, [[
    "/repeat/interval",
    "too_frequent",
  ]]],
  ["jitter beyond the spacing", {
    repeat: { interval: "PT1M", jitter: "PT2M" },
  }, [["/repeat/jitter", "too_large"]]],
  ["an unknown catch-up", { repeat: { interval: "P1D", catch_up: "two" } }, [[
    "/repeat/catch_up",
    "unknown_choice",
  ]]],
  ["a negative repeat limit", { repeat: { interval: "P1D", limit: -1 } }, [[
    "/repeat/limit",
    "too_small",
  ]]],
  ["bad retries", { retry: { limit: -1, backof: "fixed" } }, [[
    "/retry/limit",
    "bad_retry",
  ], ["/retry/backof", "bad_retry"]]],
  ["a short timeout", { timeout: 999 }, [["/timeout", "too_small"]]],
  ["a long timeout", { timeout: "P2D" }, [["/timeout", "too_large"]]],
  ["a dependency that is not there", {
    dependencies: ["tsk_00000000000000000000000000", "x"],
  }, [["/dependencies/0", "unknown_task"], [
    "/dependencies/1",
    "unknown_task",
  ]]],
  ["101 dependencies", {
    dependencies: Array.from({ length: 101 }, (_, i) => `t${i}`),
  }, [["/dependencies", "too_many"]]],
  ["a priority of 10", { priority: 10 }, [["/priority", "too_large"]]],
  ["a broken priority", { priority: 1.5 }, [["/priority", "wrong_type"]]],
  ["a long group", { group: "g".repeat(201) }, [["/group", "too_long"]]],
  ["a long key", { key: "k".repeat(201) }, [["/key", "too_long"]]],
  ["on_conflict without a key", { on_conflict: "reject" }, [[
    "/on_conflict",
    "needs_key",
  ]]],
  ["a callback in clear", { callback: "http://example.com" }, [[
    "/callback",
    "http_not_allowed",
  ]]],
  ["a callback within", { callback: { url: "https://127.0.0.1/" } }, [[
    "/callback",
    "address_not_public",
  ]]],
  ["a callback at no known end", {
    callback: { url: "https://example.com", on: ["done"] },
  }, [["/callback/on/0", "unknown_choice"]]],
  ["21 tags", { tags: Array.from({ length: 21 }, (_, i) => `t${i}`) }, [[
    "/tags",
    "too_many",
  ]]],
  ["a tag twice", { tags: ["a", "a"] }, [["/tags/1", "repeated"]]],
  ["51 labels", {
    metadata: Object.fromEntries(
      Array.from({ length: 51 }, (_, i) => [`k${i}`, ""]),
    ),
  }, [["/metadata", "too_many"]]],
  ["a label that is not text", { metadata: { a: 1 } }, [[
    "/metadata/a",
    "wrong_type",
  ]]],
];

for (const [name, body, faults] of REFUSED) {
  Deno.test(`POST /v1/tasks refuses ${name}`, async () => {
    const api = await openTasksApi();
    const answer = await api.create(body);
    assertEquals(answer.status, 422);
    assertEquals(listFaults(answer), faults);
    await api.close();
  });
}

Deno.test("POST /v1/tasks has codes of their own for some problems", async () => {
  const api = await openTasksApi();
  const createForCode = async (
    body: Record<string, unknown>,
  ): Promise<unknown> => (await api.create(body)).at("code");
  assertEquals(await createForCode({ worker: "nobody" }), "unknown_worker");
  assertEquals(await createForCode({ repeat: { cron: "x" } }), "bad_cron");
  assertEquals(
    await createForCode({ repeat: { cron: "0 0 30 2 *" } }),
    "never_fires",
  );
  assertEquals(await createForCode({ timezone: "x" }), "bad_timezone");
  assertEquals(await createForCode({ id: "x" }), "read_only");
  assertEquals(await createForCode({ id: "x", nope: 1 }), "invalid");
  await api.close();
});
