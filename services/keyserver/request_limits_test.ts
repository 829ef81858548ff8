import { assert, assertEquals } from "@std/assert";
import { SeededRandom } from "../../tests/support/seeded_random.ts";
import { RequestLimits } from "./request_limits.ts";

Deno.test("RequestLimits.take() lets so many through and then as they fill", () => {
  const limits = new RequestLimits(60);
  for (let at = 0; at < 60; at++) assertEquals(limits.take("a", 0), 0);
  assertEquals(limits.take("a", 0), 1_000);
  assertEquals(limits.take("b", 0), 0);
  assertEquals(limits.take("a", 999) > 0, true);
  assertEquals(limits.take("a", 1_000), 0);
});

Deno.test("RequestLimits.takeMore() lets a caller pay later for what was more", () => {
  const limits = new RequestLimits(60);
  assertEquals(limits.take("a", 0), 0);
  limits.takeMore("a", 99, 0);
  assertEquals(limits.take("a", 0), 41_000);
  assertEquals(limits.take("a", 40_999) > 0, true);
  assertEquals(limits.take("a", 41_000), 0);
});

Deno.test("RequestLimits.take() gives nobody more than the rate, however it is called", () => {
  const random = new SeededRandom(7);
  const limits = new RequestLimits(30);
  let nowMs = 0;
  let given = 0;
  for (let at = 0; at < 2_000; at++) {
    nowMs += random.below(3_000);
    if (limits.take("a", nowMs) > 0) continue;
    const more = random.below(21);
    limits.takeMore("a", more, nowMs);
    given += 1 + more;
  }
  assert(given <= 30 + 20 + nowMs * 30 / 60_000, String(given));
  assert(given >= nowMs * 30 / 60_000 * 0.9, String(given));
});
