import { assertEquals, assertStringIncludes, fail } from "@std/assert";
import {
  DAY_MS,
  type Duration,
  DURATION_FORMS,
  exactMs,
  formatDuration,
  nominalMs,
  parseDuration,
} from "./duration.ts";
import { SeededRandom } from "../../tests/support/seeded_random.ts";

function duration(parts: Partial<Duration>): Duration {
  return { months: 0, days: 0, ms: 0, ...parts };
}

Deno.test("formatDuration() writes the one form that equal durations share", () => {
  const cases: readonly [Partial<Duration>, string][] = [
    [{}, "PT0S"],
    [{ ms: 30_000 }, "PT30S"],
    [{ ms: 1 }, "PT0.001S"],
    [{ ms: 61_250 }, "PT1M1.25S"],
    [{ ms: 129_600_000 }, "PT36H"],
    [{ ms: 3_600_000 + 5_000 }, "PT1H5S"],
    [{ days: 14 }, "P14D"],
    [{ months: 1, days: 2, ms: 4_205_000 }, "P1M2DT1H10M5S"],
    [{ months: 12 }, "P1Y"],
    [{ months: 14 }, "P1Y2M"],
    [{ months: 1_200 }, "P100Y"],
  ];
  for (const [parts, text] of cases) {
    assertEquals(formatDuration(duration(parts)), text);
  }
});

Deno.test("nominalMs() gives months their average length", () => {
  assertEquals(nominalMs(duration({ months: 4_800 })), 146_097 * DAY_MS);
  assertEquals(nominalMs(duration({ days: 2, ms: 7 })), 2 * DAY_MS + 7);
});

function read(input: unknown): Duration {
  const outcome = parseDuration(input);
  if (outcome.kind === "ok") return outcome.duration;
  fail(outcome.reason);
}

function getReason(input: unknown): string {
  const outcome = parseDuration(input);
  if (outcome.kind === "invalid") return outcome.reason;
  fail(
    `${JSON.stringify(input)} was read as ${formatDuration(outcome.duration)}`,
  );
}

Deno.test("parseDuration() draws the line at a hundred years", () => {
  read({ months: 1_200 });
  read({ days: 36_524 });
  for (
    const input of [{ months: 1_200, milliseconds: 1 }, { days: 36_525 }]
  ) {
    assertStringIncludes(getReason(input), "longer than 100 years");
  }
  assertEquals(parseDuration({ milliseconds: NaN }).kind, "invalid");
});

Deno.test("parseDuration() reads ISO 8601 text", () => {
  const cases: readonly [string, string][] = [
    ["PT30S", "PT30S"],
    ["P1M2DT1H10M5S", "P1M2DT1H10M5S"],
    ["pt1h", "PT1H"],
    ["P2W", "P14D"],
    ["P1W1D", "P8D"],
    ["P1Y6M", "P1Y6M"],
    ["P18M", "P1Y6M"],
    ["P1.5Y", "P1Y6M"],
    ["P0.5D", "PT12H"],
    ["P1.5W", "P10DT12H"],
    ["PT0,5S", "PT0.5S"],
    ["PT1.5H", "PT1H30M"],
    ["PT90M", "PT1H30M"],
    ["PT36H", "PT36H"],
    ["PT0.0004S", "PT0S"],
    ["PT0S", "PT0S"],
    ["P0D", "PT0S"],
    ["P100Y", "P100Y"],
  ];
  for (const [text, canonical] of cases) {
    assertEquals(formatDuration(read(text)), canonical, text);
  }
});

Deno.test("parseDuration() reads objects with plural and singular units", () => {
  const cases: readonly [object, string][] = [
    [{ hours: 1, seconds: 5 }, "PT1H5S"],
    [{ hour: 1, second: 5 }, "PT1H5S"],
    [{ month: 1, day: 2, hour: 1, minute: 10, seconds: 5 }, "P1M2DT1H10M5S"],
    [{ years: 1, weeks: 1 }, "P1Y7D"],
    [{ milliseconds: 250 }, "PT0.25S"],
    [{ hours: 1, minutes: 0.5 }, "PT1H30S"],
    [{ days: 0 }, "PT0S"],
  ];
  for (const [object, canonical] of cases) {
    assertEquals(formatDuration(read(object)), canonical);
  }
});

Deno.test("parseDuration() reads text with short units", () => {
  const cases: readonly [string, string][] = [
    ["5m", "PT5M"],
    ["1500ms", "PT1.5S"],
    ["1h30m", "PT1H30M"],
    ["90s", "PT1M30S"],
    ["1.5h", "PT1H30M"],
    ["10.5s4m", "PT4M10.5S"],
    ["400us", "PT0S"],
    ["1d", "P1D"],
    ["2w", "P14D"],
    ["1w2d3h4m5s6ms", "P9DT3H4M5.006S"],
    ["0.5d", "PT12H"],
    ["0s", "PT0S"],
  ];
  for (const [text, canonical] of cases) {
    assertEquals(formatDuration(read(text)), canonical, text);
  }
});

Deno.test("parseDuration() refuses a number and says how to write it with a unit", () => {
  for (
    const [input, reason] of [
      [
        5000,
        `Cannot read duration 5000: a number has no unit; for 5000 milliseconds ` +
        `write "5000ms", for 5000 seconds "5000s"; further forms are`,
      ],
      [-1, "Cannot read duration -1: a number has no unit; forms are"],
      ["5000", `Cannot read duration "5000": it has no unit; forms are`],
      ["0", `Cannot read duration "0": it has no unit; forms are`],
      ["1.5", `Cannot read duration "1.5": it has no unit; forms are`],
      ["1h30", `Cannot read duration "1h30": it has no form`],
    ] as const
  ) {
    assertStringIncludes(getReason(input), reason);
    assertStringIncludes(getReason(input), DURATION_FORMS);
  }
});

Deno.test("exactMs() gives days 24 hours and months no length", () => {
  assertEquals(exactMs(duration({ days: 2, ms: 7 })), 2 * DAY_MS + 7);
  assertEquals(exactMs(duration({ months: 1 })), undefined);
});

Deno.test("parseDuration() tells what is wrong", () => {
  const cases: readonly [unknown, string][] = [
    ["", `"": it has no form`],
    ["P", "it has no unit"],
    ["PT", "it has no form"],
    ["P1DT", "it has no form"],
    ["5M", "it has no form"],
    ["5m ", "it has no form"],
    ["1d 2h", "it has no form"],
    ["1d2w", "it has no form"],
    ["1d+2h", "it has no form"],
    ["1mo", "it has no form"],
    ["1.5d2h", "only its smallest unit may have a fraction"],
    ["-5m", "it is negative"],
    ["292y", "it has no form"],
    ["900000h", "longer than 100 years"],
    ["9999999999h", "it has no form"],
    ["P1S", "it has no form"],
    ["PT1D", "it has no form"],
    ["P1D2M", "it has no form"],
    ["P1M1M", "it has no form"],
    [" PT1S", "it has no form"],
    ["PT1S\n", "it has no form"],
    ["P0001-02-03T04:05:06", "it has no form"],
    ["PT1e3S", "it has no form"],
    ["PT.5S", "it has no form"],
    ["+P1D", "it has no form"],
    ["-P1D", "it is negative"],
    ["P-1D", "it is negative"],
    ["PT1H-5M", "it is negative"],
    ["PT1.5H5M", "only its smallest unit may have a fraction"],
    ["P1.5M", "a fraction of a month has no length"],
    ["P0.1Y", "not a whole number of months"],
    ["P101Y", "longer than 100 years"],
    ["PT999999999999999999999999S", "longer than 100 years"],
    [`PT${"9".repeat(400)}S`, "more than 100 characters"],
    [`PT${"9".repeat(98)}S`, "more than 100 characters"],
    [`PT${"9".repeat(97)}S`, "longer than 100 years"],
    [NaN, "a number has no unit"],
    [{ seconds: NaN }, "not finite"],
    [{ seconds: 4e9 }, "longer than 100 years"],
    [{}, "it has no unit"],
    [{ hours: -1 }, "it is negative"],
    [{ hours: "1" }, '"hours" is not a number'],
    [{ hours: null }, '"hours" is not a number'],
    [{ hour: 1, hours: 1 }, `"hours" is given twice`],
    [{ hourz: 1 }, `did you mean "hours"?`],
    [{ fortnight: 1 }, "the units are years"],
    [{ hours: 1.5, minutes: 1 }, "only its smallest unit"],
    [JSON.parse(`{"__proto__": 1}`), '"__proto__" is not a unit'],
    [{ constructor: 1 }, '"constructor" is not a unit'],
    [["PT1S"], "neither text"],
    [null, "neither text"],
    [undefined, "neither text"],
    [true, "neither text"],
  ];
  for (const [input, part] of cases) {
    const reason = getReason(input);
    assertStringIncludes(reason, part);
    assertStringIncludes(reason, "Cannot read duration");
  }
});

Deno.test("parseDuration() and formatDuration() undo each other", () => {
  const random = new SeededRandom(1);
  for (let round = 0; round < 2_000; round++) {
    const duration: Duration = {
      months: random.chance(0.5) ? random.below(600) : 0,
      days: random.chance(0.5) ? random.below(10_000) : 0,
      ms: random.chance(0.7) ? random.below(10 ** random.below(12)) : 0,
    };
    assertEquals(read(formatDuration(duration)), duration);
  }
});

Deno.test("parseDuration() reads text and object alike", () => {
  const random = new SeededRandom(2);
  for (let round = 0; round < 500; round++) {
    const [months, days, hours, minutes, seconds] = Array.from(
      { length: 5 },
      () => random.below(100),
    );
    assertEquals(
      read(`P${months}M${days}DT${hours}H${minutes}M${seconds}S`),
      read({ months, days, hours, minutes, seconds }),
    );
  }
});

Deno.test("parseDuration() answers any text with a value", () => {
  const random = new SeededRandom(3);
  const letters = [..."PTYMWDHS0123456789.,-+ exwdhms"];
  for (let round = 0; round < 3_000; round++) {
    const text = random.pick(["P", ""]) +
      random.list(12, () => random.pick(letters)).join("");
    const outcome = parseDuration(text);
    if (outcome.kind === "invalid") continue;
    const { months, days, ms } = outcome.duration;
    for (const part of [months, days, ms]) {
      assertEquals(Number.isInteger(part) && part >= 0, true, text);
    }
  }
});
