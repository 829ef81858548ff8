import { assertEquals, assertStringIncludes } from "@std/assert";
import { runPreview } from "./preview.ts";

/** 2027-03-27T12:00:00Z, the day before the clock changes in Berlin. */
const NOW_MS = Date.UTC(2027, 2, 27, 12);

Deno.test("runPreview() shows the next times with what is odd about them", () => {
  const { exitCode, out } = run([
    "30 2 * * *",
    "--timezone",
    "Europe/Berlin",
    "--count=2",
  ]);
  assertEquals(exitCode, 0);
  assertEquals(out, [
    "2027-03-28T01:00:00.000Z  2027-03-28T03:00:00+02:00 Europe/Berlin  " +
    "(the clock skips the time that was meant)",
    "2027-03-29T00:30:00.000Z  2027-03-29T02:30:00+02:00 Europe/Berlin",
  ]);
});

Deno.test("runPreview() writes JSON, a line for each time", () => {
  const { exitCode, out } = run(["0 9 * * 1", "--json", "-n", "1"]);
  assertEquals(exitCode, 0);
  assertEquals(out.map((line) => JSON.parse(line)), [{
    at: "2027-03-29T09:00:00.000Z",
    local: "2027-03-29T09:00:00",
    offset: "+00:00",
    warnings: [],
  }]);
});

Deno.test("runPreview() accepts intervals, which begin at --from", () => {
  const { out } = run(["P1M", "--from", "2027-01-31T00:00:00Z", "-n", "3"]);
  assertEquals(out.map((line) => line.slice(0, 10)), [
    "2027-01-31",
    "2027-02-28",
    "2027-03-31",
  ]);
  assertStringIncludes(out[1] ?? "", "the month lacks the day");
});

Deno.test("runPreview() tells which times have passed and are missed", () => {
  const { out } = run(["P1D", "--from", "2027-03-25T11:00:00Z", "-n", "4"]);
  assertEquals(out.map((line) => line.includes("it has passed")), [
    true,
    true,
    false,
    false,
  ]);
});

Deno.test("runPreview() shows ten times unless told otherwise", () => {
  assertEquals(run(["@hourly"]).out.length, 10);
});

Deno.test("runPreview() exits with 1 for what is no schedule", () => {
  for (const text of ["* * *", "0 0 30 2 *", "PT0S", "P1X", "soon"]) {
    const { exitCode, out, err } = run([text]);
    assertEquals([exitCode, out], [1, []], text);
    assertEquals(err.length, 1);
  }
});

Deno.test("runPreview() exits with 2 for wrong arguments", () => {
  const cases = [
    [],
    ["* * * * *", "more"],
    ["* * * * *", "--tz", "Berlin"],
    ["* * * * *", "--count", "0"],
    ["* * * * *", "--count", "1001"],
    ["* * * * *", "--from", "tomorrow"],
    ["* * * * *", "--from", "2027-02-30T00:00:00Z"],
    ["* * * * *", "--from", "2027-02-28T25:00:00Z"],
    ["* * * * *", "--zone", "UTC"],
  ];
  for (const args of cases) {
    const { exitCode, out, err } = run(args);
    assertEquals([exitCode, out], [2, []], args.join(" "));
    assertStringIncludes(err.join("\n"), "usage: tasks preview");
  }
});

Deno.test("runPreview() tells that --from is no day", () => {
  const { err } = run(["@daily", "--from", "2026-02-30T00:00:00Z"]);
  assertEquals(
    err[0],
    'Cannot read time "2026-02-30T00:00:00Z": the calendar has no such day',
  );
});

Deno.test("runPreview() has a help", () => {
  const { exitCode, out } = run(["--help"]);
  assertEquals(exitCode, 0);
  assertStringIncludes(out.join("\n"), "--timezone");
});

interface Run {
  readonly exitCode: number;
  readonly out: readonly string[];
  readonly err: readonly string[];
}

function run(args: readonly string[]): Run {
  const out: string[] = [];
  const err: string[] = [];
  const io = {
    out: (text: string) => {
      out.push(text);
    },
    err: (text: string) => {
      err.push(text);
    },
  };
  return { exitCode: runPreview(args, { io, nowMs: NOW_MS }), out, err };
}
