import { assertEquals } from "@std/assert";
import { retryAfterMs } from "./retry_after.ts";

const NOW_MS = Date.UTC(2026, 0, 5, 12, 0, 0);

Deno.test("retryAfterMs() reads seconds and dates", () => {
  assertEquals(retryAfterMs("0", NOW_MS), 0);
  assertEquals(retryAfterMs(" 7 ", NOW_MS), 7_000);
  assertEquals(retryAfterMs("0.25", NOW_MS), 250);
  assertEquals(retryAfterMs("Mon, 05 Jan 2026 12:00:30 GMT", NOW_MS), 30_000);
  assertEquals(retryAfterMs("Mon, 05 Jan 2026 11:00:00 GMT", NOW_MS), 0);
});

Deno.test("retryAfterMs() never waits longer than an hour", () => {
  assertEquals(retryAfterMs("999999999", NOW_MS), 3_600_000);
  assertEquals(
    retryAfterMs("Tue, 05 Jan 2027 12:00:00 GMT", NOW_MS),
    3_600_000,
  );
});

Deno.test("retryAfterMs() leaves alone what is neither", () => {
  for (const text of [null, "", "-1", "1e3", "soon", "2026-01-05", "1;2"]) {
    assertEquals(retryAfterMs(text, NOW_MS), undefined);
  }
});
