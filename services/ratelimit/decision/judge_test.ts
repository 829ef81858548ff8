import { assertEquals } from "@std/assert";
import { CODE } from "../../../proto/rate_limit_response.ts";
import { SeededRandom } from "../../../tests/support/seeded_random.ts";
import { judge, type Judgement } from "./judge.ts";

const { OK, OVER_LIMIT } = CODE;

function judged(
  after: number,
  options: { limit: number; hits?: number; ratio?: number },
): Judgement {
  return judge(after, {
    limit: options.limit,
    hits: options.hits ?? 1,
    windowSeconds: 60,
    nowSeconds: 1_000_000_007,
    nearLimitRatio: options.ratio ?? 0.8,
  });
}

Deno.test("judge() splits hits as the table says when counts pass thresholds", () => {
  // after, limit, hits -> code, remaining, over, near, within
  const rows: readonly (readonly number[])[] = [
    [1, 10, 1, OK, 9, 0, 0, 1],
    [8, 10, 1, OK, 2, 0, 0, 1],
    [9, 10, 1, OK, 1, 0, 1, 1],
    [10, 10, 1, OK, 0, 0, 1, 1],
    [11, 10, 1, OVER_LIMIT, 0, 1, 0, 0],
    [20, 10, 1, OVER_LIMIT, 0, 1, 0, 0],
    // The hits cross the threshold: only the part above it is near.
    [10, 10, 4, OK, 0, 0, 2, 4],
    // The hits cross the limit from below the threshold.
    [12, 10, 6, OVER_LIMIT, 0, 2, 2, 0],
    // The hits cross the limit from between threshold and limit.
    [12, 10, 3, OVER_LIMIT, 0, 2, 1, 0],
    // The hits cross threshold and limit at once.
    [15, 10, 15, OVER_LIMIT, 0, 5, 2, 0],
    // A limit of 0 blocks every request.
    [1, 0, 1, OVER_LIMIT, 0, 1, 0, 0],
    // A look at exactly the limit, and above it.
    [10, 10, 0, OK, 0, 0, 0, 0],
    [11, 10, 0, OVER_LIMIT, 0, 0, 0, 0],
    // Hits given back.
    [4, 10, -3, OK, 6, 0, 0, 0],
    [11, 10, -3, OVER_LIMIT, 0, 0, 0, 0],
  ];
  for (const row of rows) {
    const [after, limit, hits, code, remaining, over, near, within] = row;
    const { resetSeconds: _, isFromCache: __, ...rest } = judged(after!, {
      limit: limit!,
      hits: hits!,
    });
    assertEquals(rest as unknown, {
      code,
      remaining,
      overHits: over,
      nearHits: near,
      withinHits: within,
    }, `after ${after} of ${limit} with ${hits}`);
  }
});

Deno.test("judge() gives the seconds to the end of the window", () => {
  const reset = (nowSeconds: number): number =>
    judge(1, {
      limit: 1,
      hits: 1,
      windowSeconds: 60,
      nowSeconds,
      nearLimitRatio: 0.8,
    }).resetSeconds;
  assertEquals(reset(120), 60);
  assertEquals(reset(121), 59);
  assertEquals(reset(179), 1);
});

Deno.test("judge() computes the near threshold in 32-bit floats", () => {
  // In 64-bit floats 0.7 of 90 is a little less than 63.
  const near = (after: number): number =>
    judged(after, { limit: 90, ratio: 0.7 }).nearHits;
  assertEquals(near(63), 0);
  assertEquals(near(64), 1);
});

Deno.test("judge() accounts for every hit once when hits are random", () => {
  const random = new SeededRandom(11);
  for (let run = 0; run < 20_000; run++) {
    const limit = random.below(30);
    const hits = random.below(12);
    const after = hits + random.below(40);
    const judgement = judged(after, { limit, hits });
    const over = Math.min(hits, Math.max(0, after - limit));
    assertEquals(judgement.overHits, over);
    assertEquals(judgement.withinHits, after > limit ? 0 : hits);
    const threshold = Math.floor(Math.fround(limit * Math.fround(0.8)));
    let near = 0;
    for (let hit = after - hits + 1; hit <= after; hit++) {
      if (hit > threshold && hit <= limit) near++;
    }
    assertEquals(judgement.nearHits, near, `${after} of ${limit} with ${hits}`);
  }
});

Deno.test("judge() takes the store's word when the store decided", () => {
  const options = {
    limit: 10,
    hits: 4,
    windowSeconds: 60,
    nowSeconds: 0,
    nearLimitRatio: 0.8,
  };
  assertEquals(
    judge(
      { isOver: false, hitsOver: 0, remaining: 1, resetSeconds: 7 },
      options,
    ),
    {
      code: OK,
      remaining: 1,
      resetSeconds: 7,
      overHits: 0,
      nearHits: 1,
      withinHits: 4,
      isFromCache: false,
    },
  );
  const over = judge({
    isOver: true,
    hitsOver: 4,
    remaining: 1,
    resetSeconds: 7,
    isFromCache: true,
  }, options);
  assertEquals(over.code, OVER_LIMIT);
  assertEquals(over.remaining, 1);
  assertEquals(over.overHits, 4);
  assertEquals(over.nearHits, 0);
  assertEquals(over.withinHits, 0);
  assertEquals(over.isFromCache, true);
});
