import { assert, assertEquals } from "@std/assert";
import { eachRound } from "../../../tests/support/rounds.ts";
import { DAY_MS } from "../../shared/duration.ts";
import { CronExpression } from "./cron_expression.ts";
import { closedDays, Closures, joinSpans } from "./closed_times.ts";
import {
  countOccurrences,
  type Grid,
  lastOccurrence,
  occurrenceAfter,
  type Timing,
} from "./schedule.ts";
import { CLOCK_CHANGES, drawCron } from "./testing/drawn_cron.ts";
import { readClock } from "./testing/cron_oracle.ts";

const MINUTE_MS = 60_000;
const at = (text: string): number => Date.parse(text);
const day = (date: string): number => at(date) / DAY_MS;

Deno.test("joinSpans() orders spans, joins what touches and drops what is empty", () => {
  const pairs = [[8, 9], [1, 3], [3, 4], [2, 3], [6, 6], [7, 6], [9, 12]];
  assertEquals(joinSpans(pairs.map(([a = 0, b = 0]) => [a, b])), [1, 4, 8, 12]);
  assertEquals(joinSpans([]), []);
});

Deno.test("Closures knows the instants of a closed day in the zone", () => {
  const closed = { ...closedDays([day("2027-12-25")]), calendar: "holidays" };
  const closures = new Closures([closed], "America/New_York");
  const startMs = at("2027-12-25T05:00:00Z");
  const span = { calendar: "holidays", startMs, endMs: startMs + DAY_MS };
  assertEquals(closures.at(startMs), span);
  assertEquals(closures.at(startMs + DAY_MS - 1), span);
  assertEquals(closures.at(startMs - 1), undefined);
  assertEquals(closures.at(startMs + DAY_MS), undefined);
});

Deno.test("Closures closes what a clock that is set back shows of a day again", () => {
  // At 00:01 on 7 November 2010 the clock went back to 23:01.
  const closures = new Closures(
    [closedDays([day("2010-11-06")])],
    "America/St_Johns",
  );
  const changeMs = at("2010-11-07T02:31:00Z");
  assert(closures.at(changeMs - 2 * MINUTE_MS) !== undefined);
  assertEquals(closures.at(changeMs - 1), undefined);
  assertEquals(closures.at(changeMs)?.startMs, changeMs);
  const every = {
    kind: "cron",
    cron: new CronExpression("* * * * *"),
  } as const;
  const grid = { anchorMs: 0, timezone: "America/St_Johns" };
  const span = { afterMs: changeMs - 1, throughMs: changeMs + 3_600_000 - 1 };
  const count = closures.countOpen(
    span,
    (span) => countOccurrences(every, span, grid),
  );
  assertEquals(count, 1);
});

Deno.test("a schedule with closed times ends when all its slots are closed", () => {
  const closed = [{ walls: [0, at("3001-01-01")], instants: [] }];
  const timing = {
    kind: "cron",
    cron: new CronExpression("@daily"),
    closed,
  } as const;
  const grid = { anchorMs: 0, timezone: "UTC" };
  assertEquals(occurrenceAfter(timing, at("2027-01-01"), grid), undefined);
  const span = { afterMs: at("2027-01-01"), throughMs: at("2028-01-01") };
  assertEquals(lastOccurrence(timing, span, grid), undefined);
  assertEquals(countOccurrences(timing, span, grid), 0);
});

Deno.test("occurrences with closed times are those that a plain walk finds open", async () => {
  await eachRound({ rounds: 30 }, ({ random }) => {
    const [timezone, date] = random.pick(CLOCK_CHANGES);
    const fromMs = at(date) - 3 * DAY_MS;
    const clock = readClock(
      { fromMs, throughMs: fromMs + 6 * DAY_MS },
      timezone,
    );
    const closedAt = random.list(5, () => {
      const startMs = fromMs + random.below(6 * 24 * 60) * MINUTE_MS;
      return [startMs, startMs + random.below(2_000) * MINUTE_MS] as const;
    });
    const days = random.list(3, () => at(date) / DAY_MS + random.below(5) - 2);
    const lists = [
      closedDays(days),
      random.chance(0.5)
        ? { walls: joinSpans(closedAt), instants: [] }
        : { walls: [], instants: joinSpans(closedAt) },
    ];
    const plain: Timing = random.chance(0.7)
      ? { kind: "cron", cron: new CronExpression(drawCron(random).text) }
      : {
        kind: "interval",
        every: { months: 0, days: random.below(2), ms: 7 * MINUTE_MS },
      };
    const grid: Grid = { anchorMs: fromMs, timezone };
    const wallAt = new Map(clock.map(({ atMs, wallMs }) => [atMs, wallMs]));
    const isClosed = (atMs: number): boolean =>
      lists.some(({ walls, instants }) =>
        isIn(walls, wallAt.get(atMs) ?? NaN) || isIn(instants, atMs)
      );
    const span = {
      afterMs: fromMs + random.below(2_000) * MINUTE_MS,
      throughMs: fromMs + 6 * DAY_MS - random.below(2_000) * MINUTE_MS,
    };
    const expected: number[] = [];
    let atMs = occurrenceAfter(plain, span.afterMs, grid);
    while (atMs !== undefined && atMs <= span.throughMs) {
      if (!isClosed(atMs)) expected.push(atMs);
      atMs = occurrenceAfter(plain, atMs, grid);
    }
    const timing: Timing = { ...plain, closed: lists };
    const found: number[] = [];
    atMs = occurrenceAfter(timing, span.afterMs, grid);
    while (atMs !== undefined && atMs <= span.throughMs) {
      found.push(atMs);
      atMs = occurrenceAfter(timing, atMs, grid);
    }
    assertEquals(found, expected);
    assertEquals(countOccurrences(timing, span, grid), expected.length);
    assertEquals(lastOccurrence(timing, span, grid), expected.at(-1));
  });
});

function isIn(spans: readonly number[], timeMs: number): boolean {
  return spans.some((startMs, index) =>
    index % 2 === 0 && startMs <= timeMs && timeMs < (spans[index + 1] ?? 0)
  );
}
