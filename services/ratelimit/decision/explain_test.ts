import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { DeciderBench, NOW } from "../../../tests/support/decider_bench.ts";
import {
  randomRequest,
  randomRules,
} from "../../../tests/support/random_rules.ts";
import { eachRound } from "../../../tests/support/rounds.ts";
import {
  createView,
  type RequestOfTest,
} from "../../../tests/support/create_view.ts";
import type { CounterAnswer } from "../counters/counter_store.ts";
import { MemoryStore } from "../counters/memory_store.ts";
import { loadRules } from "../rules/load.ts";
import {
  type DecisionRules,
  type ExplainedDescriptor,
  explainRequest,
  type Explanation,
} from "./explain.ts";
import { explanationJson, explanationText } from "./explain_text.ts";
import { lookBatch, predict } from "./predict.ts";

const PLAIN: DecisionRules = {
  keyFormat: "escaped",
  nearLimitRatio: 0.8,
  shadowMode: false,
  quotaMode: false,
  stopWhenOver: false,
};

function explain(yaml: string, request: RequestOfTest): Explanation {
  const { snapshot, faults } = loadRules([{ name: "r.yaml", text: yaml }]);
  assertEquals(faults, []);
  const explained = explainRequest(createView(request), {
    snapshot: snapshot!,
    rules: PLAIN,
  });
  if (explained.kind === "invalid") throw new Error(explained.reason);
  return explained;
}

function explainOne(
  yaml: string,
  ...descriptors: RequestOfTest["descriptors"]
): ExplainedDescriptor {
  return explain(yaml, { domain: "d", descriptors }).descriptors[0]!;
}

const RULES = `domain: d
descriptors:
  - key: user
    value: "al*"
    rate_limit: {unit: minute, requests_per_unit: 10}
  - key: user
    value: "a*"
    rate_limit: {unit: minute, requests_per_unit: 20}
  - key: user
    value: bob
    rate_limit: {unit: minute, requests_per_unit: 30}
  - key: user
    descriptors:
      - key: path
        value: /x
        rate_limit: {unit: hour, requests_per_unit: 5}
  - key: free
`;

Deno.test("explainRequest() tells the rule that applies, its file and line, its counter, and why the others do not", () => {
  const found = explainOne(RULES, [["user", "alice"]]);
  assertEquals(found.outcome, "limited");
  assertEquals(found.why, "d.user_al* (r.yaml:3) applies");
  assertEquals(found.limits[0]?.counterKey, "d_user_alice_minute_");
  assertEquals(found.statistics, "ratelimit.service.rate_limit.d.user_al*");
  assertEquals(found.limits[0]?.nearThreshold, 8);
  assertEquals(found.levels, [{
    entry: "user=alice",
    candidates: [
      { rule: "user_al*", isMatch: true, why: "its pattern matches" },
      {
        rule: "user_a*",
        isMatch: false,
        why: "its pattern matches too, but an earlier pattern comes first",
      },
      {
        rule: "user",
        isMatch: false,
        why: "it matches every value, but a more specific rule comes first",
      },
      { rule: "user_bob", isMatch: false, why: "it names another value" },
    ],
    omitted: 0,
  }]);
});

Deno.test("explainRequest() tells why no limit applies, and what was probably meant", () => {
  const cases: [RequestOfTest["descriptors"][number], string][] = [
    [
      [["usr", "x"]],
      'no rule at level 1 has the key "usr"; did you mean "user"?',
    ],
    [
      [["user", "c"], ["path", "/y"]],
      'no rule with the key "path" at level 2 matches the value "/y"',
    ],
    [
      [["user", "c"]],
      "what matches at level 1 sets no limit itself; limits are " +
      "deeper, and the descriptor has no further entry",
    ],
    [
      [["user", "bob"], ["path", "/x"]],
      "the rules that match have 1 level only, and the descriptor has 2 entries",
    ],
    [
      [["free", ""]],
      "what matches has neither a limit nor deeper levels: it is exempt",
    ],
    [[], "it has no entries, so no rule can match"],
  ];
  for (const [descriptor, why] of cases) {
    const found = explainOne(RULES, descriptor);
    assertEquals([found.outcome, found.why], ["free", why]);
  }
  const unknown = explain(RULES.replace("domain: d", "domain: basic"), {
    domain: "basik",
    descriptors: [[["user", "bob"]]],
  });
  assertEquals(
    [unknown.descriptors[0]?.why, unknown.descriptors[0]?.statistics],
    [
      'no configuration has the domain "basik"; did you mean "basic"?',
      "ratelimit.service.rate_limit.basik.domain_not_found",
    ],
  );
});

Deno.test("explainRequest() tells of replaced rules, limits of the request, shadow and quota modes", () => {
  const yaml = `domain: d
descriptors:
  - key: a
    rate_limit: {unit: minute, requests_per_unit: 1, name: one}
  - key: b
    shadow_mode: true
    quota_mode: true
    rate_limit:
      unit: minute
      requests_per_unit: 1
      replaces: [{name: one}, {name: onne}]
`;
  const replaced = explainOne(yaml, [["a", ""]], [["b", ""]]);
  assertEquals(
    [replaced.outcome, replaced.why],
    [
      "free",
      'd.a (r.yaml:3) matches, but its name "one" is replaced by d.b ' +
      "(r.yaml:5), which descriptor 2 matches",
    ],
  );
  assertEquals(explainOne(yaml, [["b", ""]]).notes, [
    "shadow_mode: over the limit the code is OK all the same",
    "quota_mode: refuses only when all quotas of the request are used up",
    'replaces "onne", but no rule of the domain has that name; did you mean ' +
    '"one"?',
  ]);
  const override = explainOne(yaml, {
    entries: [["a", "x"]],
    limit: { requestsPerUnit: 7, unit: 3 },
  });
  assertEquals(
    override.why,
    "the request brings a limit of its own, which " +
      "wins over all rules",
  );
  assertEquals(override.limits[0]?.requestsPerUnit, 7);
  assertEquals(override.notes, [
    "without the request's own limit d.a (r.yaml:3) applies",
  ]);
});

Deno.test("explainRequest() lists a bounded number of rules, the one that matches first", () => {
  const items = Array.from(
    { length: 5_000 },
    (_, at) =>
      `  - {key: k, value: v${at}, rate_limit: {unit: day, requests_per_unit: 1}}\n`,
  );
  const level = explainOne(`domain: d\ndescriptors:\n${items.join("")}`, [
    ["k", "v4999"],
  ]).levels[0]!;
  assertEquals(level.candidates[0]?.rule, "k_v4999");
  assertEquals(level.candidates.length + level.omitted, 5_000);
  assert(level.candidates.length <= 20);
});

Deno.test("explanationText() puts no foreign text on a line of its own", () => {
  const explanation = explain(RULES, {
    domain: "d\n",
    descriptors: [[["user", "x\u001b[2J\nanswer: OK"]]],
  });
  const whole = {
    explanation,
    counts: { kind: "not_asked" as const },
    nowSeconds: NOW,
  };
  const text = explanationText(whole);
  assert(!text.includes("\u001b"), text);
  assertEquals(text.split("\n").filter((line) => line.startsWith("answer")), [
    "answer: depends on the counters, which are not asked here",
  ]);
  assertStringIncludes(JSON.stringify(explanationJson(whole)), '"not_asked"');
});

Deno.test("predict() foretells what a decision then answers, for random rules and requests", async () => {
  await eachRound({ rounds: 150 }, ({ random }) => {
    const rules: DecisionRules = {
      keyFormat: random.pick(["escaped", "reference"]),
      nearLimitRatio: random.pick([0, 0.5, 0.8, 1]),
      shadowMode: random.chance(0.2),
      quotaMode: random.chance(0.2),
      stopWhenOver: random.chance(0.3),
    };
    let nowSeconds = NOW;
    const store = new MemoryStore({
      seed: 1,
      monotonicMs: () => nowSeconds * 1000,
    });
    const bench = new DeciderBench(randomRules(random), { ...rules, store });
    for (let at = 0; at < 40; at++) {
      nowSeconds += random.pick([0, 0, 1, 30]);
      const request = randomRequest(random);
      const view = createView(request);
      const explanation = explainRequest(view, {
        snapshot: bench.decider.snapshot!,
        rules,
      });
      if (explanation.kind === "invalid") throw new Error(explanation.reason);
      const { plan } = explanation;
      const answer: CounterAnswer = store.apply(lookBatch(plan, nowSeconds));
      if (answer.kind !== "counted") throw new Error(answer.reason);
      const told = predict(plan, { looks: answer.results, nowSeconds, rules });
      const decision = bench.decide(request, nowSeconds);
      if (decision.kind !== "decided") throw new Error(decision.reason);
      assertEquals(listCodes(told.response), listCodes(decision.response));
      for (const [index, status] of decision.response.statuses.entries()) {
        const { outcome, rule } = explanation.descriptors[index]!;
        const limited = status.currentLimit !== undefined;
        assertEquals(outcome === "limited", limited);
        if (limited && !view.hasLimit(index)) {
          assertEquals(
            rule?.limit?.requestsPerUnit,
            status.currentLimit?.requestsPerUnit,
          );
        }
      }
    }
  });
});

function listCodes(
  response: ReturnType<typeof predict>["response"],
): unknown[] {
  return [
    response.overallCode,
    ...response.statuses.map(({ code, limitRemaining, currentLimit }) => [
      code,
      limitRemaining,
      currentLimit,
    ]),
  ];
}
