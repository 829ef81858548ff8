import { assert, assertEquals } from "@std/assert";
import { SeededRandom } from "../../../../tests/support/seeded_random.ts";
import { LAST_INSTANT_MS, parseInstant } from "./instant.ts";

Deno.test("parseInstant() reads what Date writes, whatever the instant", () => {
  const random = new SeededRandom(11);
  for (let round = 0; round < 5_000; round++) {
    const atMs = Math.floor(random.next() * LAST_INSTANT_MS);
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
