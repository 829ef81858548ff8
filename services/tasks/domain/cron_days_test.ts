import { assertEquals } from "@std/assert";
import { Cron, CronPattern } from "croner";
import { SeededRandom } from "../../../tests/support/seeded_random.ts";
import { CronDays } from "./cron_days.ts";
import { DAY_MS } from "../../shared/duration.ts";

/**
 * One year of each kind: with and without a leap day, by the weekday of its
 * first day.
 */
const YEARS = Array.from({ length: 28 }, (_, index) => 2001 + index);

function createDays(fields: string): CronDays {
  return new CronDays(new CronPattern(`0 0 ${fields}`));
}

function day(date: string): number {
  return Date.parse(date) / DAY_MS;
}

/** The matching days of a year, found by the cron library's own search. */
function foundDays(fields: string, year: number): readonly number[] {
  const cron = new Cron(`0 0 ${fields}`, { utcOffset: 0 });
  const found: number[] = [];
  let date = cron.nextRun(new Date(Date.UTC(year, 0) - 1));
  while (date !== null && date.getUTCFullYear() === year) {
    found.push(date.getTime() / DAY_MS);
    date = cron.nextRun(date);
  }
  return found;
}

function drawFields(random: SeededRandom): string {
  const date = random.pick([
    "*",
    "1-31",
    "L",
    "LW",
    "15W",
    "1W,31W",
    "13,L",
    "*/3",
    `${1 + random.below(31)}`,
    `${1 + random.below(31)},${1 + random.below(31)}`,
  ]);
  const month = random.pick(["*", "*", "2", "1-3", "*/5", "JUN,SEP"]);
  const weekday = random.pick([
    "*",
    "*",
    "MON",
    "1-5",
    "0,7",
    "5L",
    "5#L",
    "FRI#2",
    "1#5",
    "+1-3",
    "+MON#1",
    "SUN,3L",
  ]);
  return `${date} ${month} ${weekday}`;
}

Deno.test("CronDays matches the very days on which the expression fires", () => {
  const random = new SeededRandom(41);
  for (let round = 0; round < 150; round++) {
    const fields = drawFields(random);
    const year = random.pick(YEARS);
    const days = createDays(fields);
    const matching: number[] = [];
    const toDay = day(`${year + 1}-01-01`);
    for (let one = day(`${year}-01-01`); one < toDay; one++) {
      if (days.has(one)) matching.push(one);
    }
    assertEquals(matching, foundDays(fields, year), `${fields} in ${year}`);
  }
});

Deno.test("CronDays counts from any day to any other, and finds the first and the last", () => {
  const random = new SeededRandom(42);
  for (let round = 0; round < 100; round++) {
    const days = createDays(drawFields(random));
    const fromDay = random.below(20_000) - 400;
    const toDay = fromDay + random.below(400);
    const matching: number[] = [];
    for (let one = fromDay; one < toDay; one++) {
      if (days.has(one)) matching.push(one);
    }
    const span = { fromDay, toDay };
    assertEquals(days.count(span), matching.length);
    assertEquals(days.first(span), matching[0]);
    assertEquals(days.last(span), matching.at(-1));
  }
  const none = { fromDay: 9, toDay: 3 };
  const every = createDays("* * *");
  assertEquals([every.count(none), every.first(none), every.last(none)], [
    0,
    undefined,
    undefined,
  ]);
});
