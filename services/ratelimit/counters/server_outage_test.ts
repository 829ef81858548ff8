import { assert, assertEquals } from "@std/assert";
import { redialDelayMs } from "./server_outage.ts";

Deno.test("redialDelayMs() doubles up to two seconds", () => {
  const delays = [1, 2, 3, 4, 5, 6, 7, 8, 2_000].map((failures) =>
    redialDelayMs(failures, () => 0)
  );
  assertEquals(delays, [25, 50, 100, 200, 400, 800, 1_000, 1_000, 1_000]);
});

Deno.test("redialDelayMs() leaves out a random part of at most a half", () => {
  for (const share of [0, 0.25, 0.999]) {
    const delay = redialDelayMs(7, () => share);
    assert(delay >= 1_000 && delay < 2_000);
    assertEquals(delay, 1_000 + share * 1_000);
  }
});
