import { assert, assertEquals } from "@std/assert";
import { Cron } from "croner";
import { eachRound } from "../../../tests/support/rounds.ts";
import { SeededRandom } from "../../../tests/support/seeded_random.ts";
import { CronExpression } from "./cron_expression.ts";
import {
  countCron,
  cronAfter,
  isGapEnd,
  isOverlapOnce,
  lastCron,
} from "./cron_schedule.ts";
import { CLOCK_CHANGES, drawCron } from "./testing/drawn_cron.ts";
import { readClock, slowOccurrences } from "./testing/cron_oracle.ts";
import { DAY_MS } from "../../shared/duration.ts";

interface Case {
  readonly cron: string;
  readonly zone: string;
  readonly after: string;
  readonly then: readonly string[];
}

const CASES: readonly Case[] = [
  // A fixed time in a gap: the first instant after it, then as usual.
  {
    cron: "30 2 * * *",
    zone: "Europe/Stockholm",
    after: "2026-03-28T12:00+01:00",
    then: ["2026-03-29T03:00+02:00", "2026-03-30T02:30+02:00"],
  },
  // A fixed time shown twice fires on the first pass only.
  {
    cron: "30 2 * * *",
    zone: "Europe/Stockholm",
    after: "2026-10-24T12:00+02:00",
    then: ["2026-10-25T02:30+02:00", "2026-10-26T02:30+01:00"],
  },
  // The search begins between the two passes, and within the second one.
  {
    cron: "30 2 * * *",
    zone: "Europe/Stockholm",
    after: "2026-10-25T02:10+01:00",
    then: ["2026-10-26T02:30+01:00"],
  },
  {
    cron: "30 2 * * *",
    zone: "Europe/Stockholm",
    after: "2026-10-25T02:45+02:00",
    then: ["2026-10-26T02:30+01:00"],
  },
  // An hour of times that have all fired on the first pass.
  {
    cron: "0-59 0-59 2 * * *",
    zone: "Europe/Stockholm",
    after: "2026-10-25T02:00:30+01:00",
    then: ["2026-10-26T02:00+01:00"],
  },
  // Several times of one gap, and one at its end, fire once.
  {
    cron: "0,20,40 2,3 * * *",
    zone: "Europe/Stockholm",
    after: "2026-03-29T01:59+01:00",
    then: [
      "2026-03-29T03:00+02:00",
      "2026-03-29T03:20+02:00",
      "2026-03-29T03:40+02:00",
    ],
  },
  // A list that straddles the overlap.
  {
    cron: "30 1,2,3 * * *",
    zone: "Europe/Stockholm",
    after: "2026-10-25T00:00+02:00",
    then: [
      "2026-10-25T01:30+02:00",
      "2026-10-25T02:30+02:00",
      "2026-10-25T03:30+01:00",
    ],
  },
  // Intervals: skipped times are not made up for, repeated ones fire twice.
  {
    cron: "*/30 * * * *",
    zone: "Europe/Stockholm",
    after: "2026-03-29T01:00+01:00",
    then: [
      "2026-03-29T01:30+01:00",
      "2026-03-29T03:00+02:00",
      "2026-03-29T03:30+02:00",
    ],
  },
  {
    cron: "*/30 2 * * *",
    zone: "Europe/Stockholm",
    after: "2026-03-28T02:15+01:00",
    then: ["2026-03-28T02:30+01:00", "2026-03-30T02:00+02:00"],
  },
  {
    cron: "*/30 2 * * *",
    zone: "Europe/Stockholm",
    after: "2026-10-24T12:00+02:00",
    then: [
      "2026-10-25T02:00+02:00",
      "2026-10-25T02:30+02:00",
      "2026-10-25T02:00+01:00",
      "2026-10-25T02:30+01:00",
      "2026-10-26T02:00+01:00",
    ],
  },
  // Half an hour on Lord Howe, both ways.
  {
    cron: "15 2 * * *",
    zone: "Australia/Lord_Howe",
    after: "2026-10-03T12:00+10:30",
    then: ["2026-10-04T02:30+11:00", "2026-10-05T02:15+11:00"],
  },
  {
    cron: "*/15 1 * * *",
    zone: "Australia/Lord_Howe",
    after: "2026-04-05T01:15+11:00",
    then: [
      "2026-04-05T01:30+11:00",
      "2026-04-05T01:45+11:00",
      "2026-04-05T01:30+10:30",
      "2026-04-05T01:45+10:30",
      "2026-04-06T01:00+10:30",
    ],
  },
  // A quarter to the hour on Chatham.
  {
    cron: "0 3 * * *",
    zone: "Pacific/Chatham",
    after: "2026-09-26T12:00+12:45",
    then: ["2026-09-27T03:45+13:45", "2026-09-28T03:00+13:45"],
  },
  // The clock changes by two hours at Troll, both ways.
  {
    cron: "30 1,2 * * *",
    zone: "Antarctica/Troll",
    after: "2026-03-28T12:00+00:00",
    then: ["2026-03-29T03:00+02:00", "2026-03-30T01:30+02:00"],
  },
  {
    cron: "30 1,2 * * *",
    zone: "Antarctica/Troll",
    after: "2026-10-24T12:00+02:00",
    then: [
      "2026-10-25T01:30+02:00",
      "2026-10-25T02:30+02:00",
      "2026-10-26T01:30+00:00",
    ],
  },
  // Midnight is skipped and repeated in Havana.
  {
    cron: "0 0 * * *",
    zone: "America/Havana",
    after: "2026-03-07T12:00-05:00",
    then: ["2026-03-08T01:00-04:00", "2026-03-09T00:00-04:00"],
  },
  {
    cron: "30 0 * * *",
    zone: "America/Havana",
    after: "2026-10-31T12:00-04:00",
    then: ["2026-11-01T00:30-04:00", "2026-11-02T00:30-05:00"],
  },
  // The gap ends at midnight in Nuuk: the run belongs to the day before.
  {
    cron: "30 23 * * *",
    zone: "America/Nuuk",
    after: "2026-03-28T12:00-02:00",
    then: ["2026-03-29T00:00-01:00", "2026-03-29T23:30-01:00"],
  },
  // A whole day is skipped on Samoa.
  {
    cron: "0 12 * * *",
    zone: "Pacific/Apia",
    after: "2011-12-29T12:00-10:00",
    then: ["2011-12-31T00:00+14:00", "2011-12-31T12:00+14:00"],
  },
  // Winter time is the exception in Dublin and in Casablanca.
  {
    cron: "30 1 * * *",
    zone: "Europe/Dublin",
    after: "2026-03-28T12:00+00:00",
    then: ["2026-03-29T02:00+01:00", "2026-03-30T01:30+01:00"],
  },
  {
    cron: "30 2 * * *",
    zone: "Africa/Casablanca",
    after: "2026-02-14T12:00+01:00",
    then: ["2026-02-15T02:30+01:00", "2026-02-16T02:30+00:00"],
  },
  // With seconds.
  {
    cron: "59 59 1 * * *",
    zone: "Europe/Stockholm",
    after: "2026-03-29T01:59:58+01:00",
    then: ["2026-03-29T01:59:59+01:00", "2026-03-30T01:59:59+02:00"],
  },
  // Years away, through many clock changes.
  {
    cron: "*/30 2 29 2 *",
    zone: "Europe/Stockholm",
    after: "2026-01-01T00:00Z",
    then: ["2028-02-29T02:00+01:00", "2028-02-29T02:30+01:00"],
  },
];

function occurrences(
  cron: CronExpression,
  afterMs: number,
  options: { readonly zone: string; readonly count: number },
): readonly number[] {
  const found: number[] = [];
  let atMs = cronAfter(cron, afterMs, options.zone);
  while (atMs !== undefined && found.length < options.count) {
    found.push(atMs);
    atMs = cronAfter(cron, atMs, options.zone);
  }
  return found;
}

function iso(instants: readonly number[]): readonly string[] {
  return instants.map((atMs) => new Date(atMs).toISOString());
}

Deno.test("cronAfter() follows its rule at clock changes", () => {
  for (const { cron, zone, after, then } of CASES) {
    const expected = then.map((text) => Date.parse(text));
    const found = occurrences(new CronExpression(cron), Date.parse(after), {
      zone,
      count: expected.length,
    });
    assertEquals(iso(found), iso(expected), `${cron} ${zone} ${after}`);
  }
});

Deno.test("cronAfter() ends where nothing matches any more", () => {
  const cron = new CronExpression("0 0 1 1 *");
  assertEquals(
    cronAfter(cron, Date.parse("3000-06-01T00:00Z"), "UTC"),
    undefined,
  );
  // Every time that matches is skipped, each year.
  const skipped = new CronExpression("*/10 2 * 3 SUN#2");
  const now = Date.parse("2026-01-01T00:00Z");
  assertEquals(cronAfter(skipped, now, "America/New_York"), undefined);
  assertEquals(
    cronAfter(skipped, now, "Europe/Stockholm"),
    Date.parse("2026-03-08T02:00+01:00"),
  );
});

Deno.test("isGapEnd() and isOverlapOnce() tell what happened to fixed times", () => {
  const zone = "Europe/Stockholm";
  const gapEnd = Date.parse("2026-03-29T03:00+02:00");
  const first = Date.parse("2026-10-25T02:30+02:00");
  const fixed = new CronExpression("30 2 * * *");
  const both = new CronExpression("0 2,3 * * *");
  const after = new CronExpression("0 3 * * *");
  const wild = new CronExpression("*/30 * * * *");
  assert(isGapEnd(fixed, gapEnd, zone));
  assert(isGapEnd(both, gapEnd, zone));
  assert(!isGapEnd(after, gapEnd, zone));
  assert(!isGapEnd(wild, gapEnd, zone));
  assert(!isGapEnd(fixed, first, zone));
  assert(isOverlapOnce(fixed, first, zone));
  assert(!isOverlapOnce(wild, first, zone));
  assert(!isOverlapOnce(fixed, Date.parse("2026-10-26T02:30+01:00"), zone));
});

Deno.test("cronAfter() agrees with looking at every minute", () => {
  const random = new SeededRandom(11);
  for (const [timezone, day] of CLOCK_CHANGES) {
    const noonMs = Date.parse(`${day}T12:00Z`);
    const fromMs = noonMs - 24 * 3_600_000;
    const throughMs = noonMs + 12 * 3_600_000;
    const clock = readClock({ fromMs, throughMs }, timezone);
    for (let round = 0; round < 12; round++) {
      const { text, hours, minutes } = drawCron(random);
      const cron = new CronExpression(text);
      const expected = slowOccurrences(
        { hours, minutes, isFixedTime: cron.isFixedTime },
        clock,
      );
      const found = occurrences(cron, fromMs - 1, {
        zone: timezone,
        count: expected.length,
      });
      assertEquals(iso(found), iso(expected), `${text} ${timezone}`);
      // A search from anywhere in between gives the same answer.
      const afterMs = fromMs + random.below(throughMs - fromMs - 60_000);
      const next = expected.find((atMs) => atMs > afterMs);
      if (next !== undefined) {
        assertEquals(cronAfter(cron, afterMs, timezone), next, text);
      }
    }
  }
});

Deno.test("cronAfter() agrees with the engine's own reading of zones", async () => {
  // The engine does not fire at the end of a gap that reaches another day.
  const zones = CLOCK_CHANGES.map(([timezone]) => timezone).filter((timezone) =>
    timezone !== "America/Nuuk" && timezone !== "Pacific/Apia"
  );
  await eachRound({ rounds: 80, seed: 12 }, ({ random }) => {
    const timezone = random.pick(zones);
    const { text } = drawCron(random);
    const afterMs = Date.parse("2026-01-01T00:00Z") +
      random.below(2 * 365 * 86_400) * 1_000;
    const theirs = new Cron(text, { timezone, fixedTimeRule: "no-wildcard" })
      .nextRun(new Date(afterMs));
    assertEquals(
      cronAfter(new CronExpression(text), afterMs, timezone),
      theirs?.getTime(),
      `${text} ${timezone} ${new Date(afterMs).toISOString()}`,
    );
  });
});

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

interface Walked {
  readonly afterMs: number;
  readonly throughMs: number;
}

function lastByWalking(
  cron: CronExpression,
  { afterMs, throughMs }: Walked,
  timezone: string,
): number | undefined {
  let lastMs: number | undefined;
  let atMs = cronAfter(cron, afterMs, timezone);
  while (atMs !== undefined && atMs <= throughMs) {
    lastMs = atMs;
    atMs = cronAfter(cron, atMs, timezone);
  }
  return lastMs;
}

function assertAgrees(text: string, span: Walked, timezone: string): void {
  const cron = new CronExpression(text);
  assertEquals(
    lastCron(cron, span, timezone),
    lastByWalking(cron, span, timezone),
    `${text} ${timezone} ${new Date(span.afterMs).toISOString()} ` +
      new Date(span.throughMs).toISOString(),
  );
}

Deno.test("lastCron() agrees with walking through clock changes", () => {
  const random = new SeededRandom(51);
  for (const [timezone, day] of CLOCK_CHANGES) {
    const noonMs = Date.parse(`${day}T12:00Z`);
    for (let round = 0; round < 25; round++) {
      const afterMs = noonMs - random.below(36 * 60) * 60_000 -
        random.below(2);
      const throughMs = afterMs + random.below(72 * 60) * 60_000;
      assertAgrees(drawCron(random).text, { afterMs, throughMs }, timezone);
    }
  }
});

Deno.test("lastCron() agrees with walking for rare days and long spans", () => {
  const random = new SeededRandom(52);
  const texts = [
    "30 2 L * *",
    "0 0 29 2 *",
    "15 30 1,2 * * MON#2",
    "30 2 15W 3,10 *",
    "*/20 2 25-31 3,10 SUN",
    "0 0 29 2 +MON",
  ];
  for (let round = 0; round < 80; round++) {
    const [timezone] = random.pick(CLOCK_CHANGES);
    const afterMs = Date.parse("2020-01-01T00:00Z") +
      random.below(2_000) * DAY_MS + random.below(DAY_MS);
    const throughMs = afterMs + random.below(3 * 365) * DAY_MS;
    assertAgrees(random.pick(texts), { afterMs, throughMs }, timezone);
  }
});

Deno.test("lastCron() searches for no occurrence, however long ago it was", () => {
  const cron = new CronExpression("0 0 29 2 +MON");
  cron.nextWall = () => {
    throw new Error("it searches");
  };
  const throughMs = Date.parse("2026-11-22T00:00Z");
  const lastMs = lastCron(cron, { afterMs: 0, throughMs }, "Europe/Berlin");
  assertEquals(lastMs, Date.parse("2016-02-29T00:00+01:00"));
  const span = { afterMs: lastMs ?? 0, throughMs };
  assertEquals(lastCron(cron, span, "Europe/Berlin"), undefined);
});
