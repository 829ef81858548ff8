import { assertEquals } from "@std/assert";
import { SeededRandom } from "../../../tests/support/seeded_random.ts";
import { countCron } from "./cron_count.ts";
import { CronExpression } from "./cron_expression.ts";
import { cronAfter } from "./cron_schedule.ts";
import { DAY_MS } from "./duration.ts";
import { CLOCK_CHANGES, drawCron } from "./testing/drawn_cron.ts";

function countByWalking(
  cron: CronExpression,
  span: { readonly afterMs: number; readonly throughMs: number },
  timezone: string,
): number {
  let count = 0;
  let atMs = cronAfter(cron, span.afterMs, timezone);
  while (atMs !== undefined && atMs <= span.throughMs) {
    count++;
    atMs = cronAfter(cron, atMs, timezone);
  }
  return count;
}

Deno.test("countCron() counts behind the beginning and through the end", () => {
  const cron = new CronExpression("0 12 * * *");
  const noon = Date.parse("2026-06-01T12:00Z");
  const cases: readonly [number, number, number][] = [
    [noon - 1, noon, 1],
    [noon, noon, 0],
    [noon, noon + DAY_MS - 1, 0],
    [noon, noon + DAY_MS, 1],
    [noon - 1, noon + 9 * DAY_MS, 10],
    [noon, noon - DAY_MS, 0],
  ];
  for (const [afterMs, throughMs, count] of cases) {
    assertEquals(countCron(cron, { afterMs, throughMs }, "UTC"), count);
  }
});

Deno.test("countCron() leaves out what fired on the first pass", () => {
  const zone = "Europe/Stockholm";
  const fixed = new CronExpression("15,30,45 2,3 * * *");
  const throughMs = Date.parse("2026-10-25T03:30+01:00");
  const cases: readonly [string, number][] = [
    ["2026-10-25T01:59+02:00", 5],
    ["2026-10-25T02:30+02:00", 3],
    ["2026-10-25T02:59+02:00", 2],
    ["2026-10-25T02:00+01:00", 2],
    ["2026-10-25T02:20+01:00", 2],
    ["2026-10-25T03:20+01:00", 1],
  ];
  for (const [after, count] of cases) {
    const span = { afterMs: Date.parse(after), throughMs };
    assertEquals(countCron(fixed, span, zone), count, after);
  }
});

Deno.test("countCron() counts every second of a year at once", () => {
  const span = {
    afterMs: Date.parse("2026-01-01T00:00Z") - 1,
    throughMs: Date.parse("2027-01-01T00:00Z") - 1,
  };
  const every = new CronExpression("* * * * * *");
  assertEquals(countCron(every, span, "Europe/Stockholm"), 365 * 86_400);
  const odd = new CronExpression("5,10 */15 9 L * *");
  assertEquals(countCron(odd, span, "Europe/Stockholm"), 12 * 8);
});

Deno.test("countCron() agrees with walking through clock changes", () => {
  const random = new SeededRandom(21);
  for (const [timezone, day] of CLOCK_CHANGES) {
    const noonMs = Date.parse(`${day}T12:00Z`);
    for (let round = 0; round < 15; round++) {
      const { text } = drawCron(random);
      const cron = new CronExpression(text);
      const afterMs = noonMs - random.below(36 * 60) * 60_000 -
        random.below(2);
      const throughMs = afterMs + random.below(72 * 60) * 60_000;
      assertEquals(
        countCron(cron, { afterMs, throughMs }, timezone),
        countByWalking(cron, { afterMs, throughMs }, timezone),
        `${text} ${timezone} ${new Date(afterMs).toISOString()} ` +
          new Date(throughMs).toISOString(),
      );
    }
  }
});

Deno.test("countCron() agrees with walking for rare days and long spans", () => {
  const random = new SeededRandom(22);
  const texts = [
    "30 2 L * *",
    "0 0 29 2 *",
    "15 30 1,2 * * MON#2",
    "30 2 * * SUN",
    "0 3 1 */3 *",
  ];
  for (let round = 0; round < 60; round++) {
    const cron = new CronExpression(random.pick(texts));
    const [timezone] = random.pick(CLOCK_CHANGES);
    const afterMs = Date.parse("2020-01-01T00:00Z") +
      random.below(2_000) * DAY_MS + random.below(DAY_MS);
    const throughMs = afterMs + random.below(3 * 365) * DAY_MS;
    assertEquals(
      countCron(cron, { afterMs, throughMs }, timezone),
      countByWalking(cron, { afterMs, throughMs }, timezone),
      `${cron.text} ${timezone} ${afterMs} ${throughMs}`,
    );
  }
});

Deno.test("countCron() agrees with walking for days of any kind", () => {
  const random = new SeededRandom(23);
  const days = ["15W * *", "LW * *", "1,L */2 *", "13 * FRI", "* * 5L"];
  for (let round = 0; round < 40; round++) {
    const time = random.pick(["*/20 1-3", "30 2", "0,59 */11"]);
    const cron = new CronExpression(`${time} ${random.pick(days)}`);
    const [timezone] = random.pick(CLOCK_CHANGES);
    const afterMs = Date.parse("2020-01-01T00:00Z") +
      random.below(2_000) * DAY_MS + random.below(DAY_MS);
    const throughMs = afterMs + random.below(DAY_MS * 300);
    assertEquals(
      countCron(cron, { afterMs, throughMs }, timezone),
      countByWalking(cron, { afterMs, throughMs }, timezone),
      `${cron.text} ${timezone} ${afterMs} ${throughMs}`,
    );
  }
});

Deno.test("countCron() counts all of a span, however long", () => {
  const cron = new CronExpression("0 0 * * *");
  for (const year of ["2026", "2399", "3001", "9999"]) {
    const throughMs = Date.parse(`${year}-06-01T00:00Z`);
    const span = { afterMs: 0, throughMs };
    assertEquals(countCron(cron, span, "UTC"), throughMs / DAY_MS);
    assertEquals(
      countCron(cron, { afterMs: -1, throughMs }, "Europe/Berlin"),
      throughMs / DAY_MS,
    );
  }
});

Deno.test("countCron() searches for no occurrence, which takes a thousand times as long", () => {
  const cron = new CronExpression("30 2 1-30 * *");
  const { nextWall } = cron;
  let searches = 0;
  cron.nextWall = (wallMs) => {
    searches++;
    return nextWall.call(cron, wallMs);
  };
  const span = { afterMs: 0, throughMs: Date.parse("2026-11-22T00:00Z") };
  countCron(cron, span, "Europe/Berlin");
  assertEquals(searches, 0);
});
