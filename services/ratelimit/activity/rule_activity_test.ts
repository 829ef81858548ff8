import { assertEquals } from "@std/assert";
import { DeciderBench } from "../../../tests/support/decider_bench.ts";
import { FakeClock } from "../../../tests/support/fake_clock.ts";
import { RecordingLogger } from "../../../tests/support/recording_logger.ts";
import { NEVER_PAUSING } from "../../shared/slices.ts";
import { StatsRegistry } from "../stats/registry.ts";
import { createRuleStatsCache, statPath } from "../stats/stats.ts";
import { RuleActivity } from "./rule_activity.ts";

const RULES = `domain: d
descriptors:
  - {key: plain, rate_limit: {unit: hour, requests_per_unit: 2}}
  - key: user
    detailed_metric: true
    shadow_mode: true
    rate_limit: {unit: hour, requests_per_unit: 1}
`;

function world(registry = new StatsRegistry()) {
  const clock = new FakeClock();
  const logger = new RecordingLogger();
  const activity = new RuleActivity({
    registry,
    pausing: NEVER_PAUSING,
    clock,
    logger,
  });
  return { registry, clock, logger, activity };
}

Deno.test("RuleActivity tells what each rule did in the last minute and hour, by value where statistics show values", async () => {
  const registry = new StatsRegistry();
  const bench = new DeciderBench(RULES, { registry });
  const { activity, clock } = world(registry);
  await activity.start();
  const ask = (key: string, value: string) =>
    bench.ask({ entries: [[key, value]] });
  for (let call = 0; call < 3; call++) ask("plain", "x");
  await clock.advanceAsync(1_000);
  for (let call = 0; call < 2; call++) ask("user", "ann");
  ask("user", "bob");
  await clock.advanceAsync(120_000);
  ask("user", "bob");
  await clock.advanceAsync(1_000);
  const rules = activity.byRule();
  assertEquals([...rules.keys()], [
    statPath(["d", "plain"]),
    statPath(["d", "user"]),
  ]);
  const [plain, user] = [...rules.values()];
  assertEquals(plain!.minute.hits, 0);
  assertEquals(plain!.hour, {
    hits: 3,
    over: 1,
    near: 1,
    within: 2,
    shadow: 0,
  });
  assertEquals(user!.minute, {
    hits: 1,
    over: 1,
    near: 0,
    within: 0,
    shadow: 1,
  });
  const path = statPath(["d", "user"]);
  assertEquals(
    activity.paths(path).map(({ path, hour }) => [path, hour.hits, hour.over]),
    [["d.user_ann", 2, 1], ["d.user_bob", 2, 1]],
  );
  assertEquals(activity.history(path).hits.slice(-4), [0, 3, 0, 1]);
  await activity.stop();
});

Deno.test("RuleActivity forgets a rule that had no hits for an hour, and goes on when it has some", async () => {
  const { registry, activity, clock } = world();
  const { totalHits } = createRuleStatsCache(registry).forPath("d\nk", "d\nk");
  totalHits.add(5);
  await activity.sample();
  assertEquals(activity.byRule().size, 1);
  clock.advance(3_600_001);
  await activity.sample();
  assertEquals(activity.byRule().size, 0);
  totalHits.add(2);
  await activity.sample();
  assertEquals(activity.byRule().get("d\nk")?.hour.hits, 2);
});

Deno.test("RuleActivity adds what other threads have counted, of which the unused counters are missing", async () => {
  const other = new StatsRegistry();
  const reader = other.openReader();
  createRuleStatsCache(other).forPath("d\nk_v", "d\nk").totalHits.add(4);
  const { registry, activity } = world();
  registry.absorb(1, [...reader.changes()]);
  await activity.sample();
  assertEquals(activity.byRule().get("d\nk")?.minute, {
    hits: 4,
    over: 0,
    near: 0,
    within: 0,
    shadow: 0,
  });
});

Deno.test("RuleActivity keeps fifteen thousand paths at most", async () => {
  const { registry, activity } = world(
    new StatsRegistry({ maxNames: 1_000_000 }),
  );
  const cache = createRuleStatsCache(registry, { maxPaths: 20_000 });
  for (let path = 0; path < 15_100; path++) {
    cache.forPath(`d\nk_${path}`, "d\nk").totalHits.add();
  }
  await activity.sample();
  assertEquals(activity.byRule().get("d\nk")?.hour.hits, 15_000);
});
