import {
  assertEquals,
  assertInstanceOf,
  assertStringIncludes,
} from "@std/assert";
import {
  CODE,
  type DescriptorStatus,
  type RateLimitResponse,
} from "../../../proto/rate_limit_response.ts";
import { DeciderBench, NOW } from "../../../tests/support/decider_bench.ts";
import { RecordingLogger } from "../../../tests/support/recording_logger.ts";
import {
  createView,
  type RequestOfTest,
} from "../../../tests/support/create_view.ts";
import { MemoryStore } from "../counters/memory_store.ts";
import { StatsRegistry } from "../stats/registry.ts";
import { createRuleStatsCache } from "../stats/stats.ts";
import { Decider } from "./decide.ts";
import { StatsRecorder } from "./stats_recorder.ts";

function codes(response: RateLimitResponse): number[] {
  return [response.overallCode, ...response.statuses.map((s) => s.code)];
}

const { OK, OVER_LIMIT } = CODE;
const A_LIMIT = (limit: number, more = ""): string =>
  `domain: d
descriptors:
  - key: a
    ${more}
    rate_limit: {unit: minute, requests_per_unit: ${limit}}
`;

Deno.test("Decider.decide() counts each value of a key on its own when the rule has no value", () => {
  const bench = new DeciderBench(A_LIMIT(1));
  assertEquals(codes(bench.ask([["a", "x"]])), [OK, OK]);
  assertEquals(codes(bench.ask([["a", "y"]])), [OK, OK]);
  const over = bench.ask([["a", "x"]]);
  assertEquals(codes(over), [OVER_LIMIT, OVER_LIMIT]);
  const expected: DescriptorStatus = {
    code: OVER_LIMIT,
    currentLimit: { requestsPerUnit: 1, unit: 2 },
    limitRemaining: 0,
    durationUntilResetSeconds: 60 - NOW % 60,
  };
  assertEquals(over.statuses, [expected]);
  assertEquals(bench.stats(), {
    "rate_limit.d.a.total_hits": 3,
    "rate_limit.d.a.within_limit": 2,
    "rate_limit.d.a.near_limit": 2,
    "rate_limit.d.a.over_limit": 1,
  });
});

Deno.test("Decider.decide() is over its limit when any descriptor is", () => {
  const bench = new DeciderBench(`domain: d
descriptors:
  - {key: a, rate_limit: {unit: minute, requests_per_unit: 5}}
  - {key: b, rate_limit: {unit: minute, requests_per_unit: 0}}
`);
  const response = bench.ask([["a", ""]], [["b", ""]], [["none", ""]]);
  assertEquals(codes(response), [OVER_LIMIT, OK, OVER_LIMIT, OK]);
  assertEquals(response.statuses[2], { code: OK, limitRemaining: 0 });
  assertEquals(bench.store.calls, 1);
});

Deno.test("Decider.decide() answers OK without asking the store when nothing has a limit", () => {
  const bench = new DeciderBench(`domain: d
descriptors:
  - {key: free}
  - {key: a, rate_limit: {unlimited: true}}
`);
  const response = bench.ask([["free", ""]], [["a", "1"]]);
  assertEquals(codes(response), [OK, OK, OK]);
  assertEquals(response.statuses[1], {
    code: OK,
    limitRemaining: 4_294_967_295,
  });
  assertEquals(bench.store.calls, 0);
  assertEquals(bench.stats(), {
    "rate_limit.d.a.total_hits": 1,
    "rate_limit.d.a.within_limit": 1,
  });
});

Deno.test("Decider.decide() counts the descriptors of a domain that has no rules", () => {
  const bench = new DeciderBench(A_LIMIT(1));
  const decision = bench.decide({
    domain: "other",
    descriptors: [[["a", "1"]], [["b", "1"]]],
  });
  assertEquals(decision.kind, "decided");
  assertEquals(bench.stats(), {
    "rate_limit.other.domain_not_found": 2,
    "domain_not_found": 2,
  });
});

Deno.test("Decider.decide() warns of each domain without rules once, and again after new rules", () => {
  const logger = new RecordingLogger();
  const bench = new DeciderBench(
    A_LIMIT(1).replace("domain: d", "domain: edge"),
    {
      logger,
    },
  );
  const ask = (...domains: readonly string[]) => {
    for (const domain of domains) {
      bench.answer({ domain, descriptors: [[["a", "1"]]] });
    }
    return logger.lines.splice(0).map(({ level, message }) =>
      `${level}: ${message}`
    );
  };
  const line = 'warning: No rules have the domain "edgee": its requests are ' +
    'allowed; did you mean "edge"?';
  assertEquals(ask("edge", "edgee", "edgee", 'a\n"'), [
    line,
    'warning: No rules have the domain "a\\n\\"": its requests are allowed',
  ]);
  assertEquals(ask("edgee"), []);
  bench.reload(A_LIMIT(2).replace("domain: d", "domain: edge"));
  assertEquals(ask("edgee"), [line]);
});

Deno.test("Decider.decide() warns of a hundred domains without rules, and that there are more", () => {
  const logger = new RecordingLogger();
  const bench = new DeciderBench(A_LIMIT(1), { logger });
  for (let at = 0; at < 1_000; at++) {
    // The long ones differ where no line would show it.
    const domain = `${"x".repeat(at < 500 ? 9_999 : 0)}no_${at}`;
    bench.answer({ domain, descriptors: [[["a", "1"]]] });
  }
  assertEquals(logger.lines.length, 101);
  assertStringIncludes(logger.messages.at(-1)!, "further domains");
  assertEquals(bench.stats()["domain_not_found"], 1_000);
});

Deno.test("Decider.decide() leaves the replaced rule's counter alone when both rules match", () => {
  const bench = new DeciderBench(`domain: d
descriptors:
  - key: a
    rate_limit: {name: base, unit: minute, requests_per_unit: 5}
  - key: b
    rate_limit: {unit: minute, requests_per_unit: 9, replaces: [{name: base}]}
`);
  const both = bench.ask([["a", "x"]], [["b", "x"]]);
  assertEquals(both.statuses.map((s) => s.currentLimit?.requestsPerUnit), [
    undefined,
    9,
  ]);
  assertEquals([...bench.store.counts.keys()], ["d_b_x_minute_"]);
  const alone = bench.ask([["a", "x"]]);
  assertEquals(alone.statuses[0]!.currentLimit, {
    requestsPerUnit: 5,
    unit: 2,
    name: "base",
  });
  assertEquals(bench.stats()["rate_limit.d.a.total_hits"], 1);
});

Deno.test("Decider.decide() drops both rules when they replace each other", () => {
  const rule = (key: string, other: string): string =>
    `  - key: ${key}
    rate_limit: {name: ${key}, unit: minute, requests_per_unit: 1, replaces: [{name: ${other}}]}
`;
  const bench = new DeciderBench(
    `domain: d\ndescriptors:\n${rule("a", "b")}${rule("b", "a")}`,
  );
  bench.ask([["a", "x"]], [["b", "x"]]);
  assertEquals(bench.store.counts.size, 0);
});

Deno.test("Decider.decide() answers OK and counts the override when a rule is in shadow mode", () => {
  const bench = new DeciderBench(A_LIMIT(1, "shadow_mode: true"));
  bench.ask([["a", "x"]]);
  const response = bench.ask([["a", "x"]]);
  assertEquals(codes(response), [OK, OK]);
  assertEquals(response.statuses[0]!.limitRemaining, 0);
  assertEquals(bench.stats()["rate_limit.d.a.over_limit"], 1);
  assertEquals(bench.stats()["rate_limit.d.a.shadow_mode"], 1);
});

Deno.test("Decider.decide() turns only the overall code when global shadow mode is on", () => {
  const bench = new DeciderBench(A_LIMIT(0), { shadowMode: true });
  assertEquals(codes(bench.ask([["a", "x"]])), [OK, OVER_LIMIT]);
  assertEquals(bench.stats()["global_shadow_mode"], 1);
});

Deno.test("Decider.decide() names the matched value in statistics when the rule asks for detail", () => {
  const bench = new DeciderBench(`domain: d
descriptors:
  - key: a
    descriptors:
      - key: b
        detailed_metric: true
        rate_limit: {unit: minute, requests_per_unit: 1}
      - key: c
        value: x*
        value_to_metric: true
        rate_limit: {unit: minute, requests_per_unit: 1}
`);
  bench.ask([["a", "1"], ["b", "10.0.0.1"]]);
  bench.ask([["a", "1"], ["c", "xyz"]]);
  assertEquals(bench.stats()["rate_limit.d.a_1.b_10_0_0_1.total_hits"], 1);
  assertEquals(bench.stats()["rate_limit.d.a.c_xyz.total_hits"], 1);
});

Deno.test("Decider.decide() bounds each part of a name that a request brings", () => {
  const bench = new DeciderBench(`domain: d
descriptors:
  - key: a
    detailed_metric: true
    rate_limit: {unit: minute, requests_per_unit: 9}
`);
  const long = "v".repeat(3_000);
  bench.ask([["a", long]]);
  bench.decide({
    domain: "d",
    descriptors: [{
      entries: [[long, "1"], ["b", "2"]],
      limit: { requestsPerUnit: 9, unit: 1 },
    }],
  });
  bench.decide({ domain: "o".repeat(300), descriptors: [[["a", ""]]] });
  const names = Object.keys(bench.stats()).map((name) =>
    name.replace(/_[0-9a-f]{16}\b/, "_#").replace(/(v|o)\1{99,}/, "$1…")
  );
  assertEquals(names.toSorted(), [
    "domain_not_found",
    "rate_limit.d.a_v…_#.total_hits",
    "rate_limit.d.a_v…_#.within_limit",
    "rate_limit.d.v…_#.b_2.total_hits",
    "rate_limit.d.v…_#.b_2.within_limit",
    "rate_limit.o…_#.domain_not_found",
  ]);
});

Deno.test("Decider.decide() keeps one counter for all values when the threshold is shared", () => {
  const bench = new DeciderBench(`domain: d
descriptors:
  - key: a
    value: x*
    share_threshold: true
    detailed_metric: true
    rate_limit: {unit: minute, requests_per_unit: 5}
`);
  bench.ask([["a", "x1"]], [["a", "x2"]]);
  assertEquals(Object.fromEntries(bench.store.counts), { "d_a_x*_minute_": 2 });
  assertEquals(bench.stats()["rate_limit.d.a_x*.total_hits"], 2);
});

Deno.test("Decider.decide() refuses with quotas only when all of them are used up", () => {
  const bench = new DeciderBench(`domain: d
descriptors:
  - {key: a, quota_mode: true, rate_limit: {unit: minute, requests_per_unit: 0}}
  - {key: b, quota_mode: true, rate_limit: {unit: minute, requests_per_unit: 1}}
`);
  assertEquals(codes(bench.ask([["a", ""]], [["b", ""]])), [
    OK,
    OVER_LIMIT,
    OK,
  ]);
  assertEquals(bench.ask([["a", ""]], [["b", ""]]).overallCode, OVER_LIMIT);
});

Deno.test("Decider.decide() takes unmatched descriptors for passed quotas when all are quotas", () => {
  const bench = new DeciderBench(A_LIMIT(0), { quotaMode: true });
  assertEquals(bench.ask([["a", ""]], [["none", ""]]).overallCode, OK);
  assertEquals(bench.ask([["a", ""]]).overallCode, OVER_LIMIT);
});

Deno.test("Decider.decide() counts the hits that the request and its descriptors bring", () => {
  const bench = new DeciderBench(A_LIMIT(10));
  const decision = bench.decide({
    domain: "d",
    hitsAddend: 3,
    descriptors: [
      [["a", "request"]],
      { entries: [["a", "own"]], hitsAddend: 5 },
      { entries: [["a", "look"]], hitsAddend: 0 },
      { entries: [["a", "back"]], hitsAddend: 2, isNegativeHits: true },
    ],
  });
  assertEquals(decision.kind, "decided");
  assertEquals(Object.fromEntries(bench.store.counts), {
    "d_a_request_minute_": 3,
    "d_a_own_minute_": 5,
    "d_a_look_minute_": 0,
    "d_a_back_minute_": 0,
  });
  assertEquals(bench.stats()["rate_limit.d.a.total_hits"], 8);
  assertEquals(bench.stats()["rate_limit.d.a.total_negative_hits"], 2);
});

Deno.test("Decider.decide() lets the limit of the request win over every rule of a known domain", () => {
  const bench = new DeciderBench(A_LIMIT(0, "shadow_mode: true"));
  const descriptor = {
    entries: [["a", "x"], ["b", ""]] as const,
    limit: { requestsPerUnit: 1, unit: 3 },
  };
  assertEquals(codes(bench.ask(descriptor)), [OK, OK]);
  const over = bench.ask(descriptor);
  assertEquals(codes(over), [OVER_LIMIT, OVER_LIMIT]);
  assertEquals(over.statuses[0]!.currentLimit, { requestsPerUnit: 1, unit: 3 });
  assertEquals(bench.stats()["rate_limit.d.a_x.b.total_hits"], 2);
});

Deno.test("Decider.decide() calls the request invalid when domain, descriptors or unit are missing", () => {
  const bench = new DeciderBench(A_LIMIT(1));
  const rows: readonly [RequestOfTest, string][] = [
    [{ domain: "", descriptors: [] }, "domain must not be empty"],
    [{ domain: "d", descriptors: [] }, "list must not be empty"],
    [
      {
        domain: "d",
        descriptors: [[["a", "1"]], {
          entries: [["a", "x"]],
          limit: { requestsPerUnit: 1, unit: 0 },
        }],
      },
      "no usable unit: 0",
    ],
    [
      {
        domain: "d",
        descriptors: [{
          entries: [["a", "x"]],
          limit: { requestsPerUnit: 1, unit: 8 },
        }],
      },
      "no usable unit: 8",
    ],
  ];
  for (const [request, expected] of rows) {
    const decision = bench.decide(request);
    if (decision.kind !== "invalid") throw new Error(decision.kind);
    assertStringIncludes(decision.reason, expected);
  }
  assertEquals(bench.store.calls, 0);
});

Deno.test("Decider.decide() is unavailable without rules and without its store", () => {
  const bench = new DeciderBench(A_LIMIT(1));
  bench.store.down = true;
  const request = { domain: "d", descriptors: [[["a", "x"]] as const] };
  assertEquals(bench.decide(request), {
    kind: "unavailable",
    cause: "store",
    reason: "store is down",
  });
  assertEquals(bench.stats(), {});
  const registry = new StatsRegistry({});
  const empty = new Decider({
    store: bench.store,
    recorder: new StatsRecorder(registry, {
      configured: createRuleStatsCache(registry),
      requested: createRuleStatsCache(registry),
    }),
  });
  assertEquals(empty.decide(createView(request), NOW), {
    kind: "unavailable",
    cause: "configuration",
    reason: "no rate limit configuration loaded",
  });
});

Deno.test("Decider.decide() keeps the rules a call began with when new ones come while the store works", async () => {
  const bench = new DeciderBench(A_LIMIT(1));
  const inner = bench.store;
  const gate = Promise.withResolvers<void>();
  const registry = new StatsRegistry({});
  const decider = new Decider({
    store: {
      apply: async (batch) => {
        const answer = inner.apply(batch);
        await gate.promise;
        return answer;
      },
      isHealthy: () => true,
      start: () => Promise.resolve(),
      stop: () => Promise.resolve(),
    },
    recorder: new StatsRecorder(registry, {
      configured: createRuleStatsCache(registry),
      requested: createRuleStatsCache(registry),
    }),
  });
  decider.adopt(bench.decider.snapshot!);
  const view = createView({ domain: "d", descriptors: [[["a", "x"]]] });
  const pending = decider.decide(view, NOW);
  assertInstanceOf(pending, Promise);
  decider.adopt(new DeciderBench(A_LIMIT(7)).decider.snapshot!);
  view.reset(new Uint8Array(0));
  gate.resolve();
  const decision = await pending;
  if (decision.kind !== "decided") throw new Error(decision.kind);
  const [status] = decision.response.statuses;
  assertEquals(status!.currentLimit?.requestsPerUnit, 1);
});

Deno.test("Decider.decide() writes keys that no two descriptors share", () => {
  const yaml = `domain: d
descriptors:
  - key: a
    rate_limit: {unit: minute, requests_per_unit: 5}
    descriptors:
      - {key: b, rate_limit: {unit: minute, requests_per_unit: 5}}
`;
  const bench = new DeciderBench(yaml, { prefix: "p:" });
  bench.ask([["a", "x_b"]], [["a", "x"], ["b", ""]], [["a", "x\\"]]);
  assertEquals([...bench.store.counts.keys()], [
    "p:d_a_x\\_b_minute_",
    "p:d_a_x_b__minute_",
    "p:d_a_x\\\\_minute_",
  ]);
});

Deno.test("Decider.decide() writes the reference's bytes when asked to", () => {
  const bench = new DeciderBench(A_LIMIT(5), { keyFormat: "reference" });
  bench.ask([["a", "x_y"]]);
  bench.ask({
    entries: [["a", "x_y"]],
    limit: { requestsPerUnit: 9, unit: 2 },
  });
  assertEquals(Object.fromEntries(bench.store.counts), { "d_a_x_y_": 2 });
});

Deno.test("Decider.decide() adds headers of the status that matters most", () => {
  const headers = { limit: "L", remaining: "R", reset: "S" };
  const bench = new DeciderBench(
    `domain: d
descriptors:
  - {key: a, rate_limit: {unit: minute, requests_per_unit: 5}}
  - {key: b, rate_limit: {unit: hour, requests_per_unit: 3}}
  - {key: c, rate_limit: {unit: second, requests_per_unit: 0}}
  - {key: u, rate_limit: {unlimited: true}}
`,
    { headers },
  );
  const shown = (response: RateLimitResponse): string =>
    response.responseHeadersToAdd.map((h) => `${h.key}=${h.value}`).join(" ");
  assertEquals(shown(bench.ask([["u", ""]])), "");
  assertEquals(
    shown(bench.ask([["u", ""]], [["a", ""]], [["b", ""]])),
    `L=3 R=2 S=${3600 - NOW % 3600}`,
  );
  assertEquals(shown(bench.ask([["c", ""]], [["a", ""]])), "L=0 R=0 S=1");
});

Deno.test("Decider.decide() hands out the metadata of rules that passed without changing the rules", () => {
  const bench = new DeciderBench(
    `domain: d
descriptors:
  - key: a
    rate_limit: {unit: minute, requests_per_unit: 5}
    metadata: {plan: gold, deep: {a: 1}}
  - key: b
    rate_limit: {unit: minute, requests_per_unit: 5}
    metadata: {plan: silver, deep: {b: 2}}
  - key: c
    rate_limit: {unit: minute, requests_per_unit: 0}
    metadata: {never: true}
`,
    { dynamicMetadata: true },
  );
  const all = bench.ask([["a", "1"]], [["b", ""]], [["c", ""]]);
  assertEquals(all.dynamicMetadata, {
    domain: "d",
    descriptors: [
      { entries: ["a=1"] },
      { entries: ["b="] },
      { entries: ["c="] },
    ],
    metadata: { plan: "gold", deep: { a: 1, b: 2 } },
  });
  const alone = bench.ask({
    entries: [["a", "1"]],
    hitsAddend: 2,
  }, {
    entries: [["z", "1"]],
    limit: { requestsPerUnit: 4, unit: 3 },
  });
  assertEquals(alone.dynamicMetadata, {
    domain: "d",
    descriptors: [
      { entries: ["a=1"], hitsAddend: 2 },
      { entries: ["z=1"], limit: "requests_per_unit:4 unit:HOUR" },
    ],
    metadata: { plan: "gold", deep: { a: 1 } },
  });
});

const BUCKET = `domain: d
descriptors:
  - key: a
    rate_limit: &bucket
      unit: minute
      requests_per_unit: 5
      algorithm: token_bucket
      burst: 10
  - key: shadow
    shadow_mode: true
    rate_limit: *bucket
  - key: sliding
    rate_limit: {unit: minute, requests_per_unit: 2, algorithm: sliding_window}
`;

function bucketBench(): DeciderBench {
  return new DeciderBench(BUCKET, {
    store: new MemoryStore({ monotonicMs: () => 0 }),
  });
}

Deno.test("Decider.decide() judges a token bucket by its burst, and tells the rule's rate", () => {
  const bench = bucketBench();
  const ask = (hitsAddend: number): DescriptorStatus =>
    bench.answer({ domain: "d", descriptors: [[["a", "x"]]], hitsAddend })
      .statuses[0]!;
  assertEquals(ask(7), {
    code: OK,
    currentLimit: { requestsPerUnit: 5, unit: 2 },
    limitRemaining: 3,
    durationUntilResetSeconds: 84,
  });
  // All four are refused and none is charged: three remain.
  assertEquals(ask(4), {
    code: OVER_LIMIT,
    currentLimit: { requestsPerUnit: 5, unit: 2 },
    limitRemaining: 3,
    durationUntilResetSeconds: 12,
  });
  assertEquals(ask(3).limitRemaining, 0);
  assertEquals(bench.stats(), {
    "rate_limit.d.a.total_hits": 14,
    "rate_limit.d.a.within_limit": 10,
    "rate_limit.d.a.near_limit": 2,
    "rate_limit.d.a.over_limit": 4,
  });
});

Deno.test("Decider.decide() lets a bucket in shadow mode pass, and counts what it would have refused", () => {
  const bench = bucketBench();
  for (let call = 0; call < 13; call++) {
    assertEquals(codes(bench.ask([["shadow", "x"]])), [OK, OK]);
  }
  assertEquals(bench.stats()["rate_limit.d.shadow.shadow_mode"], 3);
  assertEquals(bench.stats()["rate_limit.d.shadow.over_limit"], 3);
});

Deno.test("Decider.decide() counts a limit that comes with the request by fixed windows, beside the rule's own counter", () => {
  const bench = bucketBench();
  const entries = [["sliding", "x"]] as const;
  const limit = { requestsPerUnit: 3, unit: 2 };
  for (let call = 1; call <= 4; call++) {
    const { statuses } = bench.ask({ entries, limit });
    assertEquals(statuses[0]!.code, call <= 3 ? OK : OVER_LIMIT);
    assertEquals(statuses[0]!.durationUntilResetSeconds, 60 - NOW % 60);
  }
  assertEquals(bench.ask({ entries }).statuses[0]!.limitRemaining, 1);
});
