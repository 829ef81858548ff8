import { assert, assertEquals, assertThrows } from "@std/assert";
import { SeededRandom } from "../../../tests/support/seeded_random.ts";
import {
  MAX_INSTANT_MS,
  parseInstant,
  parseInstantRange,
  utcTime,
} from "./instant.ts";
import { formatWall } from "./time_zone.ts";

type Input = Parameters<typeof parseInstantRange>[0];

Deno.test("parseInstant() reads what Date writes, whatever the instant", () => {
  const random = new SeededRandom(11);
  for (let round = 0; round < 5_000; round++) {
    const atMs = Math.floor(random.next() * MAX_INSTANT_MS);
    const text = new Date(atMs).toISOString();
    assertEquals(parseInstant(text), {
      kind: "ok",
      atMs,
      fractionDigits: 3,
      isCut: false,
    });
  }
});

Deno.test("parseInstant() subtracts offsets, whatever they are", () => {
  const random = new SeededRandom(12);
  for (let round = 0; round < 2_000; round++) {
    const atMs = Math.floor(random.next() * 4e12);
    const offsetMinutes = random.below(24 * 60);
    const sign = random.pick(["+", "-", " "]);
    const shift = (sign === "-" ? -1 : 1) * offsetMinutes * 60_000;
    const local = new Date(atMs + shift).toISOString().slice(0, 23);
    const offset = new Date(offsetMinutes * 60_000).toISOString().slice(11, 16);
    const outcome = parseInstant(`${local}${sign}${offset}`);
    assert(outcome.kind === "ok", `${local}${sign}${offset}`);
    assertEquals(outcome.atMs, atMs);
  }
});

Deno.test("parseInstant() takes lower case, a space for T, and nine digits", () => {
  assertEquals(parseInstant("2030-01-31t08:30:00.5z"), {
    kind: "ok",
    atMs: Date.UTC(2030, 0, 31, 8, 30, 0, 500),
    fractionDigits: 1,
    isCut: false,
  });
  assertEquals(parseInstant("2030-01-31 08:30:00.123000001Z"), {
    kind: "ok",
    atMs: Date.UTC(2030, 0, 31, 8, 30, 0, 123),
    fractionDigits: 9,
    isCut: true,
  });
});

Deno.test("parseInstant() refuses what the calendar or the clock has not", () => {
  for (
    const text of [
      "2030-02-29T00:00:00Z",
      "2100-02-29T00:00:00Z",
      "2030-13-01T00:00:00Z",
      "2030-00-01T00:00:00Z",
      "2030-01-00T00:00:00Z",
      "2030-01-01T24:00:00Z",
      "2030-01-01T00:60:00Z",
      "2030-01-01T00:00:60Z",
      "2030-01-01T00:00:00+24:00",
      "2030-01-01T00:00:00+01:60",
      "2030-01-01T00:00Z",
      "2030-01-01T00:00:00.Z",
      "2030-01-01T00:00:00.1234567890Z",
      "+2030-01-01T00:00:00Z",
      " 2030-01-01T00:00:00Z",
      "2030-01-01T00:00:00Z\n",
      "２030-01-01T00:00:00Z",
      "2030-01-01",
      "",
    ]
  ) {
    assertEquals(parseInstant(text).kind, "invalid", text);
  }
});

Deno.test("parseInstant() says so when the zone is missing", () => {
  const outcome = parseInstant("2030-01-31T08:30:00");
  assert(outcome.kind === "invalid");
  assertEquals(
    outcome.reason,
    'Cannot read time "2030-01-31T08:30:00": it has no zone; add "Z" for UTC ' +
      'or an offset such as "+02:00"',
  );
});

const ZONES = [
  "UTC",
  "Europe/Stockholm",
  "America/Sao_Paulo",
  "America/Havana",
  "Australia/Lord_Howe",
  "Asia/Kathmandu",
  "Pacific/Apia",
  "Africa/Cairo",
];

Deno.test("parseInstantRange() includes both ends at the precision written", () => {
  const cases: readonly [Input, string, string][] = [
    [
      { start: "2016", end: "2017" },
      "2016-01-01T00:00:00.000Z",
      "2017-12-31T23:59:59.999Z",
    ],
    [
      { start: "2016", end: "2016" },
      "2016-01-01T00:00:00.000Z",
      "2016-12-31T23:59:59.999Z",
    ],
    [
      { start: "2016-02", end: "2016-02" },
      "2016-02-01T00:00:00.000Z",
      "2016-02-29T23:59:59.999Z",
    ],
    [
      { start: "2016-12-31", end: "2016-12-31" },
      "2016-12-31T00:00:00.000Z",
      "2016-12-31T23:59:59.999Z",
    ],
    [
      { start: "2016-06", end: "2016" },
      "2016-06-01T00:00:00.000Z",
      "2016-12-31T23:59:59.999Z",
    ],
    [
      { start: "2016-01-01T10:00:00Z", end: "2016-01-01T10:00:00Z" },
      "2016-01-01T10:00:00.000Z",
      "2016-01-01T10:00:00.999Z",
    ],
    [
      { start: "2016-01-01T10:00:00.5 02:00", end: "2016-01-01T10:00:00.25Z" },
      "2016-01-01T08:00:00.500Z",
      "2016-01-01T10:00:00.259Z",
    ],
    [
      { start: "2016-01-01T10:00:00.123Z", end: "2016-01-01T10:00:00.123Z" },
      "2016-01-01T10:00:00.123Z",
      "2016-01-01T10:00:00.123Z",
    ],
    [
      { start: "2016-07", end: "2016-07", tz: "europe/stockholm" },
      "2016-06-30T22:00:00.000Z",
      "2016-07-31T21:59:59.999Z",
    ],
    [
      // Midnight does not exist on this day: the clock goes from 24 to 1.
      { start: "2018-11-04", end: "2018-11-04", tz: "America/Sao_Paulo" },
      "2018-11-04T03:00:00.000Z",
      "2018-11-05T01:59:59.999Z",
    ],
    [
      { start: "0099", end: "9999" },
      "0099-01-01T00:00:00.000Z",
      "9999-12-31T23:59:59.999Z",
    ],
  ];
  for (const [input, from, to] of cases) {
    const range = readRange(input);
    assertEquals(shown(range.fromMs), from, JSON.stringify(input));
    assertEquals(shown(range.toMs), to, JSON.stringify(input));
  }
});

Deno.test("parseInstantRange() leaves an end open that is not given", () => {
  const open = { fromMs: undefined, toMs: undefined };
  assertEquals(readRange({}), open);
  assertEquals(readRange({ start: "1970" }), { ...open, fromMs: 0 });
  assertEquals(readRange({ end: "1970-01-01" }), { ...open, toMs: 86_399_999 });
});

Deno.test("parseInstantRange() names each parameter that is malformed", () => {
  for (
    const text of [
      "2016-13",
      "2016-00",
      "2016-02-30",
      "16",
      "20166",
      "2016-1",
      "2016-01-01T10",
      "2016-01-01T10:00:00",
      "2016-01-01T10:00:00.1234Z",
      "",
      "now",
    ]
  ) {
    assertEquals(findProblems({ start: text, end: text }), [
      "start bad_time",
      "end bad_time",
    ], text);
  }
  assertEquals(findProblems({ start: "2016", tz: "Mars/Base" }), [
    "tz bad_timezone",
  ]);
});

Deno.test("parseInstantRange() refuses an end before the start", () => {
  const refused = ["end end_before_start"];
  assertEquals(findProblems({ start: "2017", end: "2016" }), refused);
  assertEquals(
    findProblems({
      start: "2016-01-01T00:00:00.001Z",
      end: "2016-01-01T00:00:00.000Z",
    }),
    refused,
  );
});

Deno.test("parseInstantRange() holds nothing on a day that a zone passed over", () => {
  const day = "2011-12-30";
  const { fromMs, toMs } = readRange({
    start: day,
    end: day,
    tz: "Pacific/Apia",
  });
  assert(fromMs !== undefined && toMs !== undefined);
  assertEquals(toMs, fromMs - 1);
});

Deno.test("parseInstantRange() parts time without gap or overlap, whatever the zone", () => {
  const random = new SeededRandom(21);
  for (let round = 0; round < 1_500; round++) {
    const timezone = random.pick(ZONES);
    const atMs = Math.floor(random.next() * 2_000_000_000_000);
    const wall = formatWall(atMs, timezone);
    for (
      const length of ["2016".length, "2016-01".length, "2016-01-01".length]
    ) {
      const period = readPeriod(wall.slice(0, length), timezone);
      // Every instant is in the period that the zone's clock shows it in.
      assert(
        period.firstMs <= atMs && atMs <= period.lastMs,
        `${wall} ${timezone}`,
      );
      // What the clock shows next belongs to the next period.
      const next = formatWall(period.lastMs + 1, timezone).slice(0, length);
      assert(next > wall.slice(0, length), `${wall} ${next} ${timezone}`);
      const following = readPeriod(next, timezone);
      assertEquals(following.firstMs, period.lastMs + 1, `${wall} ${timezone}`);
    }
  }
});

function readPeriod(
  text: string,
  tz: string,
): { readonly firstMs: number; readonly lastMs: number } {
  const { fromMs, toMs } = readRange({ start: text, end: text, tz });
  assert(fromMs !== undefined && toMs !== undefined);
  return { firstMs: fromMs, lastMs: toMs };
}

function readRange(input: Input) {
  const outcome = parseInstantRange(input);
  assert(outcome.kind === "ok", JSON.stringify([input, outcome]));
  return outcome.value;
}

function findProblems(input: Input): readonly string[] {
  const outcome = parseInstantRange(input);
  return outcome.kind === "ok"
    ? []
    : outcome.problems.map(({ parameter, code }) => `${parameter} ${code}`);
}

function shown(atMs: number | undefined): string | undefined {
  return atMs === undefined ? undefined : new Date(atMs).toISOString();
}

const DAY_MS = 86_400_000;
const END_MS = 253_402_300_800_000;

Deno.test("utcTime() writes what dates write on each day from 1970 to 9999", () => {
  for (let ms = 0; ms < END_MS; ms += 7 * DAY_MS + 1_234_567) {
    assertEquals(utcTime(ms), new Date(ms).toISOString());
  }
});

Deno.test("utcTime() writes what dates write around each month's end", () => {
  for (let year = 1970; year < 2110; year++) {
    for (let month = 0; month < 12; month++) {
      const ms = Date.UTC(year, month, 1);
      for (const at of [ms - 1, ms, ms - DAY_MS].filter((at) => at >= 0)) {
        assertEquals(utcTime(at), new Date(at).toISOString());
      }
    }
  }
});

Deno.test("utcTime() writes what dates write at random instants and at the edges", () => {
  const random = new SeededRandom(7);
  const edges = [-1, 0, 1, END_MS - 1, END_MS, -62_135_596_800_000];
  const others = Array.from(
    { length: 20_000 },
    () => Math.floor(random.next() * END_MS),
  );
  for (const ms of [...edges, ...others]) {
    assertEquals(utcTime(ms), new Date(ms).toISOString());
  }
  assertEquals(utcTime(1.9), "1970-01-01T00:00:00.001Z");
});

Deno.test("utcTime() throws where there is no date", () => {
  for (const ms of [NaN, Infinity, -Infinity, 8.65e15]) {
    assertThrows(() => utcTime(ms), RangeError);
  }
});
