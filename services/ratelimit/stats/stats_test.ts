import {
  assert,
  assertEquals,
  assertNotEquals,
  assertStrictEquals,
  assertThrows,
} from "@std/assert";
import { SeededRandom } from "../../../tests/support/seeded_random.ts";
import { StatsRegistry } from "./registry.ts";
import {
  createRuleStatsCache,
  maxStatNameLength,
  statDomain,
  statName,
  statPath,
  statPathText,
  statSegment,
} from "./stats.ts";

Deno.test("statSegment() replaces what separates the fields of a line", () => {
  assertEquals(statSegment("path_/a:b|c"), "path_/a_b_c");
  assertEquals(statSegment("a\nb\rc\td\u0000e\u007ff"), "a_b_c_d_e_f");
  assertEquals(statSegment("a\u0085b\u2028c\u2029d"), "a_b_c_d");
});

Deno.test("statSegment() replaces the dots of IPv4 addresses only", () => {
  assertEquals(statSegment("ip_10.0.0.1"), "ip_10_0_0_1");
  assertEquals(
    statSegment("net_10.0.0.0/8_ip_1.2.3.4"),
    "net_10_0_0_0/8_ip_1_2_3_4",
  );
  assertEquals(statSegment("host_www.example.com"), "host_www.example.com");
  assertEquals(statSegment("version_1.2.3"), "version_1.2.3");
  assertEquals(statSegment("n_1234.5.6.7"), "n_1234.5.6.7");
});

Deno.test("statSegment() takes the form of a tag from a caller's value", () => {
  assertEquals(statSegment("user_x.__host=evil"), "user_x.host=evil");
  assertEquals(statSegment("__host=evil"), "host=evil");
  assertEquals(statSegment("x.\n\nhost=evil"), "x.host=evil");
  assertEquals(statSegment("a.__b.c=d"), "a.b.c=d");
  assertEquals(statSegment("plain.__name"), "plain.__name");
});

Deno.test("statSegment() finds nothing more to change the second time", () => {
  const random = new SeededRandom(7);
  const pieces = [
    ...["1.2.3.4", ".5", "1234", ".", "__", "_", "=", ":", "|", "\n", "a"],
    ...["\u{1f600}", "\ud83d", "255.", "é"],
  ];
  for (let round = 0; round < 5_000; round++) {
    let text = "";
    for (let n = random.below(12); n > 0; n--) text += random.pick(pieces);
    const once = statSegment(text);
    assertEquals(statSegment(once), once);
    assertEquals(statName(statName(text)), statName(text));
    assert(!/[:|\n]/.test(once));
    assert(!/(?:^|\.)__.*=/.test(once), once);
    assert(!/(?<!\d)\d{1,3}(\.\d{1,3}){3}(?!\d)/.test(once), once);
  }
});

Deno.test("statName() keeps tags and the other dots", () => {
  assertEquals(
    statName("ratelimit.memcache.multiget.__code=success"),
    "ratelimit.memcache.multiget.__code=success",
  );
});

Deno.test("statName() cuts long names so that they stay apart", () => {
  const long = "a".repeat(10_000);
  const one = statName(long + "1");
  const other = statName(long + "2");
  assertEquals(one.length, maxStatNameLength);
  assertNotEquals(one, other);
  assertEquals(statName(long + "1"), one);
  assertEquals(statName("a".repeat(512)).length, 512);
  assertEquals(statName("a".repeat(512)), "a".repeat(512));
});

Deno.test("statName() does not cut a character in two", () => {
  const name = statName("x" + "\u{1f600}".repeat(400));
  assert(name.length <= maxStatNameLength);
  assertEquals(name, name.toWellFormed());
  const shifted = statName("\u{1f600}".repeat(400));
  assertEquals(shifted, shifted.toWellFormed());
});

Deno.test("forPath() names the seven counters of a rule", () => {
  const stats = new StatsRegistry();
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
  const cache = createRuleStatsCache(new StatsRegistry());
  assertStrictEquals(cache.forPath("d.k"), cache.forPath("d.k"));
  assert(cache.forPath("d.k") !== cache.forPath("d.k2"));
});

Deno.test("forPath() cleans the path as a whole", () => {
  const stats = new StatsRegistry();
  createRuleStatsCache(stats).forPath("d.ip_10.0.0.1.path_a:b");
  assert(
    stats.snapshot().some(({ name }) =>
      name === "ratelimit.service.rate_limit.d.ip_10_0_0_1.path_a_b.total_hits"
    ),
  );
});

Deno.test("forPath() shares the overflow counters beyond maxPaths", () => {
  const stats = new StatsRegistry();
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
  const stats = new StatsRegistry();
  const cache = createRuleStatsCache(stats);
  const long = (end: string) => statPath(["d", `k_${"v".repeat(5_000)}${end}`]);
  const one = cache.forPath(long("1"));
  assert(one !== cache.forPath(long("2")));
  assertStrictEquals(one, cache.forPath(long("1")));
  const names = stats.snapshot().map(({ name }) => name);
  assertEquals(names.length, 21);
  assertEquals(names.filter((name) => name.endsWith(".total_hits")).length, 3);
  assert(names.every((name) => name.length <= 512));
});

Deno.test("statPath() cuts a long part alone, so that each keeps its place", () => {
  const long = "v".repeat(5_000);
  const parts = splitParts(["shop", `user_${long}`, "plan_a"]);
  assertEquals(parts.length, 3);
  const [domain, user = "", plan] = parts;
  assertEquals([domain, plan], ["shop", "plan_a"]);
  assert(/^user_v{234}_[0-9a-f]{16}$/.test(user), user);
  assertNotEquals(splitParts(["shop", `user_${long}1`, "plan_a"])[1], user);
  // Up to its bound a part is shown as it is.
  assertEquals(splitParts(["shop", "u".repeat(256)])[1], "u".repeat(256));
});

Deno.test("statPath() joins the levels that have no room to one", () => {
  const level = (at: number): string => `key${at}_${"v".repeat(100)}`;
  const levels = [0, 1, 2, 3, 4].map(level);
  const parts = splitParts(["shop", ...levels]);
  assertEquals(parts.slice(0, 4), ["shop", ...levels.slice(0, 3)]);
  assert(/^key3_v{100}\..*_[0-9a-f]{16}$/.test(parts[4] ?? ""), parts[4]);
  assertEquals(parts.length, 5);
  assertEquals(
    splitParts(["shop", ...Array(5_000).fill("k")]).length,
    33,
  );
});

Deno.test("statPath() keeps domain and first level, and the bound, whatever follows", () => {
  const random = new SeededRandom(31);
  const text = (): string =>
    random.pick(["a", "é.", "\u{1f600}", "1.2.3.4", ":", "=", ".__"])
      .repeat(random.below(random.pick([3, 300])));
  for (let round = 0; round < 2_000; round++) {
    const [domain, first] = [text(), text()];
    const alone = splitParts([domain, first]);
    const levels = Array.from({ length: 1 + random.below(40) }, text);
    const path = statPath([domain, first, ...levels]);
    assertEquals(path.split("\n").slice(0, 2), alone);
    assertEquals(alone[0], statDomain(domain));
    // With the prefix and the longest ending, a name is within its bound.
    assert(path.length <= maxStatNameLength - 57, `${path.length}`);
    assertEquals(statName(statPathText(path)).length, path.length);
  }
});

function splitParts(segments: readonly string[]): readonly string[] {
  return statPath(segments).split("\n");
}

Deno.test("createRuleStatsCache() refuses a bound that is none", () => {
  const stats = new StatsRegistry();
  assertThrows(
    () => createRuleStatsCache(stats, { maxPaths: -1 }),
    RangeError,
    "Cannot create a cache of rule statistics",
  );
});
