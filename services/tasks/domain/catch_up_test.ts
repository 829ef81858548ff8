import { assert, assertEquals } from "@std/assert";
import { assertGrowth } from "../../../tests/support/growth.ts";
import { SeededRandom } from "../../../tests/support/seeded_random.ts";
import { type CatchUp, catchUp } from "./catch_up.ts";
import { nextOccurrence, parseTiming, type Schedule } from "./schedule.ts";
import { drawCron } from "./testing/drawn_cron.ts";

type TimingInput = Parameters<typeof parseTiming>[0];
type CatchUpOptions = Parameters<typeof catchUp>[1];

const DAY_MS = 86_400_000;

function schedule(
  input: TimingInput,
  bounds: Partial<Schedule> = {},
): Schedule {
  const outcome = parseTiming(input, { timezone: "UTC", afterMs: 0 });
  if (outcome.kind === "invalid") throw new Error(outcome.reason);
  return { timing: outcome.timing, ...bounds };
}

const HOURLY = schedule({ interval: "PT1H" });

/** A time of the 5th of May; another day may precede it. */
function at(text: string): number {
  return Date.parse(`2026-05-${text.includes("T") ? text : `05T${text}`}Z`);
}

function brief({ runs, nextMs, missed }: CatchUp): unknown {
  const write = (atMs: number): string =>
    new Date(atMs).toISOString().slice(8, 16);
  return {
    runs: runs.map(write),
    next: nextMs === undefined ? undefined : write(nextMs),
    missed,
  };
}

function ask(
  options: Partial<CatchUpOptions> & Pick<CatchUpOptions, "mode" | "nowMs">,
  of: Schedule = HOURLY,
): unknown {
  return brief(catchUp(of, {
    scheduledMs: at("10:00"),
    windowMs: DAY_MS,
    limit: 100,
    anchorMs: at("00:00"),
    timezone: "UTC",
    ...options,
  }));
}

Deno.test("catchUp() goes on with the next slot when none has passed", () => {
  const expected = { runs: [], next: "05T11:00", missed: 0 };
  for (const mode of ["one", "all", "none"] as const) {
    assertEquals(ask({ mode, nowMs: at("10:00") }), expected);
    assertEquals(ask({ mode, nowMs: at("10:59") }), expected);
    // The run was started by hand, before its slot.
    assertEquals(ask({ mode, nowMs: at("07:00") }), expected);
  }
});

Deno.test("catchUp() in the mode one runs once and misses what it passes over", () => {
  assertEquals(ask({ mode: "one", nowMs: at("11:05") }), {
    runs: ["05T11:00"],
    next: "05T12:00",
    missed: 0,
  });
  assertEquals(ask({ mode: "one", nowMs: at("15:30") }), {
    runs: ["05T15:00"],
    next: "05T16:00",
    missed: 4,
  });
  // A slot of this very instant is due, not in the future.
  assertEquals(ask({ mode: "one", nowMs: at("15:00") }), {
    runs: ["05T15:00"],
    next: "05T16:00",
    missed: 4,
  });
});

Deno.test("catchUp() in the mode none goes on with the first slot ahead", () => {
  assertEquals(ask({ mode: "none", nowMs: at("15:30") }), {
    runs: [],
    next: "05T16:00",
    missed: 5,
  });
});

Deno.test("catchUp() in the mode none runs a slot that is on time", () => {
  const nowMs = at("15:00") + 40;
  const graceMs = 1_000;
  assertEquals(ask({ mode: "none", nowMs, graceMs }), {
    runs: ["05T15:00"],
    next: "05T16:00",
    missed: 4,
  });
  assertEquals(ask({ mode: "none", nowMs: at("15:00") + 1_001, graceMs }), {
    runs: [],
    next: "05T16:00",
    missed: 5,
  });
});

Deno.test("catchUp() in the mode all runs each slot within the window", () => {
  assertEquals(ask({ mode: "all", nowMs: at("13:30") }), {
    runs: ["05T11:00", "05T12:00", "05T13:00"],
    next: "05T14:00",
    missed: 0,
  });
  // A slot at the edge of the window still counts.
  assertEquals(
    ask({ mode: "all", nowMs: at("15:00"), windowMs: 2 * 3_600_000 }),
    {
      runs: ["05T13:00", "05T14:00", "05T15:00"],
      next: "05T16:00",
      missed: 2,
    },
  );
  assertEquals(ask({ mode: "all", nowMs: at("15:30"), windowMs: 60_000 }), {
    runs: [],
    next: "05T16:00",
    missed: 5,
  });
});

Deno.test("catchUp() in the mode all hands out as many as asked for and keeps the rest", () => {
  assertEquals(ask({ mode: "all", nowMs: at("15:30"), limit: 2 }), {
    runs: ["05T11:00", "05T12:00"],
    next: "05T13:00",
    missed: 0,
  });
  assertEquals(
    ask({
      mode: "all",
      nowMs: at("15:30"),
      limit: 2,
      scheduledMs: at("12:00"),
    }),
    { runs: ["05T13:00", "05T14:00"], next: "05T15:00", missed: 0 },
  );
});

Deno.test("catchUp() takes a slot that is still to be run into account", () => {
  const pending = { isPending: true };
  assertEquals(ask({ ...pending, mode: "one", nowMs: at("10:00") }), {
    runs: ["05T10:00"],
    next: "05T11:00",
    missed: 0,
  });
  assertEquals(ask({ ...pending, mode: "one", nowMs: at("15:30") }), {
    runs: ["05T15:00"],
    next: "05T16:00",
    missed: 5,
  });
  assertEquals(ask({ ...pending, mode: "all", nowMs: at("11:30") }), {
    runs: ["05T10:00", "05T11:00"],
    next: "05T12:00",
    missed: 0,
  });
  assertEquals(ask({ ...pending, mode: "none", nowMs: at("11:30") }), {
    runs: [],
    next: "05T12:00",
    missed: 2,
  });
  assertEquals(ask({ ...pending, mode: "all", nowMs: at("09:00") }), {
    runs: [],
    next: "05T10:00",
    missed: 0,
  });
  // The slot need not be on the grid: its owner may have moved it.
  assertEquals(
    ask({
      ...pending,
      mode: "one",
      scheduledMs: at("10:20"),
      nowMs: at("10:30"),
    }),
    { runs: ["05T10:20"], next: "05T11:00", missed: 0 },
  );
});

Deno.test("catchUp() obeys the schedule's limit, which counts runs alone", () => {
  const limited = schedule({ interval: "PT1H" }, { limit: 4 });
  assertEquals(ask({ mode: "all", nowMs: at("15:30"), runs: 2 }, limited), {
    runs: ["05T11:00", "05T12:00", "05T13:00"],
    next: undefined,
    missed: 0,
  });
  assertEquals(ask({ mode: "one", nowMs: at("15:30"), runs: 4 }, limited), {
    runs: ["05T15:00"],
    next: undefined,
    missed: 4,
  });
  assertEquals(ask({ mode: "none", nowMs: at("15:30"), runs: 4 }, limited), {
    runs: [],
    next: "05T16:00",
    missed: 5,
  });
  for (const mode of ["one", "all", "none"] as const) {
    assertEquals(ask({ mode, nowMs: at("15:30"), runs: 5 }, limited), {
      runs: [],
      next: undefined,
      missed: 0,
    });
  }
});

Deno.test("catchUp() obeys the schedule's end", () => {
  const ending = schedule({ interval: "PT1H" }, { untilMs: at("12:00") });
  assertEquals(ask({ mode: "one", nowMs: at("15:30") }, ending), {
    runs: ["05T12:00"],
    next: undefined,
    missed: 1,
  });
  assertEquals(ask({ mode: "all", nowMs: at("15:30") }, ending), {
    runs: ["05T11:00", "05T12:00"],
    next: undefined,
    missed: 0,
  });
  assertEquals(ask({ mode: "none", nowMs: at("15:30") }, ending), {
    runs: [],
    next: undefined,
    missed: 2,
  });
});

Deno.test("catchUp() does not walk over the occurrences of years of downtime", async () => {
  const pairs: readonly (readonly [few: TimingInput, many: TimingInput])[] = [
    [{ interval: "P1D" }, { interval: "PT1S" }],
    [{ interval: "P1D" }, { interval: "PT0.001S" }],
    [{ cron: "0 0 * * *" }, { cron: "* * * * * *" }],
    [{ cron: "0 0 * * *" }, { cron: "0,30 * 1,2,3 * * *" }],
  ];
  const scheduledMs = Date.parse("2000-01-01T00:00Z");
  const nowMs = Date.parse("2026-05-05T12:00Z");
  for (const [few, many] of pairs) {
    for (const mode of ["one", "all", "none"] as const) {
      const after = (input: TimingInput) => {
        const of = schedule(input);
        return () => {
          const { runs, nextMs = 0, missed } = catchUp(of, {
            scheduledMs,
            nowMs,
            mode,
            windowMs: 30 * DAY_MS,
            limit: 50,
            anchorMs: scheduledMs,
            timezone: "Europe/Stockholm",
          });
          assert(runs.length <= 50 && missed > 1_000);
          assert(mode === "all" || nextMs > nowMs);
        };
      };
      // There are 360 times as many occurrences at least.
      await assertGrowth({
        small: after(few),
        large: after(many),
        atMost: 100,
        runs: 5,
      });
    }
  }
});

Deno.test("catchUp() accounts for every slot once", () => {
  const random = new SeededRandom(41);
  for (let round = 0; round < 120; round++) {
    const anchorMs = Date.parse("2026-10-20T00:00Z") +
      random.below(10) * 3_600_000;
    const of = schedule(
      random.chance(0.5)
        ? { interval: random.pick(["PT20M", "PT1H", "P1D"]) }
        : { cron: drawCron(random).text },
    );
    const frame = { anchorMs, timezone: "Europe/Stockholm" };
    const scheduledMs =
      nextOccurrence(of, { ...frame, afterMs: anchorMs + 1 }) ?? 0;
    const nowMs = scheduledMs + random.below(7 * 24 * 60) * 60_000;
    const slots: number[] = [];
    let slot = nextOccurrence(of, { ...frame, afterMs: scheduledMs });
    while (slot !== undefined && slot <= nowMs) {
      slots.push(slot);
      slot = nextOccurrence(of, { ...frame, afterMs: slot });
    }
    const options = {
      ...frame,
      scheduledMs,
      nowMs,
      windowMs: random.below(8 * 24) * 3_600_000,
    };
    const context = JSON.stringify({ of, options });
    for (const mode of ["one", "none"] as const) {
      const { runs, nextMs, missed } = catchUp(of, {
        ...options,
        mode,
        limit: 10,
      });
      assertEquals(runs.length + missed, slots.length, context);
      assertEquals(nextMs, slot, context);
    }
    // Taken a few at a time, "all" hands out each slot of the window once.
    const handed: number[] = [];
    let from = scheduledMs;
    let passedOver = 0;
    for (let calls = 0; calls < 1_000; calls++) {
      const { runs, nextMs, missed } = catchUp(of, {
        ...options,
        scheduledMs: from,
        mode: "all",
        limit: 1 + random.below(40),
      });
      handed.push(...runs);
      passedOver += missed;
      from = runs.at(-1) ?? from;
      if (runs.length === 0 || (nextMs ?? Infinity) > nowMs) {
        assertEquals(nextMs, slot, context);
        break;
      }
      assertEquals(nextMs, slots[passedOver + handed.length], context);
    }
    const wanted = slots.filter((atMs) => atMs >= nowMs - options.windowMs);
    assertEquals(handed, wanted, context);
    assertEquals(passedOver, slots.length - wanted.length, context);
  }
});

Deno.test("catchUp() looks for no slot of before there was the schedule, but for a pending one", () => {
  const asked = { nowMs: at("15:30"), sinceMs: at("13:30") };
  assertEquals(ask({ ...asked, mode: "all" }), {
    runs: ["05T14:00", "05T15:00"],
    next: "05T16:00",
    missed: 0,
  });
  assertEquals(ask({ ...asked, mode: "all", isPending: true }), {
    runs: ["05T10:00", "05T14:00", "05T15:00"],
    next: "05T16:00",
    missed: 0,
  });
  assertEquals(ask({ ...asked, mode: "one", isPending: true }), {
    runs: ["05T15:00"],
    next: "05T16:00",
    missed: 2,
  });
  const late = { ...asked, sinceMs: at("15:30"), isPending: true };
  assertEquals(ask({ ...late, mode: "none" }), {
    runs: [],
    next: "05T16:00",
    missed: 1,
  });
});
