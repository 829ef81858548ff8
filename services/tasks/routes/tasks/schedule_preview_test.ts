import { assertEquals } from "@std/assert";
import { listFaults, openTasksApi } from "./testing/tasks_api.ts";

Deno.test("POST /v1/schedules/preview warns of clock changes", async () => {
  const api = await openTasksApi();
  const answer = await api.send("POST", "/v1/schedules/preview", {
    repeat: { cron: "30 2 * * *" },
    timezone: "Europe/Berlin",
    date: "2027-03-27T00:00:00Z",
    count: 2,
  });
  assertEquals(answer.status, 200);
  assertEquals(answer.at("timezone"), "Europe/Berlin");
  assertEquals(answer.at("data", 0, "at"), "2027-03-27T01:30:00.000Z");
  assertEquals(answer.at("data", 0, "offset"), "+01:00");
  assertEquals(answer.at("data", 0, "warnings"), []);
  assertEquals(answer.at("data", 1, "at"), "2027-03-28T01:00:00.000Z");
  assertEquals(answer.at("data", 1, "warnings"), ["gap_moved"]);
  assertEquals(answer.at("is_complete"), false);
  await api.close();
});

Deno.test("POST /v1/schedules/preview counts months from the date and tells the end", async () => {
  const api = await openTasksApi();
  const answer = await api.send("POST", "/v1/schedules/preview", {
    repeat: { interval: "P1M", limit: 2 },
    date: "2027-01-31T12:00:00Z",
  });
  const { data, is_complete } = Object(answer.json);
  assertEquals(
    data.map((
      { at, warnings }: { at: string; warnings: string[] },
    ) => [at, warnings]),
    [
      ["2027-01-31T12:00:00.000Z", []],
      ["2027-02-28T12:00:00.000Z", ["month_short"]],
      ["2027-03-31T12:00:00.000Z", []],
    ],
  );
  assertEquals(is_complete, true);
  await api.close();
});

Deno.test("POST /v1/schedules/preview tells what the task will do", async () => {
  const api = await openTasksApi();
  const repeat = { cron: "0 */7 * * *" };
  const preview = await api.send("POST", "/v1/schedules/preview", {
    repeat,
    count: 3,
  });
  const { data } = Object(preview.json);
  const made = await api.create({ repeat });
  assertEquals(made.at("next"), data.map(({ at }: { at: string }) => at));
  await api.close();
});

Deno.test("POST /v1/schedules/preview begins where it is asked to", async () => {
  const api = await openTasksApi();
  const answer = await api.send("POST", "/v1/schedules/preview", {
    repeat: { interval: "P1D" },
    date: "2027-01-01T06:00:00Z",
    from: "2040-01-01T07:00:00Z",
    count: 1,
  });
  assertEquals(answer.at("data", 0, "at"), "2040-01-02T06:00:00.000Z");
  await api.close();
});

Deno.test("POST /v1/schedules/preview honours a beginning in the past, and tells what would be missed", async () => {
  const api = await openTasksApi();
  const answer = await api.send("POST", "/v1/schedules/preview", {
    repeat: { cron: "0 12 * * *" },
    from: "2027-01-12T13:00:00Z",
    count: 3,
  });
  assertEquals(
    answer.at("data"),
    [
      ["2027-01-13", ["missed_by_limit"]],
      ["2027-01-14", []],
      ["2027-01-15", []],
    ].map(([day, warnings]) => ({
      at: `${day}T12:00:00.000Z`,
      local: `${day}T12:00:00`,
      offset: "+00:00",
      warnings,
    })),
  );
  const dated = await api.send("POST", "/v1/schedules/preview", {
    repeat: { interval: "P1D" },
    date: "2027-01-10T06:00:00Z",
    from: "2027-01-01T00:00:00Z",
    count: 1,
  });
  assertEquals(dated.at("data", 0, "at"), "2027-01-10T06:00:00.000Z");
  await api.close();
});

Deno.test("POST /v1/schedules/preview warns of a cron expression that means other times elsewhere", async () => {
  const api = await openTasksApi();
  const cron = "0 0 9 ? * 2-6";
  const days = async (repeat: unknown) => {
    const answer = await api.send("POST", "/v1/schedules/preview", {
      repeat,
      count: 2,
    });
    const { data, warnings } = Object(answer.json);
    return [
      data.map(({ at }: { at: string }) => at.slice(8, 10)),
      warnings.map((
        { code, dialect }: { code: string; dialect: string },
      ) => [code, dialect]),
    ];
  };
  assertEquals(await days({ cron }), [["15", "16"], [["dialect", "quartz"]]]);
  assertEquals(await days({ cron, dialect: "cron" }), [["15", "16"], []]);
  assertEquals(await days({ cron, dialect: "quartz" }), [["15", "18"], []]);
  const dialect = "eventbridge";
  const bridged = { cron: "cron(0 9 ? * 2-6 *)", dialect };
  assertEquals(await days(bridged), [["15", "18"], []]);
  const past = await api.send("POST", "/v1/schedules/preview", {
    repeat: { cron: `${cron} 2020`, dialect: "quartz" },
  });
  assertEquals(listFaults(past), [["/repeat/cron", "never_fires"]]);
  await api.close();
});

Deno.test("POST /v1/schedules/preview refuses what a task could not have, and keeps nothing", async () => {
  const api = await openTasksApi({ limits: { minIntervalMs: 60_000 } });
  const faults = async (body: unknown) =>
    listFaults(await api.send("POST", "/v1/schedules/preview", body));
  assertEquals(await faults({ repeat: { cron: "x" } }), [[
    "/repeat/cron",
    "bad_cron",
  ]]);
  assertEquals(await faults({ repeat: { interval: "1s" } }), [[
    "/repeat/interval",
    "too_frequent",
  ]]);
  assertEquals(await faults({}), [["/repeat", "required"]]);
  assertEquals(await faults({ repeat: { cron: "@daily" }, count: 101 }), [[
    "/count",
    "too_large",
  ]]);
  const key = await api.addKey({ role: "viewer" });
  const viewer = await api.send("POST", "/v1/schedules/preview", {
    repeat: { cron: "@daily" },
  }, { key });
  assertEquals(viewer.status, 200);
  assertEquals((await api.call("GET", "/v1/tasks?count")).at("count"), 0);
  await api.close();
});

Deno.test("POST /v1/schedules/preview warns of times that a task made now would miss", async () => {
  for (
    const [rule, run] of [
      [{ catch_up: "one" }, 4],
      [{ catch_up: "none" }, 5],
      [{ catch_up: "all", catch_up_window: "PT150M" }, 2],
      [{ catch_up: "all" }, 0],
    ] as const
  ) {
    const api = await openTasksApi();
    const date = new Date(api.clock.nowMs() - 4.5 * 3_600_000).toISOString();
    const repeat = { interval: "PT1H", ...rule };
    const preview = await api.send("POST", "/v1/schedules/preview", {
      repeat,
      date,
      count: 7,
    });
    const { data } = Object(preview.json);
    assertEquals(
      data.map(({ warnings }: { warnings: string[] }) =>
        warnings.includes("missed_by_limit")
      ),
      Array.from({ length: 7 }, (_, index) => index < run),
    );
    const made = await api.create({ repeat, date });
    const task = await api.store.task(api.tenant.id, made.textAt("id"));
    assertEquals(new Date(task?.slotMs ?? 0).toISOString(), data[run].at);
    await api.close();
  }
});
