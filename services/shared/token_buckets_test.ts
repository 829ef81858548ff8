import { assert, assertEquals } from "@std/assert";
import { SeededRandom } from "../../tests/support/seeded_random.ts";
import { TokenBuckets } from "./token_buckets.ts";

Deno.test("TokenBuckets.take() lets so many through and then as they fill", () => {
  const buckets = createBuckets(60);
  for (let at = 0; at < 60; at++) assertEquals(buckets.take("a", 0), 0);
  assertEquals(buckets.take("a", 0), 1_000);
  assertEquals(buckets.take("b", 0), 0);
  assertEquals(buckets.take("a", 999) > 0, true);
  assertEquals(buckets.take("a", 1_000), 0);
});

Deno.test("TokenBuckets.takeMore() lets a name pay later for what was more", () => {
  const buckets = createBuckets(60);
  assertEquals(buckets.take("a", 0), 0);
  buckets.takeMore("a", 99, 0);
  assertEquals(buckets.take("a", 0), 41_000);
  assertEquals(buckets.take("a", 40_999) > 0, true);
  assertEquals(buckets.take("a", 41_000), 0);
});

Deno.test("TokenBuckets.take() gives nobody more than the rate, however it is called", () => {
  const random = new SeededRandom(7);
  const buckets = createBuckets(30);
  let nowMs = 0;
  let given = 0;
  for (let at = 0; at < 2_000; at++) {
    nowMs += random.below(3_000);
    if (buckets.take("a", nowMs) > 0) continue;
    const more = random.below(21);
    buckets.takeMore("a", more, nowMs);
    given += 1 + more;
  }
  assert(given <= 30 + 20 + nowMs * 30 / 60_000, String(given));
  assert(given >= nowMs * 30 / 60_000 * 0.9, String(given));
});

Deno.test("TokenBuckets.takeMore() gives back no more than there was", () => {
  const buckets = createBuckets(1);
  assertEquals(buckets.take("a", 0), 0);
  buckets.takeMore("a", -1, 0);
  buckets.takeMore("a", -1, 0);
  assertEquals([buckets.take("a", 0), buckets.take("a", 0)], [0, 60_000]);
});

Deno.test("TokenBuckets.take() gains nothing by a clock that goes back", () => {
  const buckets = createBuckets(1);
  assertEquals(buckets.take("a", 60_000), 0);
  assertEquals(buckets.take("a", 0), 60_000);
});

function createBuckets(perPeriod: number): TokenBuckets {
  return new TokenBuckets({ perPeriod, periodMs: 60_000, maxNames: 10 });
}
