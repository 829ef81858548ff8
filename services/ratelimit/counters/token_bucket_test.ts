import { assertEquals } from "@std/assert";
import { SeededRandom } from "../../../tests/support/seeded_random.ts";
import { TokenBucket } from "./token_bucket.ts";

/** The same bucket, computed in whole numbers of any size. */
class ExactBucket {
  #spent = 0n;
  #at = 0n;

  admits(
    hits: bigint,
    bucket: {
      readonly limit: bigint;
      readonly burst: bigint;
      readonly window: bigint;
      readonly now: bigint;
    },
  ): boolean {
    const { limit, burst, window, now } = bucket;
    const left = this.#spent - (now - this.#at) * limit;
    this.#spent = left > 0n ? left : 0n;
    this.#at = now;
    if (this.#spent + hits * window > burst * window) return false;
    this.#spent += hits * window;
    return true;
  }
}

for (
  const [limit, burst, windowSeconds] of [
    [1, 1, 1],
    [7, 3, 86_400],
    [1_000_000, 1_000_000, 1],
    [999_983, 5, 3_600],
    [3, 10, 31_536_000],
  ] as const
) {
  Deno.test(`TokenBucket.apply() admits exactly what whole numbers admit: ${limit} in ${windowSeconds} s, burst of ${burst}`, () => {
    const random = new SeededRandom(limit);
    const bucket = new TokenBucket();
    const exact = new ExactBucket();
    const perHit = Math.ceil(windowSeconds * 1_000_000 / limit);
    let nowMicros = 0;
    for (let step = 0; step < 20_000; step++) {
      nowMicros += random.below(random.pick([2, perHit, perHit * 2]));
      const hits = 1 + random.below(burst);
      const { isOver } = bucket.apply(
        { hits, limit, burst, windowSeconds },
        nowMicros,
      );
      const admits = exact.admits(BigInt(hits), {
        limit: BigInt(limit),
        burst: BigInt(burst),
        window: BigInt(windowSeconds) * 1_000_000n,
        now: BigInt(nowMicros),
      });
      assertEquals(!isOver, admits, `step ${step}`);
    }
  });
}

Deno.test("TokenBucket.wholeAtMicros is when nothing is missing, to the microsecond", () => {
  const bucket = new TokenBucket();
  assertEquals(bucket.wholeAtMicros, -Infinity);
  const operation = { hits: 2, limit: 7, burst: 20, windowSeconds: 60 };
  bucket.apply(operation, 1_000);
  const whole = bucket.wholeAtMicros;
  assertEquals(bucket.usedAt(whole), 0);
  assertEquals(bucket.usedAt(whole - 1) > 0, true);
});

Deno.test("TokenBucket.apply() tells seconds that suffice when a hit comes back within a microsecond", () => {
  const bucket = new TokenBucket();
  // One hit takes 8,571,428 and four sevenths of a microsecond.
  const operation = { hits: 1, limit: 7, burst: 7, windowSeconds: 60 };
  bucket.apply({ ...operation, hits: 7 }, 0);
  const { isOver, resetSeconds } = bucket.apply(operation, 6_571_428);
  assertEquals([isOver, resetSeconds], [true, 3]);
  assertEquals(bucket.apply(operation, 8_571_428).isOver, true);
  assertEquals(bucket.apply(operation, 8_571_429).isOver, false);
});
