import { assertEquals } from "@std/assert";
import { MemoryStore } from "../../services/ratelimit/counters/memory_store.ts";
import { describeRules } from "../../services/ratelimit/rules/snapshot.ts";
import { loadRules } from "../../services/ratelimit/rules/load.ts";
import { DeciderBench } from "../support/decider_bench.ts";
import {
  formatCodes,
  formatHeaders,
  formatLimits,
  listRemaining,
} from "./answers.ts";

const MIDNIGHT = 1_795_219_200;

const BOTH = `domain: d
descriptors:
  - key: user
    rate_limit: {unit: second, requests_per_unit: 2}
    rate_limits:
      - {unit: day, requests_per_unit: 5, name: daily}
`;

function createBench(
  rules: string,
  options: ConstructorParameters<typeof DeciderBench>[1] = {},
): DeciderBench {
  const store = new MemoryStore();
  const bench = new DeciderBench(rules, { store, ...options });
  bench.nowSeconds = MIDNIGHT;
  return bench;
}

const USER = [["user", "ann"]] as const;

Deno.test("all limits of a descriptor count, and the strictest answers", () => {
  const bench = createBench(BOTH);
  assertEquals(formatLimits(bench.ask(USER)), "2");
  assertEquals(listRemaining(bench.ask(USER)), [0]);
  assertEquals(formatCodes(bench.ask(USER)), "OVER: OVER");
  bench.nowSeconds += 10;
  // Three of five are used up, so the limit of a second is the stricter one.
  assertEquals(formatLimits(bench.ask(USER)), "2");
  bench.nowSeconds += 1;
  const last = bench.ask(USER);
  assertEquals([formatLimits(last), listRemaining(last)], ["5", [0]]);
  assertEquals(last.statuses[0]!.currentLimit?.name, "daily");
  bench.nowSeconds += 1;
  const over = bench.ask(USER);
  assertEquals([formatCodes(over), formatLimits(over)], ["OVER: OVER", "5"]);
  assertEquals(over.statuses[0]!.durationUntilResetSeconds, 86_400 - 12);
});

Deno.test("a list of limits needs no rate_limit beside it", () => {
  const bench = createBench(`domain: d
descriptors:
  - key: user
    rate_limits:
      - {unit: minute, requests_per_unit: 3}
      - {unit: hour, requests_per_unit: 4}
`);
  assertEquals(formatLimits(bench.ask(USER)), "3");
  assertEquals(bench.stats(), {
    "rate_limit.d.user.minute.total_hits": 1,
    "rate_limit.d.user.minute.within_limit": 1,
    "rate_limit.d.user.hour.total_hits": 1,
    "rate_limit.d.user.hour.within_limit": 1,
  });
});

Deno.test("each of several limits has its statistics, by name or window", () => {
  const bench = createBench(BOTH);
  for (let i = 0; i < 3; i++) bench.ask(USER);
  const { "rate_limit.d.user.over_limit": first, ...rest } = bench.stats();
  assertEquals(first, 1);
  assertEquals(rest["rate_limit.d.user.daily.total_hits"], 3);
  assertEquals(rest["rate_limit.d.user.daily.over_limit"], undefined);
});

Deno.test("a shadowed one of several limits counts and never refuses", () => {
  const bench = createBench(`domain: d
descriptors:
  - key: user
    rate_limits:
      - {unit: minute, requests_per_unit: 3}
      - {unit: hour, requests_per_unit: 1, name: tight, shadow_mode: true}
`);
  bench.ask(USER);
  const second = bench.ask(USER);
  assertEquals([formatCodes(second), formatLimits(second)], ["OK: OK", "3"]);
  assertEquals(bench.stats()["rate_limit.d.user.tight.shadow_mode"], 1);
  bench.ask(USER);
  assertEquals(formatCodes(bench.ask(USER)), "OVER: OVER");
});

Deno.test("a replaced one of several limits is dropped alone", () => {
  const bench = createBench(`${BOTH}
  - key: vip
    rate_limit: {unit: day, requests_per_unit: 9, replaces: [{name: daily}]}
`);
  for (let i = 0; i < 2; i++) bench.ask(USER, [["vip", ""]]);
  const third = bench.ask(USER, [["vip", ""]]);
  assertEquals([formatCodes(third), formatLimits(third)], [
    "OVER: OVER OK",
    "2 9",
  ]);
  assertEquals(bench.stats()["rate_limit.d.user.daily.total_hits"], undefined);
});

Deno.test("each of several limits has its algorithm", () => {
  const bench = createBench(`domain: d
descriptors:
  - key: user
    rate_limits:
      - {unit: minute, requests_per_unit: 60, algorithm: token_bucket, burst: 2}
      - {unit: minute, requests_per_unit: 9}
`);
  const answers = [1, 2, 3].map(() => formatCodes(bench.ask(USER)));
  assertEquals(answers, ["OK: OK", "OK: OK", "OVER: OVER"]);
});

Deno.test("headers list all limits of a descriptor with their windows", () => {
  const headers = { limit: "L", remaining: "R", reset: "S" };
  const bench = createBench(BOTH, { headers });
  assertEquals(formatHeaders(bench.ask(USER)), "L=2, 2;w=1, 5;w=86400 R=1 S=1");
});

Deno.test("a window of any length is aligned to the epoch and answered as the nearest unit", () => {
  const headers = { limit: "L", remaining: "R", reset: "S" };
  const bench = createBench(
    `domain: d
descriptors:
  - {key: user, rate_limit: {window: 15m, requests_per_unit: 2}}
  - {key: day, rate_limit: {window: 86400s, requests_per_unit: 2}}
`,
    { headers, dynamicMetadata: true },
  );
  bench.nowSeconds = MIDNIGHT + 899;
  const answer = bench.ask(USER);
  assertEquals(formatHeaders(answer), "L=2, 2;w=900 R=1 S=1");
  assertEquals(answer.statuses[0]!.currentLimit, {
    requestsPerUnit: 2,
    unit: 3,
  });
  const { descriptors } = answer.dynamicMetadata as {
    readonly descriptors: unknown;
  };
  assertEquals(descriptors, [{
    entries: ["user=ann"],
    limits: [{
      requestsPerUnit: 2,
      windowSeconds: 900,
      limitRemaining: 1,
      durationUntilResetSeconds: 1,
      isOver: false,
    }],
  }]);
  bench.ask(USER);
  assertEquals(formatCodes(bench.ask(USER)), "OVER: OVER");
  bench.nowSeconds += 1;
  assertEquals(listRemaining(bench.ask(USER)), [1]);
  // A day is a day, however it is written.
  assertEquals(formatHeaders(bench.ask([["day", ""]])), "L=2 R=1 S=85500");
});

Deno.test("count_when_limited: false leaves the counters of a refused call as they are", () => {
  const rules = (count: string): string =>
    `domain: d
count_when_limited: ${count}
descriptors:
  - {key: user, rate_limit: {unit: day, requests_per_unit: 9}}
  - {key: path, rate_limit: {unit: day, requests_per_unit: 1}}
  - key: seen
    shadow_mode: true
    rate_limit: {unit: day, requests_per_unit: 0}
`;
  for (const [count, left] of [["true", 6], ["false", 8]] as const) {
    const bench = createBench(rules(count));
    const ask = () => bench.ask(USER, [["path", "/"]], [["seen", ""]]);
    const codes = [ask(), ask(), ask()].map(formatCodes);
    assertEquals(codes, [
      "OK: OK OK OK",
      "OVER: OK OVER OK",
      "OVER: OK OVER OK",
    ]);
    const look = bench.ask({ entries: USER, hitsAddend: 0 });
    assertEquals(listRemaining(look), [left]);
  }
});

Deno.test("counters of windows and further limits have names of their own in either format", () => {
  const rules = `domain: d
descriptors:
  - key: user
    rate_limit: {unit: day, requests_per_unit: 5}
    rate_limits: [{unit: hour, requests_per_unit: 2}]
  - {key: path, rate_limit: {window: 90s, requests_per_unit: 5}}
`;
  const names = (keyFormat: "escaped" | "reference"): readonly string[] => {
    const bench = new DeciderBench(rules, { keyFormat });
    bench.ask(USER, [["path", "/"]]);
    return [...bench.store.counts.keys()];
  };
  assertEquals(names("escaped"), [
    "d_user_ann_day_",
    "d_user_ann_hour_",
    "d_path_/_90s_",
  ]);
  assertEquals(names("reference"), [
    "d_user_ann_",
    "d_user_ann_hour_",
    "d_path_/_90s_",
  ]);
});

Deno.test("describeRules() shows each limit, and windows that are no unit", () => {
  const { snapshot } = loadRules([{
    name: "a.yaml",
    text:
      `${BOTH}  - {key: path, rate_limit: {window: 90m, requests_per_unit: 5}}\n`,
  }]);
  assertEquals(describeRules(snapshot!).map((line) => line.slice(2)), [
    "user: unit=SECOND requests_per_unit=2, shadow_mode: false, quota_mode: false",
    "user: unit=DAY requests_per_unit=5, shadow_mode: false, " +
    "quota_mode: false, limit: daily",
    "path: unit=HOUR requests_per_unit=5, shadow_mode: false, " +
    "quota_mode: false, window: 90m",
  ]);
});

Deno.test("loadRules() refuses limits that can't stand beside each other, and windows that are none", () => {
  const findFault = (descriptor: string): string => {
    const text = `domain: d\ndescriptors:\n  - {key: k, ${descriptor}}\n`;
    const { faults } = loadRules([{ name: "a.yaml", text }]);
    return faults.map(({ path, reason }) => `${path.join(".")}: ${reason}`)
      .join("; ");
  };
  const day = "unit: day, requests_per_unit: 1";
  const rows: readonly (readonly [string, string])[] = [
    [
      `rate_limit: {${day}}, rate_limits: [{window: 24h, requests_per_unit: 2}]`,
      "descriptors.0.rate_limits.0: two limits of one descriptor have the same " +
      "window and algorithm: only the lower one would matter",
    ],
    [
      `rate_limits: [{${day}, name: a}, {window: 2d, requests_per_unit: 2, name: a}]`,
      "descriptors.0.rate_limits.1.name: two limits of one descriptor are " +
      "named 'a'",
    ],
    [
      `rate_limit: {unlimited: true}, rate_limits: [{${day}}]`,
      "descriptors.0.rate_limit: should not specify rate_limits when unlimited",
    ],
    [
      `rate_limits: [{${day}, unlimited: true}]`,
      'descriptors.0.rate_limits.0.unlimited: config error, "unlimited" does ' +
      "not belong into an item of rate_limits; write it into rate_limit",
    ],
    [
      `rate_limit: {${day}, window: 1h}`,
      "descriptors.0.rate_limit.window: window stands in place of unit: take " +
      "one of the two out",
    ],
    [
      "rate_limits: [{window: 1.5s, requests_per_unit: 1}]",
      "descriptors.0.rate_limits.0.window: invalid window '1.5s', expected " +
      "whole seconds up to 366 days, such as 90s, 15m, 1h30m or 7d",
    ],
  ];
  for (const [descriptor, expected] of rows) {
    assertEquals(findFault(descriptor), expected);
  }
  for (const window of ["0s", "367d", "-1h", "soon", "1"]) {
    const fault = findFault(
      `rate_limit: {window: "${window}", requests_per_unit: 1}`,
    );
    assertEquals(fault.includes(`invalid window '${window}'`), true, window);
  }
});
