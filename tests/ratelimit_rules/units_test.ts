import { assertEquals } from "@std/assert";
import { UNIT } from "../../proto/rate_limit_response.ts";
import { MemoryStore } from "../../services/ratelimit/counters/memory_store.ts";
import { DeciderBench } from "../support/decider_bench.ts";
import { formatCodes } from "./answers.ts";

const DAY = 86_400;

/**
 * For each unit: its name, its number in responses, and the length of its
 * window in seconds.
 */
const UNITS: readonly (readonly [string, number, number])[] = [
  ["second", UNIT.SECOND, 1],
  ["minute", UNIT.MINUTE, 60],
  ["hour", UNIT.HOUR, 3_600],
  ["day", UNIT.DAY, DAY],
  ["week", UNIT.WEEK, 7 * DAY],
  ["month", UNIT.MONTH, 30 * DAY],
  ["year", UNIT.YEAR, 365 * DAY],
];

function createBench(unit: string): DeciderBench {
  return new DeciderBench(
    `domain: d
descriptors:
  - {key: a, rate_limit: {unit: ${unit}, requests_per_unit: 1}}
`,
    { store: new MemoryStore() },
  );
}

for (const [unit, number, length] of UNITS) {
  Deno.test(`a ${unit} is a window of ${length} seconds since the Unix epoch`, () => {
    const bench = createBench(unit);
    const start = 1_000 * length;
    const at = (nowSeconds: number): unknown[] => {
      bench.nowSeconds = nowSeconds;
      const response = bench.ask([["a", "x"]]);
      const [status] = response.statuses;
      return [formatCodes(response), status!.durationUntilResetSeconds];
    };
    assertEquals(at(start), ["OK: OK", length]);
    assertEquals(at(start + length - 1), ["OVER: OVER", 1]);
    assertEquals(at(start + length), ["OK: OK", length]);
    const [status] = bench.ask([["a", "y"]]).statuses;
    assertEquals(status!.currentLimit, { requestsPerUnit: 1, unit: number });
  });
}

Deno.test("a unit may be written in any case", () => {
  for (const word of ["HOUR", "Hour", "hOuR"]) {
    const [status] = createBench(word).ask([["a", "x"]]).statuses;
    assertEquals(status!.currentLimit!.unit, UNIT.HOUR, word);
  }
});

Deno.test("weeks begin on Thursday, UTC", () => {
  const bench = createBench("week");
  bench.nowSeconds = Date.UTC(2026, 10, 18, 23, 59, 59) / 1_000; // a Wednesday
  const [last] = bench.ask([["a", "x"]]).statuses;
  assertEquals(last!.durationUntilResetSeconds, 1);
  bench.nowSeconds++;
  const [first] = bench.ask([["a", "x"]]).statuses;
  assertEquals(first!.durationUntilResetSeconds, 7 * DAY);
});

Deno.test("months and years don't follow the calendar", () => {
  for (const unit of ["month", "year"]) {
    const bench = createBench(unit);
    const newYear = Date.UTC(2026, 0, 1) / 1_000;
    bench.nowSeconds = newYear - 1;
    bench.ask([["a", "x"]]);
    bench.nowSeconds = newYear;
    assertEquals(formatCodes(bench.ask([["a", "x"]])), "OVER: OVER", unit);
  }
});

Deno.test("a limit that comes with the request takes every unit by its number", () => {
  const bench = createBench("hour");
  for (const [unit, number, length] of UNITS) {
    bench.nowSeconds = 1_000 * length;
    const [status] = bench.ask({
      entries: [["z", unit]],
      limit: { requestsPerUnit: 4, unit: number },
    }).statuses;
    assertEquals(status, {
      code: 1,
      currentLimit: { requestsPerUnit: 4, unit: number },
      limitRemaining: 3,
      durationUntilResetSeconds: length,
    });
  }
});
