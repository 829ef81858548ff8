import { assertEquals, assertStringIncludes, fail } from "@std/assert";
import {
  DAY_MS,
  type Duration,
  formatDuration,
  nominalMs,
  parseDuration,
} from "./duration.ts";
import { SeededRandom } from "../../../tests/support/seeded_random.ts";

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

function read(input: unknown, numberUnit?: "milliseconds"): Duration {
  const outcome = parseDuration(input, numberUnit);
  if (outcome.kind === "ok") return outcome.duration;
  fail(outcome.reason);
}

function reasonOf(input: unknown): string {
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
    assertStringIncludes(reasonOf(input), "longer than 100 years");
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

Deno.test("parseDuration() reads numbers as seconds, or as milliseconds when told", () => {
  assertEquals(read(30), { months: 0, days: 0, ms: 30_000 });
  assertEquals(read(0.25), { months: 0, days: 0, ms: 250 });
  assertEquals(read(0.1 + 0.2), { months: 0, days: 0, ms: 300 });
  assertEquals(read(0), { months: 0, days: 0, ms: 0 });
  assertEquals(read(5_000, "milliseconds").ms, 5_000);
  assertEquals(read("PT5S", "milliseconds").ms, 5_000);
});

Deno.test("parseDuration() tells what is wrong", () => {
  const cases: readonly [unknown, string][] = [
    ["", `"": it is not of the form`],
    ["P", "it has no unit"],
    ["PT", `nothing follows the "T"`],
    ["P1DT", `nothing follows the "T"`],
    ["30s", `thirty seconds are "PT30S"`],
    ["30", "it is not of the form"],
    ["P1S", "it is not of the form"],
    ["PT1D", "it is not of the form"],
    ["P1D2M", "it is not of the form"],
    ["P1M1M", "it is not of the form"],
    [" PT1S", "it is not of the form"],
    ["PT1S\n", "it is not of the form"],
    ["P0001-02-03T04:05:06", "it is not of the form"],
    ["PT1e3S", "it is not of the form"],
    ["PT.5S", "it is not of the form"],
    ["+P1D", "it is not of the form"],
    ["-P1D", "it is negative"],
    ["P-1D", "it is negative"],
    ["PT1H-5M", "it is negative"],
    ["PT1.5H5M", "only its smallest unit may have a fraction"],
    ["P1.5M", "a fraction of a month has no length"],
    ["P0.1Y", "no whole number of months"],
    ["P101Y", "longer than 100 years"],
    ["PT999999999999999999999999S", "longer than 100 years"],
    [`PT${"9".repeat(400)}S`, "more than 100 characters"],
    [`PT${"9".repeat(98)}S`, "more than 100 characters"],
    [`PT${"9".repeat(97)}S`, "longer than 100 years"],
    [-1, `"-1": it is negative`],
    [NaN, "not finite"],
    [Infinity, "not finite"],
    [4e9, "longer than 100 years"],
    [{}, "it has no unit"],
    [{ hours: -1 }, "it is negative"],
    [{ hours: "1" }, `"hours" is no number`],
    [{ hours: null }, `"hours" is no number`],
    [{ hour: 1, hours: 1 }, `"hours" is given twice`],
    [{ hourz: 1 }, `did you mean "hours"?`],
    [{ fortnight: 1 }, "the units are years"],
    [{ hours: 1.5, minutes: 1 }, "only its smallest unit"],
    [JSON.parse(`{"__proto__": 1}`), `"__proto__" is no unit`],
    [{ constructor: 1 }, `"constructor" is no unit`],
    [["PT1S"], "neither text"],
    [null, "neither text"],
    [undefined, "neither text"],
    [true, "neither text"],
  ];
  for (const [input, part] of cases) {
    const reason = reasonOf(input);
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
  const letters = [..."PTYMWDHS0123456789.,-+ ex"];
  for (let round = 0; round < 3_000; round++) {
    const text = "P" + random.list(12, () => random.pick(letters)).join("");
    const outcome = parseDuration(text);
    if (outcome.kind === "invalid") continue;
    const { months, days, ms } = outcome.duration;
    for (const part of [months, days, ms]) {
      assertEquals(Number.isInteger(part) && part >= 0, true, text);
    }
  }
});
