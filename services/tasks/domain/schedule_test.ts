import { assert, assertEquals, assertStringIncludes, fail } from "@std/assert";
import { SeededRandom } from "../../../tests/support/seeded_random.ts";
import type { Grid } from "./interval_schedule.ts";
import { drawCron } from "./testing/drawn_cron.ts";
import {
  countOccurrences,
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
  assertEquals(timing({ interval: 60, cron: null }).kind, "interval");
  const daily = timing({ cron: "@daily" });
  assert(daily.kind === "cron");
  assertEquals(daily.cron.text, "@daily");
});

Deno.test("parseTiming() tells what is wrong, and where", () => {
  const cases: readonly [TimingInput, string | undefined, string, string][] = [
    [{}, undefined, "invalid", "neither"],
    [{ interval: null }, undefined, "invalid", "neither"],
    [{ interval: 5, cron: "@daily" }, undefined, "invalid", "both"],
    [{ interval: "1h" }, "interval", "invalid", "Cannot read duration"],
    [{ interval: "PT0S" }, "interval", "invalid", "has no length"],
    [{ interval: 0.0001 }, "interval", "invalid", "has no length"],
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
