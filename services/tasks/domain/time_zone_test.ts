import { assertEquals, assertStringIncludes, fail } from "@std/assert";
import {
  formatOffset,
  formatWall,
  nextOffsetChange,
  offsetMsAt,
  parseTimeZone,
  readWall,
} from "./time_zone.ts";

const HOUR_MS = 3_600_000;

/** A wall time, or an instant in UTC. */
function ms(text: string): number {
  return Date.parse(`${text}Z`);
}

Deno.test("parseTimeZone() takes IANA names and spells them as the database does", () => {
  const cases: readonly [string, string][] = [
    ["Europe/Stockholm", "Europe/Stockholm"],
    ["europe/stockholm", "Europe/Stockholm"],
    ["UTC", "UTC"],
    ["utc", "UTC"],
    ["Etc/GMT+5", "Etc/GMT+5"],
    ["America/Argentina/Buenos_Aires", "America/Argentina/Buenos_Aires"],
    ["America/Port-au-Prince", "America/Port-au-Prince"],
  ];
  for (const [input, value] of cases) {
    assertEquals(parseTimeZone(input), { kind: "ok", value });
  }
});

Deno.test("parseTimeZone() tells what is wrong", () => {
  const cases: readonly [unknown, string][] = [
    ["", "it is not a name of the IANA database"],
    ["+02:00", "it is not a name of the IANA database"],
    ["2026-01-01T00:00[Europe/Paris]", "it is not a name"],
    ["Europe/Stockholm\n", "it is not a name"],
    ["A".repeat(65), "it is not a name"],
    ["Z", "the IANA database has no such name"],
    ["Mars/Olympus_Mons", "the IANA database has no such name"],
    ["Europe/Stokholm", `did you mean "Europe/Stockholm"?`],
    ["stockholm", `did you mean "Europe/Stockholm"?`],
    [2, "it is not text"],
    [null, "it is not text"],
  ];
  for (const [input, part] of cases) {
    const outcome = parseTimeZone(input);
    if (outcome.kind === "ok") fail(`"${input}" was taken`);
    assertEquals(outcome.code, "bad_timezone");
    assertStringIncludes(outcome.reason, part);
  }
});

Deno.test("readWall() tells single, skipped and repeated times apart", () => {
  assertEquals(readWall(ms("2026-07-01T12:00"), "Europe/Stockholm"), {
    kind: "single",
    atMs: ms("2026-07-01T10:00"),
  });
  assertEquals(readWall(ms("2026-03-29T02:20"), "Europe/Stockholm"), {
    kind: "gap",
    endMs: ms("2026-03-29T01:00"),
    shiftedMs: ms("2026-03-29T01:20"),
  });
  assertEquals(readWall(ms("2026-10-25T02:20"), "Europe/Stockholm"), {
    kind: "overlap",
    atMs: ms("2026-10-25T00:20"),
    secondMs: ms("2026-10-25T01:20"),
    endWallMs: ms("2026-10-25T03:00"),
  });
});

Deno.test("readWall() knows gaps and overlaps at their edges", () => {
  const kinds: readonly [string, string, string][] = [
    ["Europe/Stockholm", "2026-03-29T01:59:59.999", "single"],
    ["Europe/Stockholm", "2026-03-29T02:00", "gap"],
    ["Europe/Stockholm", "2026-03-29T02:59:59.999", "gap"],
    ["Europe/Stockholm", "2026-03-29T03:00", "single"],
    ["Europe/Stockholm", "2026-10-25T01:59:59.999", "single"],
    ["Europe/Stockholm", "2026-10-25T02:00", "overlap"],
    ["Europe/Stockholm", "2026-10-25T02:59:59.999", "overlap"],
    ["Europe/Stockholm", "2026-10-25T03:00", "single"],
    ["Australia/Lord_Howe", "2026-10-04T02:29", "gap"],
    ["Australia/Lord_Howe", "2026-10-04T02:30", "single"],
    ["Antarctica/Troll", "2026-03-29T02:59", "gap"],
    ["America/Havana", "2026-03-08T00:00", "gap"],
    ["America/Nuuk", "2026-03-28T23:30", "gap"],
    ["Pacific/Apia", "2011-12-30T12:00", "gap"],
    ["UTC", "2026-03-29T02:30", "single"],
  ];
  for (const [timezone, wall, kind] of kinds) {
    assertEquals(readWall(ms(wall), timezone).kind, kind, timezone + wall);
  }
});

Deno.test("offsets are told in milliseconds and as text", () => {
  const summer = ms("2026-07-01T10:00");
  assertEquals(offsetMsAt(summer, "Europe/Stockholm"), 2 * HOUR_MS);
  assertEquals(formatOffset(summer, "Europe/Stockholm"), "+02:00");
  assertEquals(formatOffset(summer, "Asia/Kathmandu"), "+05:45");
  assertEquals(formatOffset(summer, "America/St_Johns"), "-02:30");
  assertEquals(formatWall(summer, "Europe/Stockholm"), "2026-07-01T12:00:00");
  assertEquals(formatWall(summer + 5, "UTC"), "2026-07-01T10:00:00.005");
});

Deno.test("nextOffsetChange() finds the first change after an instant", () => {
  const change = ms("2026-10-25T01:00");
  const zone = "Europe/Stockholm";
  assertEquals(nextOffsetChange(ms("2026-07-01T10:00"), zone), change);
  assertEquals(nextOffsetChange(change - 1, zone), change);
  assertEquals(nextOffsetChange(change, zone), ms("2027-03-28T01:00"));
  assertEquals(nextOffsetChange(0, "UTC"), undefined);
});
