import { assertEquals } from "@std/assert";
import { MAX_PREVIEW, preview, type PreviewedOccurrence } from "./preview.ts";
import { parseTiming, type Schedule } from "./schedule.ts";

type TimingInput = Parameters<typeof parseTiming>[0];
type PreviewCatchUp = NonNullable<Parameters<typeof preview>[1]["catchUp"]>;

interface Asked {
  readonly from: string;
  readonly anchor?: string;
  readonly zone?: string;
  readonly count?: number;
  readonly catchUp?: PreviewCatchUp;
}

function schedule(
  input: TimingInput,
  bounds: Partial<Schedule> = {},
): Schedule {
  const outcome = parseTiming(input, { timezone: "UTC", afterMs: 0 });
  if (outcome.kind === "invalid") throw new Error(outcome.reason);
  return { timing: outcome.timing, ...bounds };
}

function ask(of: Schedule, asked: Asked): readonly PreviewedOccurrence[] {
  return preview(of, {
    fromMs: Date.parse(asked.from),
    anchorMs: Date.parse(asked.anchor ?? asked.from),
    timezone: asked.zone ?? "UTC",
    count: asked.count ?? 3,
    catchUp: asked.catchUp,
  });
}

function brief(found: readonly PreviewedOccurrence[]): readonly string[] {
  return found.map(({ local, offset, warnings }) =>
    [local + offset, ...warnings].join(" ")
  );
}

Deno.test("preview() shows local times, offsets and what is odd", () => {
  const stockholm = { zone: "Europe/Stockholm" };
  const cases: readonly [TimingInput, Asked, readonly string[]][] = [
    [
      { cron: "30 2 * * *" },
      { ...stockholm, from: "2026-03-28T00:00Z" },
      [
        "2026-03-28T02:30:00+01:00",
        "2026-03-29T03:00:00+02:00 gap_moved",
        "2026-03-30T02:30:00+02:00",
      ],
    ],
    [
      { cron: "30 2 * * *" },
      { ...stockholm, from: "2026-10-24T12:00Z", count: 2 },
      [
        "2026-10-25T02:30:00+02:00 overlap_once",
        "2026-10-26T02:30:00+01:00",
      ],
    ],
    [
      { cron: "*/30 2 * * *" },
      { ...stockholm, from: "2026-10-24T12:00Z", count: 4 },
      [
        "2026-10-25T02:00:00+02:00",
        "2026-10-25T02:30:00+02:00",
        "2026-10-25T02:00:00+01:00",
        "2026-10-25T02:30:00+01:00",
      ],
    ],
    [
      { interval: "P1M" },
      { from: "2026-01-31T10:00Z", count: 4 },
      [
        "2026-01-31T10:00:00+00:00",
        "2026-02-28T10:00:00+00:00 month_short",
        "2026-03-31T10:00:00+00:00",
        "2026-04-30T10:00:00+00:00 month_short",
      ],
    ],
    [
      { interval: "P1D" },
      { ...stockholm, from: "2026-03-28T01:30Z" },
      [
        "2026-03-28T02:30:00+01:00",
        "2026-03-29T03:30:00+02:00 gap_moved",
        "2026-03-30T02:30:00+02:00",
      ],
    ],
    [
      { interval: "P1M" },
      {
        zone: "Europe/Stockholm",
        anchor: "2026-08-25T00:30Z",
        from: "2026-10-01T00:00Z",
        count: 2,
      },
      [
        "2026-10-25T02:30:00+02:00 overlap_once",
        "2026-11-25T02:30:00+01:00",
      ],
    ],
    [
      { interval: "PT24H" },
      { ...stockholm, from: "2026-03-28T01:30Z", count: 2 },
      ["2026-03-28T02:30:00+01:00", "2026-03-29T03:30:00+02:00"],
    ],
  ];
  for (const [input, asked, expected] of cases) {
    assertEquals(brief(ask(schedule(input), asked)), expected);
  }
});

Deno.test("preview() begins with its first instant, not behind it", () => {
  const [first] = ask(schedule({ cron: "0 12 * * *" }), {
    from: "2026-05-05T12:00Z",
  });
  assertEquals(first?.atMs, Date.parse("2026-05-05T12:00Z"));
});

Deno.test("preview() ends with the schedule's bounds", () => {
  const from = "2026-05-05T12:00Z";
  const limited = schedule({ interval: "PT1H" }, { limit: 2 });
  assertEquals(ask(limited, { from, count: 9 }).length, 3);
  const anchor = (hours: number): string =>
    new Date(Date.parse(from) - hours * 3_600_000).toISOString();
  assertEquals(ask(limited, { from, count: 9, anchor: anchor(2) }).length, 1);
  assertEquals(ask(limited, { from, count: 9, anchor: anchor(3) }).length, 0);
  const untilMs = Date.parse("2026-05-05T13:00Z");
  const ending = schedule({ interval: "PT1H" }, { untilMs });
  assertEquals(ask(ending, { from, count: 9 }).length, 2);
});

Deno.test("preview() gives a bounded number of times", () => {
  const found = ask(schedule({ interval: "PT1H" }), {
    from: "2026-05-05T12:00Z",
    count: 1e9,
  });
  assertEquals(found.length, MAX_PREVIEW);
});

Deno.test("preview() tells which times that have passed are missed", () => {
  const from = "2026-05-05T12:00Z";
  const nowMs = Date.parse("2026-05-05T15:10Z");
  const timings = [{ interval: "PT1H" }, { cron: "0 * * * *" }];
  const missed = (
    rule: PreviewCatchUp["rule"],
    bounds: Partial<Schedule> = {},
  ) => {
    const [first, second] = timings.map((timing) =>
      ask(schedule(timing, bounds), {
        from,
        count: 6,
        catchUp: { nowMs, rule },
      }).map(({ local, warnings }) =>
        `${local.slice(11, 13)}${
          warnings.includes("missed_by_limit") ? "-" : "+"
        }`
      ).join(" ")
    );
    assertEquals(first, second);
    return first;
  };
  const hours = (count: number) => count * 3_600_000;
  const one = { catchUp: "one", catchUpWindowMs: 0 } as const;
  assertEquals(missed(one), "12- 13- 14- 15+ 16+ 17+");
  assertEquals(
    missed({ catchUp: "none", catchUpWindowMs: hours(9) }),
    "12- 13- 14- 15- 16+ 17+",
  );
  assertEquals(
    missed({ catchUp: "all", catchUpWindowMs: hours(2) }),
    "12- 13- 14+ 15+ 16+ 17+",
  );
  assertEquals(
    missed({ catchUp: "all", catchUpWindowMs: hours(9) }),
    "12+ 13+ 14+ 15+ 16+ 17+",
  );
  // Missed slots do not count against the limit.
  assertEquals(missed(one, { limit: 1 }), "12- 13- 14- 15+ 16+");
  const untilMs = Date.parse("2026-05-05T14:30Z");
  assertEquals(missed(one, { untilMs }), "12- 13- 14+");
  assertEquals(
    missed({ catchUp: "none", catchUpWindowMs: 0 }, { untilMs }),
    "12- 13- 14-",
  );
});

Deno.test("preview() misses no time that lies ahead", () => {
  const [first] = ask(schedule({ interval: "PT1H" }), {
    from: "2026-05-05T12:00Z",
    catchUp: {
      nowMs: Date.parse("2026-05-05T11:00Z"),
      rule: { catchUp: "none", catchUpWindowMs: 0 },
    },
  });
  assertEquals(first?.warnings, []);
});

Deno.test("preview() counts the runs before its first instant for the limit", () => {
  const limited = schedule({ interval: "PT1H" }, { limit: 4 });
  const anchor = "2026-05-05T12:00Z";
  const from = "2026-05-05T15:00Z";
  assertEquals(ask(limited, { anchor, from, count: 9 }).length, 2);
  const late = "2026-05-06T00:00Z";
  assertEquals(ask(limited, { anchor, from: late, count: 9 }), []);
  const catchUp = {
    nowMs: Date.parse("2026-05-05T14:30Z"),
    rule: { catchUp: "one", catchUpWindowMs: 0 },
  } as const;
  const found = ask(limited, { anchor, from, count: 9, catchUp });
  assertEquals(brief(found), [
    "2026-05-05T15:00:00+00:00",
    "2026-05-05T16:00:00+00:00",
    "2026-05-05T17:00:00+00:00",
    "2026-05-05T18:00:00+00:00",
  ]);
});

Deno.test("preview() counts the runs of centuries for the limit", () => {
  for (const timing of [{ cron: "0 0 * * *" }, { interval: "P1D" }]) {
    const limited = schedule(timing, { limit: 5_000 });
    const anchor = "2027-01-01T00:00Z";
    for (const from of ["2047-01-01T00:00Z", "2500-01-01T00:00Z"]) {
      assertEquals(ask(limited, { anchor, from, zone: "Europe/Berlin" }), []);
    }
    // Day 5,000 after the first.
    const last = "2040-09-09T00:00:00+00:00";
    const found = ask(limited, { anchor, from: last, count: 9 });
    assertEquals(brief(found), [last]);
  }
});
