import { assert, assertEquals, assertStringIncludes, fail } from "@std/assert";
import { eachRound } from "../../../tests/support/rounds.ts";
import { DAY_MS } from "../../shared/duration.ts";
import {
  type CronDialect,
  type CronExpression,
  parseCron,
} from "./cron_expression.ts";
import {
  drawQuartz,
  quartzHasDay,
  quartzHasTime,
} from "./testing/quartz_model.ts";

function read(text: string, dialect: CronDialect): CronExpression {
  const outcome = parseCron(text, dialect);
  return outcome.kind === "ok" ? outcome.cron : fail(outcome.reason);
}

function walls(
  text: string,
  { dialect, from, count }: {
    readonly dialect: CronDialect;
    readonly from: string;
    readonly count: number;
  },
): readonly string[] {
  const cron = read(text, dialect);
  const found: string[] = [];
  let wallMs = cron.wallFrom(Date.parse(`${from}Z`));
  while (wallMs !== undefined && found.length < count) {
    found.push(new Date(wallMs).toISOString().replace(/(:00)?\.000Z$/, ""));
    wallMs = cron.nextWall(wallMs);
  }
  return found;
}

Deno.test("readQuartz() reads what the manuals of Quartz and EventBridge show", () => {
  // 1 January 2026 is a Thursday.
  const from = "2026-01-01T00:00";
  const cases: readonly [CronDialect, string, readonly string[]][] = [
    ["quartz", "0 0 9 ? * 2-6", [
      "2026-01-01T09:00",
      "2026-01-02T09:00",
      "2026-01-05T09:00",
    ]],
    ["quartz", "0 0 9 ? * mon-fri *", [
      "2026-01-01T09:00",
      "2026-01-02T09:00",
      "2026-01-05T09:00",
    ]],
    ["quartz", "0 0 9 ? * FRI-MON", [
      "2026-01-02T09:00",
      "2026-01-03T09:00",
      "2026-01-04T09:00",
      "2026-01-05T09:00",
      "2026-01-09T09:00",
    ]],
    ["quartz", "0 15 10 L * ?", ["2026-01-31T10:15", "2026-02-28T10:15"]],
    ["quartz", "0 15 10 L-2 * ?", ["2026-01-29T10:15", "2026-02-26T10:15"]],
    ["quartz", "0 15 10 LW * ?", ["2026-01-30T10:15", "2026-02-27T10:15"]],
    ["quartz", "0 0 12 1W * ?", ["2026-01-01T12:00", "2026-02-02T12:00"]],
    ["quartz", "0 0 12 ? * L", ["2026-01-03T12:00", "2026-01-10T12:00"]],
    ["quartz", "0 15 10 ? * 6L", ["2026-01-30T10:15", "2026-02-27T10:15"]],
    ["quartz", "0 15 10 ? * 6L 2027-2028", [
      "2027-01-29T10:15",
      "2027-02-26T10:15",
    ]],
    ["quartz", "0 15 10 ? * 6#3", ["2026-01-16T10:15", "2026-02-20T10:15"]],
    ["quartz", "0 0/5 14 * * ?", ["2026-01-01T14:00", "2026-01-01T14:05"]],
    ["quartz", "0 0 22-2 ? * THU", [
      from,
      "2026-01-01T01:00",
      "2026-01-01T02:00",
      "2026-01-01T22:00",
    ]],
    ["quartz", "0 0 12 1/5 * ?", [
      "2026-01-01T12:00",
      "2026-01-06T12:00",
      "2026-01-11T12:00",
    ]],
    ["quartz", "0 11 11 11 11 ?", ["2026-11-11T11:11", "2027-11-11T11:11"]],
    ["eventbridge", "0 10 * * ? *", ["2026-01-01T10:00", "2026-01-02T10:00"]],
    ["eventbridge", "cron(0 18 ? * MON-FRI *)", [
      "2026-01-01T18:00",
      "2026-01-02T18:00",
      "2026-01-05T18:00",
    ]],
    ["eventbridge", "0/15 8 ? * 2-6 2027", [
      "2027-01-01T08:00",
      "2027-01-01T08:15",
    ]],
    ["eventbridge", "15 10 ? * 6L 2026-2027", [
      "2026-01-30T10:15",
      "2026-02-27T10:15",
    ]],
  ];
  for (const [dialect, text, expected] of cases) {
    const count = expected.length;
    assertEquals(walls(text, { dialect, from, count }), expected, text);
  }
});

Deno.test("readQuartz() tells fixed times from intervals", () => {
  assert(read("0 0 9,10-12 ? * 2-6", "quartz").isFixedTime);
  assert(read("0 9 ? * 2-6 *", "eventbridge").isFixedTime);
  for (const text of ["0 * 9 * * ?", "0 0/5 9 * * ?", "/10 0 9 * * ?"]) {
    assert(!read(text, "quartz").isFixedTime, text);
  }
});

Deno.test("readQuartz() tells what is wrong", () => {
  const cases: readonly [CronDialect, string, string][] = [
    ["quartz", "0 9 * * 1-5", "it has 5 fields, not 6, or 7 with years"],
    ["quartz", "@daily", "it has 1 fields"],
    ["quartz", "0 0 9 * * 2-6", "neither is"],
    ["quartz", "0 0 9 ? * ?", "both are"],
    ["quartz", "60 0 9 ? * 2", `the second "60" is wrong, it takes 0-59`],
    ["quartz", "0 60 9 ? * 2", `the minute "60"`],
    ["quartz", "0 0 24 ? * 2", `the hour "24"`],
    ["quartz", "0 0 ? ? * 2", `the hour "?"`],
    ["quartz", "0 0 9 0 * ?", `the day of the month "0"`],
    ["quartz", "0 0 9 L-31 * ?", `the day of the month "L-31"`],
    ["quartz", "0 0 9 L,15 * ?", `the day of the month "L,15"`],
    ["quartz", "0 0 9 1W,15 * ?", `the day of the month "1W,15"`],
    ["quartz", "0 0 9 32W * ?", `the day of the month "32W"`],
    ["quartz", "0 0 9 1 13 ?", `the month "13"`],
    ["quartz", "0 0 9 ? * 0", `where 1 is Sunday`],
    ["quartz", "0 0 9 ? * 8", `the day of the week "8"`],
    ["quartz", "0 0 9 ? * 6#6", `the day of the week "6#6"`],
    ["quartz", "0 0 9 ? * 6#3,2", `the day of the week "6#3,2"`],
    ["quartz", "0 0 9 ? * 2L,3", `the day of the week "2L,3"`],
    ["quartz", "0 0 9 ? * 2-", `the day of the week "2-"`],
    ["quartz", "0 0/0 9 ? * 2", `the minute "0/0"`],
    ["quartz", "0 0/60 9 ? * 2", `the minute "0/60"`],
    ["quartz", "0 , 9 ? * 2", `the minute ","`],
    ["quartz", "0 0 9 ? * 2 1969", `the year "1969"`],
    ["quartz", "0 0 9 ? * 2 2030-2027", `the year "2030-2027"`],
    ["eventbridge", "0 9 ? * 2", "it has 5 fields, not 6"],
    ["eventbridge", "0 0 9 ? * 2-6", "neither is"],
  ];
  for (const [dialect, text, part] of cases) {
    const outcome = parseCron(text, dialect);
    if (outcome.kind === "ok") fail(`${text} was read`);
    assertEquals(outcome.code, "bad_cron");
    assertStringIncludes(outcome.reason, part);
  }
});

Deno.test("parseCron() refuses an expression of Quartz that no year has", () => {
  for (const text of ["0 0 0 30 2 ?", "0 0 0 29 2 ? 2027", "0 0 0 L-30 2 ?"]) {
    const outcome = parseCron(text, "quartz");
    assertEquals(
      outcome.kind === "invalid" && outcome.code,
      "never_fires",
      text,
    );
  }
});

Deno.test("readQuartz() agrees with the definition on each day of years, and on each time", async () => {
  let days = 0;
  await eachRound({ rounds: 150 }, ({ random }) => {
    const text = drawQuartz(random);
    const year = 2_000 + random.below(190);
    const outcome = parseCron(text, "quartz");
    if (outcome.kind === "invalid") {
      assertEquals(outcome.code, "never_fires", `${text}: ${outcome.reason}`);
    }
    const end = Date.UTC(year + 4, 0) / DAY_MS;
    for (let day = Date.UTC(year, 0) / DAY_MS; day < end; day++) {
      const date = new Date(day * DAY_MS);
      const expected = quartzHasDay(text, date);
      const found = outcome.kind === "ok" && outcome.cron.days.has(day);
      if (found !== expected) fail(`${text} on ${date.toISOString()}`);
      if (expected) days++;
    }
    if (outcome.kind === "invalid") return;
    const { hours, minutes, seconds } = outcome.cron.times;
    const [h = 0, m = 0, s = 0] = [hours[0], minutes[0], seconds[0]];
    for (let value = 0; value < 60; value++) {
      const isHour = value < 24 && quartzHasTime(text, [value, m, s]);
      assertEquals(
        [hours, minutes, seconds].map((values) => values.includes(value)),
        [
          isHour,
          quartzHasTime(text, [h, value, s]),
          quartzHasTime(text, [h, m, value]),
        ],
        `${text} at ${value}`,
      );
    }
  });
  assert(days > 1_000);
});
