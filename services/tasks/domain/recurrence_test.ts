import { assertEquals, assertStringIncludes, fail } from "@std/assert";
import { eachRound } from "../../../tests/support/rounds.ts";
import type { SeededRandom } from "../../../tests/support/seeded_random.ts";
import { DAY_MS } from "../../shared/duration.ts";
import { daysOfRule, parseRule, type RecurrenceRule } from "./recurrence.ts";

const WEEKDAYS = ["SU", "MO", "TU", "WE", "TH", "FR", "SA"];

function read(text: string): RecurrenceRule {
  const outcome = parseRule(text);
  return outcome.kind === "ok" ? outcome.rule : fail(outcome.state);
}

function parseDay(date: string): number {
  return Date.parse(date) / DAY_MS;
}

function listDates(
  text: string,
  first: string,
  end: string,
): readonly string[] {
  const firstDay = parseDay(first);
  const options = { firstDay, endDay: parseDay(end), sinceDay: 0 };
  return [...daysOfRule(read(text), options)].flatMap((day) =>
    day === undefined ? [] : new Date(day * DAY_MS).toISOString().slice(0, 10)
  );
}

Deno.test("daysOfRule() falls on what the rules of holidays mean", () => {
  const cases: readonly [string, string, readonly string[]][] = [
    ["FREQ=YEARLY", "2024-12-25", ["2025-12-25", "2026-12-25", "2027-12-25"]],
    ["FREQ=YEARLY", "2024-02-29", ["2028-02-29"]],
    ["freq=yearly;count=3", "2024-05-01", ["2025-05-01", "2026-05-01"]],
    ["FREQ=YEARLY;INTERVAL=2", "2024-05-01", ["2026-05-01", "2028-05-01"]],
    // Thanksgiving in the United States, and Memorial Day.
    ["FREQ=YEARLY;BYMONTH=11;BYDAY=4TH", "2024-11-28", [
      "2025-11-27",
      "2026-11-26",
      "2027-11-25",
    ]],
    ["FREQ=YEARLY;BYMONTH=5;BYDAY=-1MO;COUNT=3", "2024-05-27", [
      "2025-05-26",
      "2026-05-25",
    ]],
    // Election day: the Tuesday after the first Monday.
    [
      "FREQ=YEARLY;INTERVAL=2;BYMONTH=11;BYDAY=TU;BYMONTHDAY=2,3,4,5,6,7,8",
      "2024-11-05",
      [
        "2026-11-03",
        "2028-11-07",
      ],
    ],
    ["FREQ=YEARLY;BYMONTHDAY=-1;BYMONTH=2", "2024-02-29", [
      "2025-02-28",
      "2026-02-28",
      "2027-02-28",
      "2028-02-29",
    ]],
    ["FREQ=WEEKLY;COUNT=3", "2024-01-03", ["2024-01-10", "2024-01-17"]],
    ["FREQ=WEEKLY;INTERVAL=2;BYDAY=TU,SU;WKST=MO;COUNT=4", "2024-01-02", [
      "2024-01-07",
      "2024-01-16",
      "2024-01-21",
    ]],
    ["FREQ=WEEKLY;INTERVAL=2;BYDAY=TU,SU;WKST=SU;COUNT=4", "2024-01-02", [
      "2024-01-14",
      "2024-01-16",
      "2024-01-28",
    ]],
  ];
  for (const [text, first, expected] of cases) {
    const found = listDates(text, first, "2029-01-01");
    assertEquals(found.slice(0, expected.length), expected, text);
  }
});

Deno.test("parseRule() tells what it cannot read", () => {
  const cases: readonly [string, string][] = [
    ["FREQ=DAILY", `"FREQ=DAILY" of a rule cannot be read`],
    ["FREQ=YEARLY;BYSETPOS=1", `"BYSETPOS=1"`],
    ["FREQ=YEARLY;INTERVAL=0", `"INTERVAL=0"`],
    ["FREQ=YEARLY;COUNT=x", `"COUNT=X"`],
    ["FREQ=YEARLY;BYMONTH=13", `"BYMONTH=13"`],
    ["FREQ=YEARLY;BYMONTHDAY=0", `"BYMONTHDAY=0"`],
    ["FREQ=YEARLY;BYMONTH=1;BYDAY=6MO", `"BYDAY=6MO"`],
    ["FREQ=YEARLY;BYDAY=1MO", "needs BYMONTH"],
    ["FREQ=WEEKLY;BYMONTH=1", "has neither months"],
    ["FREQ=WEEKLY;BYDAY=2MO", "has neither months"],
    ["COUNT=2", "has no FREQ"],
    ["constructor=1", `"CONSTRUCTOR=1"`],
    ["", `""`],
  ];
  for (const [text, part] of cases) {
    const outcome = parseRule(text);
    assertStringIncludes(
      outcome.kind === "invalid" ? outcome.state : "ok",
      part,
    );
  }
});

Deno.test("daysOfRule() agrees with looking at every day", async () => {
  await eachRound({ rounds: 150 }, ({ random }) => {
    const text = drawRule(random);
    const rule = read(text);
    const firstDay = random.below(20_000) - 3_000;
    const endDay = firstDay + random.below(6_000);
    const sinceDay = random.pick([0, firstDay - 1, firstDay + 3_000]);
    const options = { firstDay, endDay, sinceDay };
    const found = [...daysOfRule(rule, options)].filter((day) =>
      day !== undefined
    );
    const expected: number[] = [];
    let weeks = 0;
    for (let day = firstDay + 1; day < endDay; day++) {
      const weekday = new Date(day * DAY_MS).getUTCDay();
      if (weekday === rule.weekStart) weeks++;
      if (falls(rule, { firstDay, day, weeks })) expected.push(day);
    }
    const counted = expected.slice(0, (rule.count ?? Infinity) - 1);
    const isAsked = (day = 0): boolean => day >= sinceDay;
    assertEquals(found.filter(isAsked), counted.filter(isAsked), text);
  });
});

function falls(
  rule: RecurrenceRule,
  { firstDay, day, weeks }: {
    readonly firstDay: number;
    readonly day: number;
    /** How many weeks have begun since the first day. */
    readonly weeks: number;
  },
): boolean {
  const { interval, months, monthDays, weekdays } = rule;
  const at = new Date(day * DAY_MS);
  const first = new Date(firstDay * DAY_MS);
  const weekday = at.getUTCDay();
  if (rule.frequency === "WEEKLY") {
    return weeks % interval === 0 &&
      (weekdays ?? [{ weekday: first.getUTCDay() }])
        .some((one) => one.weekday === weekday);
  }
  const years = at.getUTCFullYear() - first.getUTCFullYear();
  if (years % interval !== 0) return false;
  const month = at.getUTCMonth() + 1;
  const date = at.getUTCDate();
  if (monthDays === undefined && weekdays === undefined) {
    return date === first.getUTCDate() &&
      (months ?? [first.getUTCMonth() + 1]).includes(month);
  }
  const last = new Date(Date.UTC(at.getUTCFullYear(), month, 0)).getUTCDate();
  const nth = (from: number, by: number): number => {
    let count = 0;
    for (let other = from; other !== date + by; other += by) {
      if ((other - date) % 7 === 0) count++;
    }
    return count * by;
  };
  return (months?.includes(month) ?? true) &&
    (monthDays?.some((one) => one === date || last + 1 + one === date) ??
      true) &&
    (weekdays?.some((one) =>
      one.weekday === weekday &&
      [0, nth(1, 1), nth(last, -1)].includes(one.nth)
    ) ?? true);
}

function drawRule(random: SeededRandom): string {
  const some = (item: () => string): string =>
    [item(), ...random.list(3, item)].join();
  const weekday = (): string => random.pick(WEEKDAYS);
  const month = (): string => `${1 + random.below(12)}`;
  const monthDay = (): string =>
    `${random.pick(["", "-"])}${1 + random.below(31)}`;
  const nth = (): string => random.pick(["", "1", "+2", "5", "-1", "-5"]);
  const parts = random.chance(0.4)
    ? ["FREQ=WEEKLY", random.pick(["", `BYDAY=${some(weekday)}`])]
    : ["FREQ=YEARLY"].concat(random.pick([
      [],
      [`BYMONTH=${some(month)}`],
      [`BYMONTHDAY=${some(monthDay)}`],
      [`BYMONTH=${some(month)}`, `BYMONTHDAY=${some(monthDay)}`],
      [`BYMONTH=${some(month)}`, `BYDAY=${some(() => nth() + weekday())}`],
      [
        `BYMONTH=${some(month)}`,
        `BYMONTHDAY=${some(monthDay)}`,
        `BYDAY=${some(weekday)}`,
      ],
    ]));
  const more = [
    random.chance(0.4) ? `INTERVAL=${1 + random.below(4)}` : "",
    random.chance(0.3) ? `COUNT=${1 + random.below(20)}` : "",
    random.chance(0.3) ? `WKST=${weekday()}` : "",
  ];
  return [...parts, ...more].filter((part) => part !== "").join(";");
}
