import { assertEquals } from "@std/assert";
import { SeededRandom } from "../../../tests/support/seeded_random.ts";
import { parseRetryAfter } from "./retry_after.ts";

const NOW_MS = Date.UTC(2026, 0, 31, 23, 59, 0);
const WEEK_MS = 7 * 86_400_000;

Deno.test("parseRetryAfter() reads seconds", () => {
  assertEquals(parseRetryAfter("0", { nowMs: NOW_MS }), 0);
  assertEquals(parseRetryAfter(" 120 ", { nowMs: NOW_MS }), 120_000);
  assertEquals(parseRetryAfter("604800", { nowMs: NOW_MS }), WEEK_MS);
});

Deno.test("parseRetryAfter() waits a week at most and never less than nothing", () => {
  assertEquals(parseRetryAfter("604801", { nowMs: NOW_MS }), WEEK_MS);
  assertEquals(parseRetryAfter("9".repeat(15), { nowMs: NOW_MS }), WEEK_MS);
  assertEquals(
    parseRetryAfter("Fri, 31 Dec 9999 23:59:59 GMT", { nowMs: NOW_MS }),
    WEEK_MS,
  );
  assertEquals(parseRetryAfter("7200", { nowMs: NOW_MS, maxMs: 5_000 }), 5_000);
  assertEquals(
    parseRetryAfter("Sun, 06 Nov 1994 08:49:37 GMT", { nowMs: NOW_MS }),
    0,
  );
});

Deno.test("parseRetryAfter() reads the three forms of a date", () => {
  const texts = [
    "Sun, 01 Feb 2026 00:00:30 GMT",
    "Sunday, 01-Feb-26 00:00:30 GMT",
    "Sun Feb  1 00:00:30 2026",
  ];
  for (const text of texts) {
    assertEquals(parseRetryAfter(text, { nowMs: NOW_MS }), 90_000, text);
  }
  // Two digits that would lie more than 50 years ahead mean the past.
  assertEquals(
    parseRetryAfter("Sunday, 06-Nov-94 08:49:37 GMT", { nowMs: NOW_MS }),
    0,
  );
});

Deno.test("parseRetryAfter() reads back every date", () => {
  const random = new SeededRandom(9_110);
  for (let round = 0; round < 1_000; round++) {
    const aheadMs = random.below(600_000) * 1_000;
    const text = new Date(NOW_MS + aheadMs).toUTCString();
    assertEquals(parseRetryAfter(text, { nowMs: NOW_MS }), aheadMs, text);
  }
});

Deno.test("parseRetryAfter() takes nothing else", () => {
  const texts = [
    ...["", "-1", "1.5", "1e3", "soon", "0x10", "1, 2", "9".repeat(16)],
    ...["Sun, 31 Feb 2026 00:00:00 GMT", "Sun, 01 Feb 2026 24:00:00 GMT"],
    ...["Sun, 01 Feb 2026 00:60:00 GMT", "Sun, 01 Feb 2026 00:00:30 +0100"],
    ...["2026-02-01T00:00:30Z", "Sun, 00 Feb 2026 00:00:00 GMT"],
  ];
  for (const text of texts) {
    assertEquals(parseRetryAfter(text, { nowMs: NOW_MS }), undefined, text);
  }
});
