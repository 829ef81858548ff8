import { assert, assertEquals } from "@std/assert";
import { Cron } from "croner";
import { eachRound } from "../../../tests/support/rounds.ts";
import { SeededRandom } from "../../../tests/support/seeded_random.ts";
import { CronExpression } from "./cron_expression.ts";
import { cronAfter, isGapEnd, isOverlapOnce } from "./cron_schedule.ts";
import { CLOCK_CHANGES, drawCron } from "./testing/drawn_cron.ts";
import { readClock, slowOccurrences } from "./testing/cron_oracle.ts";

interface Case {
  readonly cron: string;
  readonly zone: string;
  readonly after: string;
  readonly then: readonly string[];
}

const CASES: readonly Case[] = [
  // Fixed time in a gap: the first instant behind it, then as ever.
  {
    cron: "30 2 * * *",
    zone: "Europe/Stockholm",
    after: "2026-03-28T12:00+01:00",
    then: ["2026-03-29T03:00+02:00", "2026-03-30T02:30+02:00"],
  },
  // Fixed time shown twice: the first pass.
  {
    cron: "30 2 * * *",
    zone: "Europe/Stockholm",
    after: "2026-10-24T12:00+02:00",
    then: ["2026-10-25T02:30+02:00", "2026-10-26T02:30+01:00"],
  },
  // Asked between the passes, and within the second one.
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
  // Two hours at Troll, both ways.
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
      // Asked anywhere in between, the answer is the same.
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
