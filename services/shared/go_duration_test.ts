import { assertEquals, assertStrictEquals } from "@std/assert";
import { SeededRandom } from "../../tests/support/seeded_random.ts";
import { parseGoDuration } from "./go_duration.ts";

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

Deno.test("parseGoDuration() reads what Go reads", () => {
  const cases: readonly (readonly [string, number])[] = [
    ["0", 0],
    ["-0", 0],
    ["+0", 0],
    ["5s", 5 * SECOND],
    ["+5s", 5 * SECOND],
    ["-5s", -5 * SECOND],
    ["30s", 30 * SECOND],
    ["1478s", 1478 * SECOND],
    ["5.0s", 5 * SECOND],
    ["5.6s", 5600],
    ["5.s", 5 * SECOND],
    [".5s", 500],
    ["1.004s", 1004],
    ["1.00400s", 1004],
    ["100.00100s", 100_001],
    ["10ns", 0.00001],
    ["11us", 0.011],
    ["12\u00b5s", 0.012],
    ["12\u03bcs", 0.012],
    ["13ms", 13],
    ["300ms", 300],
    ["-1.5h", -1.5 * HOUR],
    ["2h45m", 2 * HOUR + 45 * MINUTE],
    ["3h30m", 3 * HOUR + 30 * MINUTE],
    ["10.5s4m", 4 * MINUTE + 10_500],
    ["-2m3.4s", -(2 * MINUTE + 3400)],
    ["1h2m3s4ms5us6ns", HOUR + 2 * MINUTE + 3 * SECOND + 4.005006],
    ["39h9m14.425s", 39 * HOUR + 9 * MINUTE + 14_425],
    ["9007199254740993ns", 9007199254.740993],
    ["9223372036854775.807us", 9223372036854.775807],
    ["0.3333333333333333333h", 20 * MINUTE],
    ["0.100000000000000000000h", 6 * MINUTE],
    ["0.9223372036854775807h", 3320413.933267],
    ["000000000000000000000001s", SECOND],
    ["9223372036s", 9223372036 * SECOND],
    ["-9223372036854775808ns", -9223372036854.775808],
  ];
  for (const [text, ms] of cases) {
    assertStrictEquals(parseGoDuration(text), ms, text);
  }
});

Deno.test("parseGoDuration() refuses what Go refuses", () => {
  const bad = [
    "",
    "3",
    "-",
    "+",
    "s",
    ".",
    "-.",
    ".s",
    "+.s",
    "1d",
    "1S",
    "1 s",
    " 1s",
    "1s ",
    "1h 2m",
    "--1s",
    "1.2.3s",
    "1s5",
    "00",
    "0x1s",
    "1e3s",
    "\u0665s",
    "NaNs",
    "\x85\x85",
    "9223372036854775808ns",
    "9223372036854775.808us",
    "9223372036854ms775us808ns",
    "-9223372036854775809ns",
    "9223372037s",
    "99999999999999999999999999h",
    "3000000h",
  ];
  for (const text of bad) assertEquals(parseGoDuration(text), undefined, text);
});

Deno.test("parseGoDuration() reads a very long text in a short time", () => {
  assertEquals(parseGoDuration("1".repeat(200_000)), undefined);
  assertEquals(parseGoDuration("1".repeat(200_000) + "s"), undefined);
  assertEquals(parseGoDuration("0." + "1".repeat(200_000) + "s"), 111.111111);
});

Deno.test("parseGoDuration() gives back what was written in hours, minutes and nanoseconds", () => {
  const source = new SeededRandom(20261121);
  const random = (): number => source.next();
  for (let round = 0; round < 20_000; round++) {
    const bits = 1 + Math.floor(random() * 51);
    const ns = Math.floor(random() * 2 ** bits) * (random() < 0.5 ? -1 : 1);
    const ms = ns === 0 ? 0 : ns / 1e6;
    const size = Math.abs(ns);
    const text = (ns < 0 ? "-" : "") + `${Math.floor(size / 3.6e12)}h` +
      `${Math.floor(size % 3.6e12 / 6e10)}m${size % 6e10}ns`;
    assertStrictEquals(parseGoDuration(text), ms, text);
  }
});

/** Mulberry32. */
