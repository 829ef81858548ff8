import { assertEquals, assertThrows } from "@std/assert";
import { loadRules } from "./load.ts";
import { descriptorText, linesAround, ruleYaml } from "./rule_yaml.ts";
import type { Rule } from "./snapshot.ts";

const RULES = `domain: "on"
descriptors:
  - key: user id
    value: "12"
    descriptors:
      - key: path
        value: /a/*
        share_threshold: true
        metadata: {owner: team, list: [1, "x"]}
        rate_limit: {unit: minute, requests_per_unit: 7, name: short}
        rate_limits:
          - {unit: day, requests_per_unit: 70, name: daily, shadow_mode: true}
          - window: 15m
            requests_per_unit: 9
            algorithm: sliding_window
  - key: plain
    shadow_mode: true
    quota_mode: true
    detailed_metric: true
    value_to_metric: true
    rate_limit:
      unit: second
      requests_per_unit: 5
      algorithm: token_bucket
      burst: 50
      replaces: [{name: short}]
  - key: free
    value: "é: #"
    rate_limit: {unlimited: true}
  - key: several
    rate_limits:
      - {unit: hour, requests_per_unit: 1}
`;

function load(text: string): readonly Rule[] {
  const { snapshot, faults } = loadRules([{ name: "a.yaml", text }]);
  assertEquals(faults, []);
  return snapshot!.rules;
}

/** What a rule means, without its place. */
function meaning(rule: Rule): unknown {
  const { id: _, file: __, line: ___, levels, others, ...rest } = rule;
  return {
    ...rest,
    others: others.map(meaning),
    levels: levels.map(({ key, value, shareThreshold, valueToMetric }) => ({
      ...{ key, value, shareThreshold, valueToMetric },
    })),
  };
}

Deno.test("ruleYaml() writes descriptors that are read back as the same rules", () => {
  const firsts = load(RULES).filter((rule, index, all) =>
    all.findIndex(({ levels }) => levels === rule.levels) === index
  );
  assertEquals(firsts.length, 4);
  for (const first of firsts) {
    const yaml = ruleYaml([first, ...first.others]);
    assertEquals(meaning(load(yaml)[0]!), meaning(first), yaml);
  }
});

Deno.test("ruleYaml() quotes only what needs it, and refuses to write nothing", () => {
  const [rule] = load(
    "domain: edge\ndescriptors: [{key: path, value: /a, rate_limit: " +
      "{unit: day, requests_per_unit: 2}}]",
  );
  assertEquals(
    ruleYaml([rule!]),
    `domain: edge
descriptors:
  - key: path
    value: /a
    rate_limit:
      unit: day
      requests_per_unit: 2
`,
  );
  assertThrows(() => ruleYaml([]), TypeError, "no rule");
});

Deno.test("descriptorText() cuts a descriptor out of its file", () => {
  assertEquals(
    descriptorText(RULES, 3).split("\n").slice(0, 4),
    ["- key: user id", '  value: "12"', "  descriptors:", "    - key: path"],
  );
  assertEquals(
    descriptorText(RULES, 27),
    '- key: free\n  value: "é: #"\n  rate_limit: {unlimited: true}\n',
  );
  assertEquals(descriptorText("a", 9), "\n");
});

Deno.test("linesAround() marks a line among its neighbours", () => {
  const text = "a\nb\nc\nd\ne";
  assertEquals(linesAround(text, 1), "> 1 | a\n  2 | b\n  3 | c\n");
  assertEquals(linesAround(text, 5, 1), "  4 | d\n> 5 | e\n");
  assertEquals(linesAround(text, 77), "");
});
