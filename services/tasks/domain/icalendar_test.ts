import { assert, assertEquals, assertStringIncludes, fail } from "@std/assert";
import { eachRound } from "../../../tests/support/rounds.ts";
import type { SeededRandom } from "../../../tests/support/seeded_random.ts";
import type { ClosedTimes } from "./closed_times.ts";
import { MAX_ICALENDAR_CHARS, MAX_SPANS, readICalendar } from "./icalendar.ts";
import { MAX_EVENTS } from "./icalendar_lines.ts";

function calendar(...events: readonly (readonly string[])[]): string {
  const lines = events.flatMap((event) => [
    "BEGIN:VEVENT",
    ...event,
    "END:VEVENT",
  ]);
  return ["BEGIN:VCALENDAR", "VERSION:2.0", ...lines, "END:VCALENDAR", ""]
    .join("\r\n");
}

function read(text: string): ClosedTimes {
  const outcome = readICalendar(text);
  return outcome.kind === "ok" ? outcome.closed : fail(outcome.reason);
}

function shown(spans: readonly number[]): readonly string[] {
  return spans.map((ms) => new Date(ms).toISOString().slice(0, 16));
}

Deno.test("readICalendar() reads whole days", () => {
  const { walls, instants } = read(calendar(
    ["DTSTART;VALUE=DATE:20271225", "DTEND;VALUE=DATE:20271227"],
    ["DTSTART;VALUE=DATE:20270501", "SUMMARY:May Day"],
    ["DTSTART:20270801", "DTEND:20270801"],
    ["DTSTART;VALUE=DATE:20270901", "DURATION:P1W"],
    ["DTSTART;VALUE=DATE:20271227", "STATUS:CONFIRMED", "TRANSP:TRANSPARENT"],
    ["DTSTART;VALUE=DATE:20270101", "STATUS:CANCELLED"],
    ["DTSTART;VALUE=DATE:16010101"],
  ));
  assertEquals(shown(walls), [
    "2027-05-01T00:00",
    "2027-05-02T00:00",
    "2027-08-01T00:00",
    "2027-08-02T00:00",
    "2027-09-01T00:00",
    "2027-09-08T00:00",
    "2027-12-25T00:00",
    "2027-12-28T00:00",
  ]);
  assertEquals(instants, []);
});

Deno.test("readICalendar() reads times of zones, of UTC, and of any zone", () => {
  const { walls, instants } = read(calendar(
    [
      "DTSTART;TZID=Europe/Berlin:20270701T020000",
      "DTEND;TZID=Europe/Berlin:20270701T040000",
    ],
    ['DTSTART;TZID="America/New_York":20270101T000000', "DURATION:PT1H30M"],
    ["DTSTART:20270301T120000Z", "DTEND:20270301T130000Z"],
    ["DTSTART;TZID=Europe/Berlin:20270401T020000", "DTEND:20270401T010000Z"],
    // Two o'clock does not exist on that day: the event lasts for an hour.
    [
      "DTSTART;TZID=Europe/Berlin:20270328T013000",
      "DTEND;TZID=Europe/Berlin:20270328T033000",
    ],
    ["DTSTART:20270601T080000", "DTEND:20270601T090000"],
    ["DTSTART:20271001T000000Z"],
  ));
  assertEquals(shown(instants), [
    "2027-01-01T05:00",
    "2027-01-01T06:30",
    "2027-03-01T12:00",
    "2027-03-01T13:00",
    "2027-03-28T00:30",
    "2027-03-28T01:30",
    "2027-04-01T00:00",
    "2027-04-01T01:00",
    "2027-07-01T00:00",
    "2027-07-01T02:00",
    "2027-10-01T00:00",
    "2027-10-01T00:00",
  ]);
  assertEquals(shown(walls), ["2027-06-01T08:00", "2027-06-01T09:00"]);
});

Deno.test("readICalendar() follows rules with the clock of their zone, and what is taken out and added", () => {
  const { walls, instants } = read(calendar(
    [
      "UID:christmas",
      "DTSTART;VALUE=DATE:20241225",
      "RRULE:FREQ=YEARLY;UNTIL=20281225",
      "EXDATE;VALUE=DATE:20251225,20261225",
      "RDATE;VALUE=DATE:20290101",
    ],
    [
      "UID:christmas",
      "RECURRENCE-ID;VALUE=DATE:20271225",
      "DTSTART;VALUE=DATE:20271226",
    ],
    [
      "UID:window",
      "DTSTART;TZID=Europe/Berlin:20270324T030000",
      "DTEND;TZID=Europe/Berlin:20270324T040000",
      "RRULE:FREQ=WEEKLY;UNTIL=20270407T235959Z",
    ],
    [
      "UID:window",
      "RECURRENCE-ID:20270407T010000Z",
      "STATUS:CANCELLED",
      "DTSTART:20270407T010000Z",
    ],
  ));
  assertEquals(shown(walls.filter((_, index) => index % 2 === 0)), [
    "2024-12-25T00:00",
    "2027-12-26T00:00",
    "2028-12-25T00:00",
    "2029-01-01T00:00",
  ]);
  assertEquals(shown(instants), [
    "2027-03-24T02:00",
    "2027-03-24T03:00",
    "2027-03-31T01:00",
    "2027-03-31T02:00",
  ]);
});

Deno.test("readICalendar() follows a rule without an end up to the year 2100", () => {
  const { walls } = read(calendar([
    "DTSTART;VALUE=DATE:20270101",
    "RRULE:FREQ=YEARLY",
  ]));
  assertEquals(walls.length / 2, 73);
  assertEquals(shown(walls).at(-2), "2099-01-01T00:00");
});

Deno.test("readICalendar() unfolds lines and leaves alone what it has no use for", () => {
  const text = [
    "\ufeffbegin:vcalendar",
    "BEGIN:VTIMEZONE",
    "TZID:Odd Zone",
    "BEGIN:STANDARD",
    "DTSTART:16011028T030000",
    "RRULE:FREQ=MONTHLY;BYDAY=-1SU",
    "END:STANDARD",
    "END:VTIMEZONE",
    "BEGIN:VTODO",
    "DTSTART:nonsense",
    "END:VTODO",
    "BEGIN:VEVENT",
    "SUMMARY;LANGUAGE=de:Tag der",
    "  Arbeit: frei",
    "X-ODD nonsense",
    'DTSTART;X-NOTE="a;b:c";VALUE',
    " =DATE:2027",
    "\t0501",
    "BEGIN:VALARM",
    "DTSTART:nonsense",
    "TRIGGER:-PT15M",
    "END:VALARM",
    "END:VEVENT",
    "END:VCALENDAR",
  ];
  for (const end of ["\r\n", "\n", "\r"]) {
    const { walls } = read(text.join(end));
    assertEquals(shown(walls), ["2027-05-01T00:00", "2027-05-02T00:00"]);
  }
  assertEquals(readICalendar(calendar([])).kind, "invalid");
  assertEquals(readICalendar(calendar()), {
    kind: "ok",
    closed: { walls: [], instants: [] },
    events: 0,
  });
});

Deno.test("readICalendar() tells what is wrong, and in which line", () => {
  const cases: readonly [string, string][] = [
    ["", "line 1: BEGIN:VCALENDAR is missing"],
    ["{}", "line 1: the file does not begin"],
    ["BEGIN:VCALENDAR", "line 1: END:VCALENDAR is missing"],
    [
      "BEGIN:VCALENDAR\nBEGIN:VEVENT\n\nEND:VCALENDAR",
      `line 4: END:"VCALENDAR" has no beginning`,
    ],
    [Array(9).fill("BEGIN:VCALENDAR").join("\n"), "line 9: it is too deep"],
    [calendar(["SUMMARY:x"]), "line 3: the event has no DTSTART"],
    [
      calendar(["DTSTART:2027-01-01"]),
      `line 4: DTSTART "2027-01-01" cannot be read`,
    ],
    [calendar(["DTSTART:20270229"]), `DTSTART "20270229" cannot be read`],
    [calendar(["DTSTART:20270101T240000"]), "cannot be read"],
    [
      calendar(["DTSTART;TZID=W. Europe Standard Time:20270101T080000"]),
      `the zone "W. Europe Standard Time" is not one of the IANA database`,
    ],
    [calendar(["DTSTART;VALUE=DATE"]), "line 4: it has no value"],
    [
      calendar(["DTSTART:20270102", "DTEND:20270101"]),
      "line 3: the event ends before it begins",
    ],
    [
      calendar(["DTSTART:20270102", "DURATION:5"]),
      "line 5: Cannot read duration",
    ],
    [
      calendar(["DTSTART:20270102", "RRULE:FREQ=HOURLY"]),
      `line 5: "FREQ=HOURLY" of a rule`,
    ],
    [
      calendar([
        "DTSTART:20270102",
        "RECURRENCE-ID;RANGE=THISANDFUTURE:20270102",
      ]),
      "line 5: RANGE cannot be read",
    ],
    [
      calendar(...Array(MAX_EVENTS + 1).fill(["DTSTART:20270101"])),
      `more than ${MAX_EVENTS} events`,
    ],
    [
      calendar(
        ...Array(2).fill([
          "DTSTART:20270101",
          "RRULE:FREQ=WEEKLY;BYDAY=MO,WE,FR",
        ]),
      ),
      `more than ${MAX_SPANS} spans`,
    ],
  ];
  for (const [text, part] of cases) {
    const outcome = readICalendar(text);
    const reason = outcome.kind === "invalid" ? outcome.reason : "none";
    assertStringIncludes(reason, part);
  }
});

Deno.test("readICalendar() is quick with whatever a stranger sends", () => {
  const fill = (unit: string, ...before: readonly string[]): string => {
    const head = [...before, ""].join("\n");
    return head +
      unit.repeat((MAX_ICALENDAR_CHARS - head.length) / unit.length);
  };
  const open = ["BEGIN:VCALENDAR", "BEGIN:VEVENT"] as const;
  const heavy = [
    "DTSTART;TZID=Europe/Berlin:00010101T000000",
    "RRULE:FREQ=WEEKLY;COUNT=1000000;BYDAY=SU,MO,TU,WE,TH,FR,SA",
  ];
  const monthly = [
    "DTSTART:00010101",
    "RRULE:FREQ=YEARLY;COUNT=1000000;BYMONTHDAY=" +
    Array.from({ length: 31 }, (_, index) => -1 - index).join() +
    ";BYDAY=1SU;BYMONTH=1,2,3,4,5,6,7,8,9,10,11,12",
  ];
  const texts = [
    fill("\n "),
    fill("\n", ...open),
    fill(" x\n", ...open, "DTSTART:"),
    fill(";A=B", ...open, "DTSTART"),
    fill(';A="', ...open, "DTSTART"),
    fill(",20270101", ...open, "DTSTART:20270101\nEXDATE:20270101"),
    fill("BEGIN:VEVENT\nEND:VEVENT\n", "BEGIN:VCALENDAR"),
    calendar(...Array(1_000).fill(heavy)),
    calendar(...Array(1_000).fill(monthly)),
    calendar([
      "DTSTART;TZID=Europe/Berlin:20270101T000000",
      fill(",20270101T000000", "RDATE;TZID=America/Havana:20270101T000000")
        .replaceAll("\n", ""),
    ]),
  ];
  for (const text of texts) {
    // The time limit of tests ends a pattern that backtracks.
    readICalendar(text);
  }
});

Deno.test("readICalendar() answers any text with a value, whose spans are in order", async () => {
  await eachRound({ rounds: 400 }, ({ random }) => {
    const outcome = readICalendar(drawFile(random));
    if (outcome.kind === "invalid") {
      assertStringIncludes(outcome.reason, "Cannot read calendar: line ");
      return;
    }
    const { walls, instants } = outcome.closed;
    for (const spans of [walls, instants]) {
      assert(spans.length <= 2 * MAX_SPANS && spans.length % 2 === 0);
      assert(
        spans.every((ms, index) =>
          Number.isSafeInteger(ms) && ms > (spans[index - 1] ?? -Infinity)
        ),
      );
    }
  });
});

const WORDS = [
  "DTSTART",
  "DTEND",
  "DURATION",
  "RRULE",
  "EXDATE",
  "RDATE",
  "RECURRENCE-ID",
  "UID",
  "STATUS",
  ":",
  ";",
  ",",
  "=",
  '"',
  " ",
  "\n",
  "\r\n ",
  "VALUE=DATE",
  "TZID=Europe/Berlin",
  "TZID=x",
  "20270101",
  "99991231",
  "00010101",
  "T010203",
  "Z",
  "P1D",
  "PT1H",
  "-P1D",
  "FREQ=YEARLY",
  "FREQ=WEEKLY",
  "COUNT=5",
  "INTERVAL=3",
  "BYMONTH=2",
  "BYMONTHDAY=-1",
  "BYDAY=2MO",
  "UNTIL=20300101",
  "CANCELLED",
  "BEGIN:VEVENT\n",
  "END:VEVENT\n",
  "END:VCALENDAR\n",
  "\u0000",
  "é",
];

/** A file that is nearly right, or not at all. */
function drawFile(random: SeededRandom): string {
  const noise = (): string => random.list(8, () => random.pick(WORDS)).join("");
  const date = (): string =>
    `20${10 + random.below(80)}0${1 + random.below(9)}1${random.below(10)}`;
  const time = (): string =>
    random.pick([date(), `${date()}T010000`, `${date()}T010000Z`]);
  const rule = (): string =>
    random.pick(["FREQ=YEARLY", "FREQ=WEEKLY"]) +
    random.pick(["", ";COUNT=9", ";UNTIL=20400101", ";INTERVAL=7"]);
  const line = (): string =>
    random.pick([
      () => `DTSTART:${time()}`,
      () => `DTSTART;TZID=Asia/Tokyo:${time()}`,
      () => `DTEND:${time()}`,
      () => "DURATION:P3D",
      () => `RRULE:${rule()}`,
      () => `EXDATE:${time()},${time()}`,
      () => `RDATE:${time()}`,
      () => `RECURRENCE-ID:${time()}`,
      () => "UID:a",
      noise,
    ])();
  const events = random.list(4, () => [
    ...random.chance(0.9) ? [`DTSTART:${time()}`] : [],
    ...random.list(4, random.chance(0.8) ? line : noise),
  ]);
  const text = calendar(...events);
  return random.chance(0.8)
    ? text
    : text.slice(0, random.below(text.length)) + noise();
}
