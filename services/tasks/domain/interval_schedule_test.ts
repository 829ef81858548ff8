import { assert, assertEquals } from "@std/assert";
import { SeededRandom } from "../../../tests/support/seeded_random.ts";
import { type Duration, parseDuration } from "./duration.ts";
import {
  type Grid,
  intervalAfter,
  intervalOccurrence,
} from "./interval_schedule.ts";

interface Case {
  readonly every: string;
  readonly anchor: string;
  readonly zone: string;
  /** The occurrences from index 1 on. */
  readonly then: readonly string[];
}

const CASES: readonly Case[] = [
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

function parse(text: string): Duration {
  const outcome = parseDuration(text);
  assert(outcome.kind === "ok");
  return outcome.duration;
}

Deno.test("intervalOccurrence() counts each occurrence from the anchor", () => {
  for (const { every, anchor, zone, then } of CASES) {
    const grid = { anchorMs: Date.parse(anchor), timezone: zone };
    for (const [index, expected] of [anchor, ...then].entries()) {
      assertEquals(
        new Date(intervalOccurrence(parse(every), index, grid).atMs),
        new Date(expected),
        `${every} from ${anchor}, ${index}`,
      );
    }
  }
});

Deno.test("intervalOccurrence() says what is odd", () => {
  const month = parse("P1M");
  const utc: Grid = {
    anchorMs: Date.parse("2026-01-31T10:00:00Z"),
    timezone: "UTC",
  };
  const shorts = [0, 1, 2, 3].map((index) =>
    intervalOccurrence(month, index, utc).isMonthShort
  );
  assertEquals(shorts, [false, true, false, true]);
  const gap = intervalOccurrence(parse("P1D"), 1, {
    anchorMs: Date.parse("2026-03-28T02:30:00+01:00"),
    timezone: "Europe/Stockholm",
  });
  assertEquals([gap.isGapMoved, gap.isOverlap], [true, false]);
  const overlap = intervalOccurrence(parse("P1D"), 1, {
    anchorMs: Date.parse("2026-10-24T02:30:00+02:00"),
    timezone: "Europe/Stockholm",
  });
  assertEquals([overlap.isGapMoved, overlap.isOverlap], [false, true]);
});

Deno.test("intervalAfter() begins with the anchor", () => {
  const grid = { anchorMs: 1_000, timezone: "UTC" };
  const every = parse("PT10S");
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
    const every = parse(random.pick(INTERVALS));
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
      intervalOccurrence(parse(text), index, { anchorMs, timezone }).atMs,
      expected.epochMilliseconds,
      `${text} ${timezone} ${anchorMs} ${index}`,
    );
  }
});
