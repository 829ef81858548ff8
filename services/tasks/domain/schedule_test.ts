import { assertEquals } from "@std/assert";
import { CronExpression } from "./cron_expression.ts";
import { nextOccurrence, runsLeft, type Schedule } from "./schedule.ts";

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
