import {
  assert,
  assertEquals,
  assertStrictEquals,
  assertThrows,
} from "@std/assert";
import { createStatsRegistry } from "./registry.ts";
import { createRuleStatsCache } from "./rule_stats.ts";

Deno.test("forPath() names the seven counters of a rule", () => {
  const stats = createStatsRegistry();
  const rule = createRuleStatsCache(stats).forPath("basic.key1_a");
  rule.totalHits.add(6);
  rule.overLimit.add(5);
  rule.nearLimit.add(4);
  rule.overLimitWithLocalCache.add(3);
  rule.withinLimit.add(2);
  rule.shadowMode.add(1);
  rule.totalNegativeHits.add(7);
  const named = stats.snapshot()
    .filter(({ name }) => name.includes("basic"))
    .map((reading) =>
      reading.kind === "counter" && [reading.name, reading.value]
    );
  const path = "ratelimit.service.rate_limit.basic.key1_a";
  assertEquals(named, [
    [`${path}.near_limit`, 4],
    [`${path}.over_limit`, 5],
    [`${path}.over_limit_with_local_cache`, 3],
    [`${path}.shadow_mode`, 1],
    [`${path}.total_hits`, 6],
    [`${path}.total_negative_hits`, 7],
    [`${path}.within_limit`, 2],
  ]);
});

Deno.test("forPath() gives one object for one path", () => {
  const cache = createRuleStatsCache(createStatsRegistry());
  assertStrictEquals(cache.forPath("d.k"), cache.forPath("d.k"));
  assert(cache.forPath("d.k") !== cache.forPath("d.k2"));
});

Deno.test("forPath() cleans the path as a whole", () => {
  const stats = createStatsRegistry();
  createRuleStatsCache(stats).forPath("d.ip_10.0.0.1.path_a:b");
  assert(
    stats.snapshot().some(({ name }) =>
      name === "ratelimit.service.rate_limit.d.ip_10_0_0_1.path_a_b.total_hits"
    ),
  );
});

Deno.test("forPath() shares the overflow counters beyond maxPaths", () => {
  const stats = createStatsRegistry();
  const cache = createRuleStatsCache(stats, { maxPaths: 2 });
  const first = cache.forPath("d.a");
  cache.forPath("d.b");
  const shared = cache.forPath("d.c");
  for (let n = 0; n < 1_000; n++) {
    assertStrictEquals(cache.forPath(`d.${n}`), shared);
  }
  assertStrictEquals(cache.forPath("d.a"), first);
  shared.totalHits.add(7);
  assertEquals(stats.size, 21);
  const name = "ratelimit.service.rate_limit.overflow.total_hits";
  assertEquals(
    stats.snapshot().find((reading) => reading.name === name),
    { kind: "counter", name, value: 7 },
  );
});

Deno.test("forPath() keeps what is counted at the end of a long name", () => {
  const stats = createStatsRegistry();
  const cache = createRuleStatsCache(stats);
  const long = "d.k_" + "v".repeat(5_000);
  const one = cache.forPath(long + "1");
  assert(one !== cache.forPath(long + "2"));
  assertStrictEquals(one, cache.forPath(long + "1"));
  const names = stats.snapshot().map(({ name }) => name);
  assertEquals(names.length, 21);
  assertEquals(names.filter((name) => name.endsWith(".total_hits")).length, 3);
  assert(names.every((name) => name.length <= 512));
});

Deno.test("createRuleStatsCache() refuses a bound that is none", () => {
  const stats = createStatsRegistry();
  assertThrows(
    () => createRuleStatsCache(stats, { maxPaths: -1 }),
    RangeError,
    "Cannot create a cache of rule statistics",
  );
});
