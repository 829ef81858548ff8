import { assert, assertEquals, assertStringIncludes, fail } from "@std/assert";
import { SeededRandom } from "../../../tests/support/seeded_random.ts";
import { type Duration, parseDuration } from "../../shared/duration.ts";
import { drawCron } from "./testing/drawn_cron.ts";
import {
  countOccurrences,
  type Grid,
  intervalAfter,
  intervalOccurrence,
  lastOccurrence,
  nextOccurrence,
  occurrenceAfter,
  parseTiming,
  runsLeft,
  type Schedule,
  shortestSpacingMs,
  type Timing,
} from "./schedule.ts";
import { MAX_INSTANT_MS } from "./instant.ts";
import { CronExpression } from "./cron_expression.ts";

type TimingInput = Parameters<typeof parseTiming>[0];

const NOW_MS = Date.parse("2026-01-01T00:00Z");

function timing(input: TimingInput, timezone = "UTC"): Timing {
  const outcome = parseTiming(input, { timezone, afterMs: NOW_MS });
  if (outcome.kind === "ok") return outcome.timing;
  fail(outcome.reason);
}

Deno.test("parseTiming() takes an interval or a cron expression", () => {
  assertEquals(timing({ interval: "P1M" }), {
    kind: "interval",
    every: { months: 1, days: 0, ms: 0 },
  });
  assertEquals(timing({ interval: "60s", cron: null }).kind, "interval");
  const daily = timing({ cron: "@daily" });
  assert(daily.kind === "cron");
  assertEquals(daily.cron.text, "@daily");
});

Deno.test("parseTiming() tells what is wrong, and where", () => {
  const cases: readonly [TimingInput, string | undefined, string, string][] = [
    [{}, undefined, "invalid", "neither"],
    [{ interval: null }, undefined, "invalid", "neither"],
    [{ interval: "5s", cron: "@daily" }, undefined, "invalid", "both"],
    [{ interval: 60 }, "interval", "invalid", "Cannot read duration"],
    [{ interval: "PT0S" }, "interval", "invalid", "is empty"],
    [{ interval: "0.0001s" }, "interval", "invalid", "is empty"],
    [{ cron: "* * *" }, "cron", "bad_cron", "3 fields"],
    [{ cron: "0 0 30 2 *" }, "cron", "never_fires", "no day of any year"],
    [
      { cron: "*/10 2 * 3 SUN#2" },
      "cron",
      "never_fires",
      `the clocks of "America/New_York" skip every time`,
    ],
  ];
  for (const [input, field, code, part] of cases) {
    const outcome = parseTiming(input, {
      timezone: "America/New_York",
      afterMs: NOW_MS,
    });
    if (outcome.kind === "ok") fail(`${JSON.stringify(input)} was taken`);
    assertEquals([outcome.field, outcome.code], [field, code]);
    assertStringIncludes(outcome.reason, part);
  }
});

Deno.test("occurrenceAfter() begins at the anchor and ends with the year 9999", () => {
  const grid: Grid = {
    anchorMs: Date.parse("2026-05-05T12:30Z"),
    timezone: "UTC",
  };
  const daily = timing({ cron: "30 12 * * *" });
  assertEquals(occurrenceAfter(daily, 0, grid), grid.anchorMs);
  assertEquals(
    occurrenceAfter(timing({ cron: "0 12 * * *" }), 0, grid),
    Date.parse("2026-05-06T12:00Z"),
  );
  const yearly = timing({ interval: "P1Y" });
  assertEquals(occurrenceAfter(yearly, 0, grid), grid.anchorMs);
  assertEquals(
    occurrenceAfter(yearly, MAX_INSTANT_MS - 40_000_000_000, grid),
    Date.parse("9999-05-05T12:30Z"),
  );
  assertEquals(
    occurrenceAfter(yearly, Date.parse("9999-05-05T12:30Z"), grid),
    undefined,
  );
  assertEquals(occurrenceAfter(yearly, 8.64e15, grid), undefined);
  assertEquals(occurrenceAfter(daily, 8.64e15, grid), undefined);
});

Deno.test("lastOccurrence() and countOccurrences() agree with walking", () => {
  const random = new SeededRandom(31);
  const intervals = ["PT45M", "PT1H", "P1D", "P1W", "P1DT1H"];
  for (let round = 0; round < 300; round++) {
    const timezone = random.pick([
      "UTC",
      "Europe/Stockholm",
      "Australia/Lord_Howe",
      "America/Havana",
    ]);
    const drawn = random.chance(0.5)
      ? timing({ interval: random.pick(intervals) })
      : timing({ cron: drawCron(random).text }, timezone);
    const anchorMs = NOW_MS + random.below(300) * 3_600_000;
    const grid: Grid = { anchorMs, timezone };
    const afterMs = NOW_MS + random.below(7_000) * 3_600_000 - 1;
    const throughMs = afterMs + random.below(4 * 24 * 60) * 60_000;
    let count = 0;
    let lastMs: number | undefined;
    let atMs = occurrenceAfter(drawn, afterMs, grid);
    while (atMs !== undefined && atMs <= throughMs) {
      count++;
      lastMs = atMs;
      atMs = occurrenceAfter(drawn, atMs, grid);
    }
    const span = { afterMs, throughMs };
    const context = JSON.stringify({ drawn, grid, span });
    assertEquals(countOccurrences(drawn, span, grid), count, context);
    assertEquals(lastOccurrence(drawn, span, grid), lastMs, context);
  }
});

Deno.test("lastOccurrence() reaches over years of a busy schedule", () => {
  const grid: Grid = { anchorMs: 0, timezone: "Europe/Stockholm" };
  const nowMs = Date.parse("2026-06-01T12:00:00.500Z");
  const span = { afterMs: 0, throughMs: nowMs };
  const cases: readonly [TimingInput, string][] = [
    [{ cron: "* * * * * *" }, "2026-06-01T12:00:00Z"],
    [{ cron: "* * 9 1 1 *" }, "2026-01-01T08:59:59Z"],
    [{ interval: "PT0.001S" }, "2026-06-01T12:00:00.500Z"],
    [{ interval: "P1D" }, "2026-05-31T23:00:00Z"],
  ];
  for (const [input, expected] of cases) {
    assertEquals(
      lastOccurrence(timing(input), span, grid),
      Date.parse(expected),
      JSON.stringify(input),
    );
  }
});

const HOURLY: Schedule = {
  timing: { kind: "interval", every: { months: 0, days: 0, ms: 3_600_000 } },
};
const DAILY: Schedule = {
  timing: { kind: "cron", cron: new CronExpression("0 12 * * *") },
};
const GRID = { anchorMs: 0, timezone: "UTC" };
const HOUR_MS = 3_600_000;

Deno.test("nextOccurrence() looks strictly behind an instant", () => {
  assertEquals(nextOccurrence(HOURLY, { ...GRID, afterMs: -1 }), 0);
  assertEquals(nextOccurrence(HOURLY, { ...GRID, afterMs: 0 }), HOUR_MS);
  assertEquals(nextOccurrence(DAILY, { ...GRID, afterMs: 0 }), 12 * HOUR_MS);
  assertEquals(
    nextOccurrence(DAILY, { ...GRID, afterMs: 12 * HOUR_MS }),
    36 * HOUR_MS,
  );
});

Deno.test("nextOccurrence() ends with the schedule's end, which still counts", () => {
  const schedule = { ...HOURLY, untilMs: 2 * HOUR_MS };
  assertEquals(
    nextOccurrence(schedule, { ...GRID, afterMs: HOUR_MS }),
    2 * HOUR_MS,
  );
  assertEquals(
    nextOccurrence(schedule, { ...GRID, afterMs: 2 * HOUR_MS }),
    undefined,
  );
});

Deno.test("a limit of four allows five runs in all", () => {
  const schedule = { ...HOURLY, limit: 4 };
  let runs = 0;
  let atMs = nextOccurrence(schedule, { ...GRID, afterMs: -1, runs });
  while (atMs !== undefined) {
    runs++;
    atMs = nextOccurrence(schedule, { ...GRID, afterMs: atMs, runs });
  }
  assertEquals(runs, 5);
  assertEquals(runsLeft(schedule, { runs: 4 }), 1);
  assertEquals(runsLeft(schedule, {}), 5);
  assertEquals(runsLeft(HOURLY, { runs: 1_000 }), Infinity);
});

Deno.test("a limit of nought allows the first run alone", () => {
  const schedule = { ...HOURLY, limit: 0 };
  assertEquals(nextOccurrence(schedule, { ...GRID, afterMs: -1 }), 0);
  assertEquals(
    nextOccurrence(schedule, { ...GRID, afterMs: 0, runs: 1 }),
    undefined,
  );
});

Deno.test("shortestSpacingMs() finds how close occurrences come", () => {
  const cases: readonly [TimingInput, number][] = [
    [{ interval: "PT0.25S" }, 0.25],
    [{ interval: "PT90S" }, 90],
    [{ interval: "P1D" }, 86_400],
    [{ interval: "P1DT1S" }, 86_401],
    [{ interval: "P1M" }, 28 * 86_400],
    [{ cron: "* * * * * *" }, 1],
    [{ cron: "*/10 * * * * *" }, 10],
    [{ cron: "5,50 * * * * *" }, 15],
    [{ cron: "0,59 0 * * * *" }, 59],
    [{ cron: "0,59 * * * * *" }, 1],
    [{ cron: "* * * * *" }, 60],
    [{ cron: "*/7 * * * *" }, 4 * 60],
    [{ cron: "0,59 * * * *" }, 60],
    [{ cron: "0,59 12 * * *" }, 59 * 60],
    [{ cron: "0 * * * *" }, 3_600],
    [{ cron: "0 1,23 * * *" }, 2 * 3_600],
    [{ cron: "0 12 * * *" }, 86_400],
  ];
  for (const [input, seconds] of cases) {
    const outcome = parseTiming(input, { timezone: "UTC", afterMs: 0 });
    if (outcome.kind === "invalid") throw new Error(outcome.reason);
    assertEquals(
      shortestSpacingMs(outcome.timing),
      seconds * 1_000,
      JSON.stringify(input),
    );
  }
});

interface IntervalCase {
  readonly every: string;
  readonly anchor: string;
  readonly zone: string;
  /** The occurrences from index 1 on. */
  readonly then: readonly string[];
}

const INTERVAL_CASES: readonly IntervalCase[] = [
  {
    every: "P1M",
    anchor: "2026-01-31T10:00:00Z",
    zone: "UTC",
    then: [
      "2026-02-28T10:00:00Z",
      "2026-03-31T10:00:00Z",
      "2026-04-30T10:00:00Z",
      "2026-05-31T10:00:00Z",
    ],
  },
  {
    every: "P1Y",
    anchor: "2024-02-29T00:00:00Z",
    zone: "UTC",
    then: [
      "2025-02-28T00:00:00Z",
      "2026-02-28T00:00:00Z",
      "2027-02-28T00:00:00Z",
      "2028-02-29T00:00:00Z",
    ],
  },
  {
    // 02:30 is skipped on the 29th of March and comes back on the 30th.
    every: "P1D",
    anchor: "2026-03-28T02:30:00+01:00",
    zone: "Europe/Stockholm",
    then: ["2026-03-29T03:30:00+02:00", "2026-03-30T02:30:00+02:00"],
  },
  {
    // 02:30 comes twice on the 25th of October; the first is taken.
    every: "P1D",
    anchor: "2026-10-24T02:30:00+02:00",
    zone: "Europe/Stockholm",
    then: ["2026-10-25T02:30:00+02:00", "2026-10-26T02:30:00+01:00"],
  },
  {
    // The anchor itself is the second 02:30 and stays it.
    every: "P1D",
    anchor: "2026-10-25T02:30:00+01:00",
    zone: "Europe/Stockholm",
    then: ["2026-10-26T02:30:00+01:00"],
  },
  {
    // Elapsed time does not care for the clock.
    every: "PT24H",
    anchor: "2026-03-28T02:30:00+01:00",
    zone: "Europe/Stockholm",
    then: ["2026-03-29T03:30:00+02:00", "2026-03-30T03:30:00+02:00"],
  },
  {
    every: "P1W",
    anchor: "2026-10-30T12:00:00-04:00",
    zone: "America/New_York",
    then: ["2026-11-06T12:00:00-05:00"],
  },
  {
    // Half an hour of gap on Lord Howe.
    every: "P1D",
    anchor: "2026-10-03T02:15:00+10:30",
    zone: "Australia/Lord_Howe",
    then: ["2026-10-04T02:45:00+11:00", "2026-10-05T02:15:00+11:00"],
  },
  {
    // The 30th of December did not exist on Samoa: its slot meets the next one.
    every: "P1D",
    anchor: "2011-12-29T12:00:00-10:00",
    zone: "Pacific/Apia",
    then: ["2011-12-31T12:00:00+14:00", "2011-12-31T12:00:00+14:00"],
  },
  {
    // Calendar and elapsed parts are both counted from the anchor.
    every: "P1DT12H",
    anchor: "2026-01-01T00:00:00Z",
    zone: "UTC",
    then: ["2026-01-02T12:00:00Z", "2026-01-04T00:00:00Z"],
  },
];

function readDuration(text: string): Duration {
  const outcome = parseDuration(text);
  assert(outcome.kind === "ok");
  return outcome.duration;
}

Deno.test("intervalOccurrence() counts each occurrence from the anchor", () => {
  for (const { every, anchor, zone, then } of INTERVAL_CASES) {
    const grid = { anchorMs: Date.parse(anchor), timezone: zone };
    for (const [index, expected] of [anchor, ...then].entries()) {
      assertEquals(
        new Date(intervalOccurrence(readDuration(every), index, grid).atMs),
        new Date(expected),
        `${every} from ${anchor}, ${index}`,
      );
    }
  }
});

Deno.test("intervalOccurrence() says what is odd", () => {
  const month = readDuration("P1M");
  const utc: Grid = {
    anchorMs: Date.parse("2026-01-31T10:00:00Z"),
    timezone: "UTC",
  };
  const shorts = [0, 1, 2, 3].map((index) =>
    intervalOccurrence(month, index, utc).isMonthShort
  );
  assertEquals(shorts, [false, true, false, true]);
  const gap = intervalOccurrence(readDuration("P1D"), 1, {
    anchorMs: Date.parse("2026-03-28T02:30:00+01:00"),
    timezone: "Europe/Stockholm",
  });
  assertEquals([gap.isGapMoved, gap.isOverlap], [true, false]);
  const overlap = intervalOccurrence(readDuration("P1D"), 1, {
    anchorMs: Date.parse("2026-10-24T02:30:00+02:00"),
    timezone: "Europe/Stockholm",
  });
  assertEquals([overlap.isGapMoved, overlap.isOverlap], [false, true]);
});

Deno.test("intervalAfter() begins with the anchor", () => {
  const grid = { anchorMs: 1_000, timezone: "UTC" };
  const every = readDuration("PT10S");
  const cases: readonly [number, number][] = [
    [-1e12, 1_000],
    [999, 1_000],
    [1_000, 11_000],
    [10_999, 11_000],
    [11_000, 21_000],
  ];
  for (const [afterMs, atMs] of cases) {
    assertEquals(intervalAfter(every, afterMs, grid).atMs, atMs);
  }
});

const ZONES: readonly string[] = [
  "UTC",
  "Europe/Stockholm",
  "America/New_York",
  "America/Havana",
  "America/Nuuk",
  "Australia/Lord_Howe",
  "Pacific/Chatham",
  "Pacific/Apia",
  "Antarctica/Troll",
  "Africa/Casablanca",
  "Africa/Monrovia",
];

const INTERVALS: readonly string[] = [
  "PT0.001S",
  "PT1S",
  "PT7M",
  "PT25H",
  "P1D",
  "P2D",
  "P1W",
  "P1M",
  "P3M",
  "P1Y",
  "P1DT1S",
  "P1M1DT1H",
  "P100Y",
];

Deno.test("intervalAfter() finds the first later occurrence wherever it starts", () => {
  const random = new SeededRandom(7);
  for (let round = 0; round < 3_000; round++) {
    const every = readDuration(random.pick(INTERVALS));
    const grid = {
      anchorMs: random.below(2e12),
      timezone: random.pick(ZONES),
    };
    const afterMs = random.chance(0.2)
      ? intervalOccurrence(every, random.below(400), grid).atMs
      : random.below(2e14 / 10 ** random.below(4));
    const found = intervalAfter(every, afterMs, grid);
    const context = `${JSON.stringify({ every, grid, afterMs, found })}`;
    assert(found.atMs > afterMs, context);
    if (found.index > 0) {
      const before = intervalOccurrence(every, found.index - 1, grid);
      assert(before.atMs <= afterMs, context);
    }
  }
});

Deno.test("intervalAfter() agrees with Temporal's own addition", () => {
  const random = new SeededRandom(8);
  for (let round = 0; round < 1_000; round++) {
    const text = random.pick(INTERVALS.slice(3));
    const timezone = random.pick(ZONES);
    const anchorMs = random.below(2e12);
    const index = 1 + random.below(50);
    const { years, months, weeks, days, hours, minutes, seconds } = Temporal
      .Duration.from(text);
    const expected = Temporal.Instant.fromEpochMilliseconds(anchorMs)
      .toZonedDateTimeISO(timezone)
      .add({
        years: years * index,
        months: months * index,
        weeks: weeks * index,
        days: days * index,
        hours: hours * index,
        minutes: minutes * index,
        seconds: seconds * index,
      });
    assertEquals(
      intervalOccurrence(readDuration(text), index, { anchorMs, timezone })
        .atMs,
      expected.epochMilliseconds,
      `${text} ${timezone} ${anchorMs} ${index}`,
    );
  }
});
