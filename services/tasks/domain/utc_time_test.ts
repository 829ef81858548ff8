import { assertEquals, assertThrows } from "@std/assert";
import { SeededRandom } from "../../../tests/support/seeded_random.ts";
import { utcTime } from "./utc_time.ts";

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
