import { assertEquals } from "@std/assert";
import { NO_FIGURES } from "./activity_report.ts";
import { ActivityBench } from "./testing/activity_bench.ts";

const RULES = `domain: d
descriptors:
  - key: user
    detailed_metric: true
    rate_limit: {unit: hour, requests_per_unit: 2}
    rate_limits:
      - {unit: day, requests_per_unit: 3, name: daily}
    descriptors:
      - {key: path, value: /a.b, rate_limit: {unit: hour, requests_per_unit: 1}}
  - {key: ip, rate_limit: {unlimited: true}}
`;

Deno.test("ActivityReports sums what rules did by the branches of their tree", async () => {
  const world = new ActivityBench(RULES);
  const { reports, activity } = world;
  world.ask([["user", "ann"]], 4);
  world.ask([["user", "ann"], ["path", "/a.b"]], 2);
  world.ask([["ip", "::1"]]);
  await activity.sample();
  const { index, rules, branches, others } = (await reports.report())!;
  assertEquals(
    [...rules.values()].map(({ name, recent }) => [
      name,
      recent.hour.hits,
      recent.hour.over,
    ]),
    [["d.user", 4, 2], ["d.user.daily", 4, 1], ["d.user.path_/a.b", 2, 1], [
      "d.ip",
      1,
      0,
    ]],
  );
  const sum = (...names: string[]) => {
    const branch = index.findBranch(names)!;
    const { hits, over } = (branches.get(branch) ?? NO_FIGURES).minute;
    return [branch.rules.length, branch.ruleCount, hits, over];
  };
  assertEquals(sum(), [0, 4, 11, 4]);
  assertEquals(sum("d"), [0, 4, 11, 4]);
  assertEquals(sum("d", "user"), [2, 3, 10, 4]);
  assertEquals(sum("d", "user", "path_/a.b"), [1, 1, 2, 1]);
  assertEquals(index.findBranch(["d", "path_/a.b"]), undefined);
  assertEquals(others, NO_FIGURES);
});

Deno.test("ActivityReports tells a rule's values, and its keys with their entries", async () => {
  const world = new ActivityBench(RULES);
  world.ask([["user", "bob"]], 3);
  world.ask([["user", "a_n"]], 5);
  await world.activity.sample();
  const found = (await world.reports.index())!.findName("d.user")!;
  const { recent, values, history } = world.reports.rule(found);
  assertEquals([recent.hour.hits, recent.hour.over], [8, 4]);
  assertEquals(values.map(({ path, hour }) => [path, hour.over]), [
    ["d.user_a_n", 3],
    ["d.user_bob", 1],
  ]);
  assertEquals(history.over.at(-1), 4);
  const keys = await world.reports.keys();
  assertEquals(
    keys?.map(({ rule, entries, perMinute }) => [
      rule?.name,
      entries,
      perMinute,
    ]),
    [
      ["d.user", [["user", "a_n"]], 3],
      ["d.user.daily", [["user", "a_n"]], 2],
      ["d.user", [["user", "bob"]], 1],
    ],
  );
});

Deno.test("ActivityReports counts what belongs to no rule in force with the others", async () => {
  const world = new ActivityBench(RULES);
  world.ask([["ip", "::1"]], 3);
  await world.activity.sample();
  world.bench.reload("domain: d\ndescriptors: [{key: x}]");
  const report = (await world.reports.report())!;
  assertEquals([report.rules.size, report.others.hour.hits], [0, 3]);
});

Deno.test("ActivityReports has nothing before the first rules, and no keys when keys are not looked for", async () => {
  const { reports } = new ActivityBench(undefined, { topKeys: false });
  assertEquals(await reports.report(), undefined);
  assertEquals(await reports.keys(), undefined);
});
