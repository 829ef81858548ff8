import { assert, assertEquals, assertStringIncludes, fail } from "@std/assert";
import { Cron } from "croner";
import { eachRound } from "../../../tests/support/rounds.ts";
import { CronExpression, parseCron } from "./cron_expression.ts";
import { DAY_MS } from "../../shared/duration.ts";

function walls(text: string, from: string, count: number): readonly string[] {
  const cron = new CronExpression(text);
  const found: string[] = [];
  let wallMs = cron.wallFrom(Date.parse(`${from}Z`));
  while (wallMs !== undefined && found.length < count) {
    found.push(new Date(wallMs).toISOString().replace(/(:00)?\.000Z$/, ""));
    wallMs = cron.nextWall(wallMs);
  }
  return found;
}

Deno.test("CronExpression matches what each part of the syntax means", () => {
  const from = "2026-01-01T00:00";
  const cases: readonly [string, readonly string[]][] = [
    ["30 2 * * *", ["2026-01-01T02:30", "2026-01-02T02:30"]],
    ["15 30 2 * * *", ["2026-01-01T02:30:15", "2026-01-02T02:30:15"]],
    ["*/20 * * * *", [from, "2026-01-01T00:20", "2026-01-01T00:40"]],
    ["10-50/20 0 * * *", ["2026-01-01T00:10", "2026-01-01T00:30"]],
    ["0 9-10 * * MON-FRI", ["2026-01-01T09:00", "2026-01-01T10:00"]],
    ["0 9 * jan,jul sat", ["2026-01-03T09:00", "2026-01-10T09:00"]],
    ["0 9 * * 7", ["2026-01-04T09:00", "2026-01-11T09:00"]],
    ["0 9 * * 0", ["2026-01-04T09:00", "2026-01-11T09:00"]],
    ["0 9 ? * ?", ["2026-01-01T09:00", "2026-01-02T09:00"]],
    ["0 9 L * *", ["2026-01-31T09:00", "2026-02-28T09:00"]],
    ["0 9 LW * *", ["2026-01-30T09:00", "2026-02-27T09:00"]],
    ["0 9 15W 2,3 *", ["2026-02-16T09:00", "2026-03-16T09:00"]],
    ["0 9 * * 5#2", ["2026-01-09T09:00", "2026-02-13T09:00"]],
    ["0 9 * * FRI#L", ["2026-01-30T09:00", "2026-02-27T09:00"]],
    ["0 9 * * 5L", ["2026-01-30T09:00", "2026-02-27T09:00"]],
    // With both day fields, either one has to match, or both with a plus.
    ["0 9 13 * FRI", [
      "2026-01-02T09:00",
      "2026-01-09T09:00",
      "2026-01-13T09:00",
    ]],
    ["0 9 13 * +FRI", ["2026-02-13T09:00", "2026-03-13T09:00"]],
    ["0 0 29 2 *", ["2028-02-29T00:00", "2032-02-29T00:00"]],
    ["0 0 31 * *", ["2026-01-31T00:00", "2026-03-31T00:00"]],
    ["@hourly", [from, "2026-01-01T01:00"]],
    ["@daily", [from, "2026-01-02T00:00"]],
    ["@midnight", [from, "2026-01-02T00:00"]],
    ["@weekly", ["2026-01-04T00:00", "2026-01-11T00:00"]],
    ["@monthly", [from, "2026-02-01T00:00"]],
    ["@yearly", [from, "2027-01-01T00:00"]],
    ["@Annually", [from, "2027-01-01T00:00"]],
  ];
  for (const [text, expected] of cases) {
    assertEquals(walls(text, from, expected.length), expected, text);
    assertEquals(parseCron(text).kind, "ok", text);
  }
});

Deno.test("CronExpression tells fixed times from intervals", () => {
  const fixed = ["30 2 * * *", "0,30 2-4 * * *", "0 9 */2 * *", "@daily"];
  const intervals = ["*/5 * * * *", "0 * * * *", "@hourly", "0 ? * * *"];
  const steps = ["0 0-22/2 * * *", "* 0 2 * * *"];
  for (const text of fixed) assert(new CronExpression(text).isFixedTime, text);
  for (const text of [...intervals, ...steps]) {
    assert(!new CronExpression(text).isFixedTime, text);
  }
});

Deno.test("CronExpression knows its days and the times of a day", () => {
  const cron = new CronExpression("5,10 */15 9 L * *");
  const { hours, minutes, seconds } = cron.times;
  assertEquals({ hours, minutes, seconds }, {
    hours: [9],
    minutes: [0, 15, 30, 45],
    seconds: [5, 10],
  });
  const parseDay = (date: string): number => Date.parse(date) / DAY_MS;
  assert(cron.days.has(parseDay("2026-02-28")));
  assert(!cron.days.has(parseDay("2026-03-30")));
});

Deno.test("CronExpression looks strictly behind an instant, or at it", () => {
  const cron = new CronExpression("0 12 * * *");
  const noon = Date.parse("2026-05-05T12:00Z");
  const nextNoon = noon + 86_400_000;
  assertEquals(cron.nextWall(noon - 1), noon);
  assertEquals(cron.nextWall(noon), nextNoon);
  assertEquals(cron.nextWall(noon + 1), nextNoon);
  assertEquals(cron.wallFrom(noon), noon);
  assertEquals(cron.wallFrom(noon + 1), nextNoon);
});

Deno.test("CronExpression finds the times that the engine finds", async () => {
  const seconds = ["", "", "0 ", "*/7 ", "5,50 ", "30-40 "];
  const minutes = ["*", "0", "*/15", "3,59", "10-12"];
  const hours = ["*", "0", "23", "1-3", "*/5", "0,12"];
  const days = ["*", "L", "LW", "15W", "31", "13,L", "*/9", "29"];
  const months = ["*", "2", "*/3", "JUN,SEP", "12"];
  const weekdays = ["*", "*", "MON", "1-5", "5L", "FRI#2", "1#5", "+SUN"];
  await eachRound({ rounds: 40, seed: 61 }, ({ random }) => {
    const time = random.pick(seconds) + random.pick(minutes);
    const day = `${random.pick(days)} ${random.pick(months)}`;
    const text = `${time} ${random.pick(hours)} ${day} ${
      random.pick(weekdays)
    }`;
    const cron = new CronExpression(text);
    const engine = new Cron(text, { mode: "5-or-6-parts", utcOffset: 0 });
    let wallMs: number | undefined = Date.parse("2023-11-30T00:00Z") +
      random.below(1_500 * DAY_MS);
    for (let count = 0; count < 4 && wallMs !== undefined; count++) {
      const found: number | undefined = cron.nextWall(wallMs);
      const expected = engine.nextRun(new Date(wallMs))?.getTime();
      assertEquals(
        found,
        expected,
        `${text} ${new Date(wallMs).toISOString()}`,
      );
      wallMs = found;
    }
  });
});

Deno.test("CronExpression ends with the year 3000", () => {
  const cron = new CronExpression("0 0 31 12 *");
  const last = Date.parse("3000-12-31T00:00Z");
  assertEquals(cron.nextWall(last - 1), last);
  assertEquals(cron.nextWall(last), undefined);
  const every = new CronExpression("* * * * *");
  assertEquals(every.nextWall(last + DAY_MS), undefined);
});

Deno.test("parseCron() tells what is wrong", () => {
  const cases: readonly [unknown, string][] = [
    [undefined, "it is not text"],
    [5, "it is not text"],
    ["", "it has 0 fields"],
    ["* * * *", "it has 4 fields, not 5, or 6 with seconds"],
    ["* * * * * * 2030", "it has 7 fields"],
    ["61 * * * *", `the minute "61" is wrong, it takes 0-59`],
    ["60 * * * * *", `the second "60" is wrong`],
    ["* 24 * * *", `the hour "24" is wrong, it takes 0-23`],
    ["* * 0 * *", `the day of the month "0" is wrong`],
    ["* * 32 * *", `the day of the month "32" is wrong`],
    ["* * * 13 *", `the month "13" is wrong, it takes 1-12 or JAN-DEC`],
    ["* * * FOO *", `the month "FOO" is wrong`],
    ["* * * * 8", `the day of the week "8" is wrong`],
    ["* * * * MON#6", `the day of the week "MON#6" is wrong`],
    ["5/10 * * * *", `a step follows "*" or a range`],
    ["*/0 * * * *", `the minute "*/0" is wrong`],
    ["30-10 * * * *", `the minute "30-10" is wrong`],
    ["1,,2 * * * *", `the minute "1,,2" is wrong`],
    ["-1 * * * *", `the minute "-1" is wrong`],
    ["1.5 * * * *", `the minute "1.5" is wrong`],
    ["H * * * *", `the minute "H" is wrong`],
    ["* L * * *", `the hour "L" is wrong`],
    ["@reboot", "the nicknames are @hourly"],
    ["@fortnightly", "the nicknames are @hourly"],
    ["2026-01-01T00:00:00", "it has 1 fields"],
    ["12:30 * * * *", `the minute "12:30" is wrong`],
    ["\u202e61 * * * *", "the minute"],
    [`${"0,".repeat(300)}0 * * * *`, "more than 512 characters"],
  ];
  for (const [text, part] of cases) {
    const outcome = parseCron(text);
    if (outcome.kind === "ok") fail(`"${text}" was taken`);
    assertEquals(outcome.code, "bad_cron", String(text));
    assertStringIncludes(outcome.reason, part);
    assert(!outcome.reason.includes("\u202e"));
  }
});

Deno.test("parseCron() refuses what no year has", () => {
  const never = ["0 0 30 2 *", "0 0 31 4,6,9,11 *", "* * * 30-31 2 *"];
  for (const text of [...never, "0 0 31W 2 *"]) {
    const outcome = parseCron(text);
    if (outcome.kind === "ok") fail(`"${text}" was taken`);
    assertEquals(outcome.code, "never_fires", text);
    assertStringIncludes(outcome.reason, "no day of any year matches");
  }
  for (const text of ["0 0 29 2 +MON", "0 0 * 2 MON#5", "0 0 30 2 MON"]) {
    assertEquals(parseCron(text).kind, "ok", text);
  }
});
