import { assertEquals, assertStringIncludes } from "@std/assert";
import { runPreview } from "./preview.ts";

/** 2027-03-27T12:00:00Z, the day before the clock changes in Berlin. */
const NOW_MS = Date.UTC(2027, 2, 27, 12);

const FILES = new Map([
  [
    "holidays.ics",
    [
      "BEGIN:VCALENDAR",
      "BEGIN:VEVENT",
      "DTSTART;VALUE=DATE:20270329",
      "END:VEVENT",
      "END:VCALENDAR",
    ].join("\n"),
  ],
  ["bad.ics", "BEGIN:VCALENDAR"],
]);

Deno.test("runPreview() shows the next times with what is odd about them", async () => {
  const { exitCode, out } = await run([
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

Deno.test("runPreview() writes JSON, a line for each time", async () => {
  const { exitCode, out } = await run(["0 9 * * 1", "--json", "-n", "1"]);
  assertEquals(exitCode, 0);
  assertEquals(out.map((line) => JSON.parse(line)), [{
    at: "2027-03-29T09:00:00.000Z",
    local: "2027-03-29T09:00:00",
    offset: "+00:00",
    warnings: [],
  }]);
});

Deno.test("runPreview() accepts intervals, which begin at --from", async () => {
  const { out } = await run([
    "P1M",
    "--from",
    "2027-01-31T00:00:00Z",
    "-n",
    "3",
  ]);
  assertEquals(out.map((line) => line.slice(0, 10)), [
    "2027-01-31",
    "2027-02-28",
    "2027-03-31",
  ]);
  assertStringIncludes(out[1] ?? "", "the month lacks the day");
});

Deno.test("runPreview() tells which times have passed and are missed", async () => {
  const { out } = await run([
    "P1D",
    "--from",
    "2027-03-25T11:00:00Z",
    "-n",
    "4",
  ]);
  assertEquals(out.map((line) => line.includes("it has passed")), [
    true,
    true,
    false,
    false,
  ]);
});

Deno.test("runPreview() shows ten times unless told otherwise", async () => {
  assertEquals((await run(["@hourly"])).out.length, 10);
});

Deno.test("runPreview() exits with 1 for what is no schedule", async () => {
  for (const text of ["* * *", "0 0 30 2 *", "PT0S", "P1X", "soon"]) {
    const { exitCode, out, err } = await run([text]);
    assertEquals([exitCode, out], [1, []], text);
    assertEquals(err.length, 1);
  }
});

Deno.test("runPreview() exits with 2 for wrong arguments", async () => {
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
    ["* * * * *", "--exclude", "2027-02-30"],
    ["* * * * *", "--dialect", "spring"],
  ];
  for (const args of cases) {
    const { exitCode, out, err } = await run(args);
    assertEquals([exitCode, out], [2, []], args.join(" "));
    assertStringIncludes(err.join("\n"), "usage: tasks preview");
  }
});

Deno.test("runPreview() tells that --from is no day", async () => {
  const { err } = await run(["@daily", "--from", "2026-02-30T00:00:00Z"]);
  assertEquals(
    err[0],
    'Cannot read time "2026-02-30T00:00:00Z": the calendar has no such day',
  );
});

Deno.test("runPreview() takes durations of any form", async () => {
  const { out } = await run(["1h30m", "-n", "2"]);
  assertEquals(out.map((line) => line.slice(0, 16)), [
    "2027-03-27T12:00",
    "2027-03-27T13:30",
  ]);
});

Deno.test("runPreview() reads other dialects, and warns where one would differ", async () => {
  const args = ["0 0 9 ? * 2-6", "-n", "1"];
  const plain = await run(args);
  assertEquals(plain.out[0]?.slice(0, 10), "2027-03-30");
  assertStringIncludes(plain.err.join("\n"), "warning: This expression");
  const quartz = await run([...args, "--dialect", "quartz"]);
  assertEquals(quartz.out[0]?.slice(0, 10), "2027-03-29");
  assertEquals(quartz.err, []);
});

Deno.test("runPreview() shows what dates and calendars leave out", async () => {
  const args = ["@daily", "-n", "2", "--exclude", "2027-03-28"];
  const { out } = await run([...args, "--calendar", "holidays.ics"]);
  assertEquals(out.map((line) => [line.slice(0, 10), line.slice(56)]), [
    ["2027-03-28", " (left out by --exclude)"],
    ["2027-03-29", " (left out by holidays.ics)"],
    ["2027-03-30", ""],
    ["2027-03-31", ""],
  ]);
  const json = await run([...args, "--json"]);
  assertEquals(json.out.map((line) => JSON.parse(line).at.slice(8, 10)), [
    "29",
    "30",
  ]);
});

Deno.test("runPreview() exits with 1 when a calendar cannot be read", async () => {
  for (const path of ["none.ics", "bad.ics"]) {
    const { exitCode, err } = await run(["@daily", "--calendar", path]);
    assertEquals(exitCode, 1);
    assertStringIncludes(err[0] ?? "", path);
  }
});

Deno.test("runPreview() has a help", async () => {
  const { exitCode, out } = await run(["--help"]);
  assertEquals(exitCode, 0);
  assertStringIncludes(out.join("\n"), "--timezone");
});

interface Run {
  readonly exitCode: number;
  readonly out: readonly string[];
  readonly err: readonly string[];
}

async function run(args: readonly string[]): Promise<Run> {
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
  const readText = (path: string): Promise<string> => {
    const text = FILES.get(path);
    return text === undefined
      ? Promise.reject(new Error("there is no such file"))
      : Promise.resolve(text);
  };
  const exitCode = await runPreview(args, { io, nowMs: NOW_MS, readText });
  return { exitCode, out, err };
}
