import { assertEquals } from "@std/assert";
import { shortestSpacingMs } from "./spacing.ts";
import { parseTiming, type TimingInput } from "./timing.ts";

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
