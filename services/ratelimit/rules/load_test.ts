import {
  assert,
  assertEquals,
  assertMatch,
  assertStringIncludes,
} from "@std/assert";
import { assertGrowth } from "../../../tests/support/growth.ts";
import { formatConfigFault } from "./config.ts";
import { loadRules } from "./load.ts";
import { describeRules, formatPath } from "./snapshot.ts";

const FAULTS: Readonly<Record<string, string>> = {
  yaml_syntax: "yaml_syntax.yaml:4: error loading config file: ",
  wrong_type_requests:
    'wrong_type_requests.yaml:6: error loading config file: got "many", ' +
    "expected a whole number from 0 to 4294967295 at " +
    "descriptors[0].rate_limit.requests_per_unit",
  negative_requests:
    'negative_requests.yaml:6: error loading config file: got "-1", ' +
    "expected a whole number",
  too_many_requests: "too_many_requests.yaml:6: error loading config file: " +
    'got "4294967296", expected a whole number from 0 to 4294967295',
  list_for_map: "list_for_map.yaml:4: error loading config file: expected a " +
    "map with unit and requests_per_unit at descriptors[0].rate_limit",
  map_for_list:
    "map_for_list.yaml:2: error loading config file: expected a list",
  key_not_text:
    "key_not_text.yaml:4: config error, key is not of type string: 0.25",
  key_is_boolean_word:
    "key_is_boolean_word.yaml:4: config error, key is not of type string: yes",
  unknown_key:
    "unknown_key.yaml:4: config error, unknown key 'rate_limit_of', " +
    "did you mean 'rate_limit' at descriptors[0].rate_limit_of",
  unknown_key_case:
    "unknown_key_case.yaml:2: config error, unknown key 'Descriptors', did " +
    "you mean 'descriptors'",
  misplaced_key: 'misplaced_key.yaml:7: config error, "shadow_mode" does not ' +
    "belong into rate_limit; write it into an item of descriptors",
  list_of_text:
    "list_of_text.yaml:3: config error, yaml file contains list of type " +
    "other than map: a at descriptors[0]",
  decimal: "decimal.yaml:4: error checking config: 0.25 is a decimal number",
  decimal_requests:
    "decimal_requests.yaml:6: error checking config: 1.5 is not a whole number",
  no_domain: "no_domain.yaml: config file cannot have empty domain",
  empty_domain: "empty_domain.yaml: config file cannot have empty domain",
  empty_file: "empty_file.yaml: config file cannot have empty domain",
  empty_key: "empty_key.yaml:3: descriptor has empty key at descriptors[0]",
  duplicate_descriptor: "duplicate_descriptor.yaml:6: duplicate descriptor " +
    "composite key 'edge.a_b' at descriptors[2].key",
  missing_unit: "missing_unit.yaml:4: invalid rate limit unit '', expected " +
    "one of second, minute, hour, day, week, month, year",
  unknown_unit:
    "unknown_unit.yaml:5: invalid rate limit unit 'unknown', expected one of",
  unit_with_unlimited: "unit_with_unlimited.yaml:5: should not specify rate " +
    "limit unit when unlimited",
  empty_replaces:
    "empty_replaces.yaml:8: should not have an empty replaces entry",
  replaces_itself: "replaces_itself.yaml:9: replaces should not contain name " +
    "of same descriptor",
  share_threshold_without_wildcard:
    "share_threshold_without_wildcard.yaml:5: share_threshold can only be " +
    "used with wildcard values (containing '*'), but found key 'a_b'",
  metadata_not_a_struct:
    'metadata_not_a_struct.yaml:4: error parsing metadata: ".inf" is not a ' +
    "value of a Struct",
  metadata_not_a_map:
    "metadata_not_a_map.yaml:4: error parsing metadata: expected a map",
  tab_indentation: "tab_indentation.yaml:5: error loading config file: the " +
    "line is indented with a tab; YAML takes spaces only",
  tab_after_dash:
    "tab_after_dash.yaml:3: error loading config file: the line " +
    "is indented with a tab",
  quoted_boolean:
    'quoted_boolean.yaml:4: error loading config file: "true" in quotes is a ' +
    "text, expected true or false; take the quotes off at " +
    "descriptors[0].shadow_mode",
  quoted_boolean_word: "quoted_boolean_word.yaml:3: error loading config " +
    'file: "yes" in quotes is a text, expected true or false',
  quoted_requests: "quoted_requests.yaml:6: error loading config file: " +
    '"5" in quotes is a text, expected a whole number',
  unknown_algorithm: "unknown_algorithm.yaml:7: unknown algorithm " +
    "'sliding_windw', did you mean 'sliding_window' at " +
    "descriptors[0].rate_limit.algorithm",
  no_such_algorithm: "no_such_algorithm.yaml:7: unknown algorithm 'leaky', " +
    "expected one of fixed_window, sliding_window, token_bucket",
  algorithm_with_unlimited: "algorithm_with_unlimited.yaml:6: should not " +
    "specify algorithm when unlimited",
  burst_with_unlimited: "burst_with_unlimited.yaml:6: should not specify " +
    "burst when unlimited",
  burst_without_bucket: "burst_without_bucket.yaml:8: burst is what a token " +
    "bucket holds: write algorithm: token_bucket beside it, or take it out",
  burst_of_zero: "burst_of_zero.yaml:8: burst of 0 refuses all",
  burst_without_rate: "burst_without_rate.yaml:8: burst never comes back " +
    "with requests_per_unit: 0",
  negative_burst:
    'negative_burst.yaml:8: error loading config file: got "-1", ' +
    "expected a whole number",
};

function fixture(name: string): { name: string; text: string } {
  const url = new URL(`testdata/${name}.yaml`, import.meta.url);
  return { name: `${name}.yaml`, text: Deno.readTextFileSync(url) };
}

for (const [name, expected] of Object.entries(FAULTS)) {
  Deno.test(`loadRules() refuses ${name}.yaml with place and reason`, () => {
    const { snapshot, faults } = loadRules([fixture(name)]);
    assertEquals(snapshot, undefined);
    assertEquals(faults.length, 1, faults.map(formatConfigFault).join("\n"));
    assertStringIncludes(formatConfigFault(faults[0]!), expected);
  });
}

Deno.test("loadRules() has a test for every fixture", () => {
  const folder = new URL("testdata/", import.meta.url);
  const names = [...Deno.readDirSync(folder)].map(({ name }) =>
    name.replace(/\.yaml$/, "")
  );
  assertEquals(names.sort(), Object.keys(FAULTS).sort());
});

Deno.test("loadRules() refuses a domain in two files unless they are merged", () => {
  const files = [
    { name: "a.yaml", text: "domain: d\ndescriptors: [{key: x}]\n" },
    { name: "b.yaml", text: "domain: d\ndescriptors: [{key: y}]\n" },
  ];
  const [fault] = loadRules(files).faults;
  assertStringIncludes(
    formatConfigFault(fault!),
    "b.yaml:1: duplicate domain 'd' in config file",
  );
  assert(loadRules(files, { mergeDomains: true }).snapshot !== undefined);
});

Deno.test("loadRules() refuses a descriptor that two merged files both have", () => {
  const text = "domain: d\ndescriptors: [{key: x, value: y}]\n";
  const { faults } = loadRules([{ name: "a.yaml", text }, {
    name: "b.yaml",
    text,
  }], { mergeDomains: true });
  assertStringIncludes(
    formatConfigFault(faults[0]!),
    "b.yaml:2: duplicate descriptor composite key 'd.x_y'",
  );
});

Deno.test("loadRules() reports the faults of all files at once", () => {
  const { faults } = loadRules([
    fixture("missing_unit"),
    fixture("empty_key"),
    fixture("unknown_key"),
  ]);
  assertEquals(faults.map((fault) => fault.file).sort(), [
    "empty_key.yaml",
    "missing_unit.yaml",
    "unknown_key.yaml",
  ]);
});

Deno.test("loadRules() takes unquoted numbers, booleans and dates as the text they are written as", () => {
  const { snapshot, faults } = loadRules([{
    name: "a.yaml",
    text: `domain: 7
descriptors:
  - key: true
    value: 010
    rate_limit: {unit: Minute, requests_per_unit: 1_000}
  - key: day
    value: 2026-01-02
    rate_limit: {unit: HOUR, requests_per_unit: 010, unlimited: no}
`,
  }]);
  assertEquals(faults, []);
  assertEquals(snapshot!.rules.map((rule) => [formatPath(rule), rule.limit]), [
    ["7.true_010", {
      requestsPerUnit: 1000,
      unit: "MINUTE",
      windowSeconds: 60,
      window: "minute",
      algorithm: "fixed_window",
      burst: undefined,
    }],
    ["7.day_2026-01-02", {
      requestsPerUnit: 8,
      unit: "HOUR",
      windowSeconds: 3600,
      window: "hour",
      algorithm: "fixed_window",
      burst: undefined,
    }],
  ]);
});

const ALGORITHMS = `domain: d
descriptors:
  - key: fixed
    rate_limit: {unit: minute, requests_per_unit: 5, algorithm: fixed_window}
  - key: sliding
    rate_limit: {unit: minute, requests_per_unit: 5, algorithm: Sliding_Window}
  - key: bucket
    rate_limit: {unit: minute, requests_per_unit: 5, algorithm: token_bucket}
  - key: burst
    rate_limit:
      unit: second
      requests_per_unit: 10
      algorithm: token_bucket
      burst: 100
`;

Deno.test("loadRules() takes each algorithm, and as its burst the limit where none is written", () => {
  const { snapshot, faults } = loadRules([
    { name: "a.yaml", text: ALGORITHMS },
  ]);
  assertEquals(faults, []);
  assertEquals(
    snapshot!.rules.map(({ limit }) => [limit!.algorithm, limit!.burst]),
    [
      ["fixed_window", undefined],
      ["sliding_window", undefined],
      ["token_bucket", 5],
      ["token_bucket", 100],
    ],
  );
  assertEquals(describeRules(snapshot!), [
    "d.fixed: unit=MINUTE requests_per_unit=5, shadow_mode: false, " +
    "quota_mode: false",
    "d.sliding: unit=MINUTE requests_per_unit=5, shadow_mode: false, " +
    "quota_mode: false, algorithm: sliding_window",
    "d.bucket: unit=MINUTE requests_per_unit=5, shadow_mode: false, " +
    "quota_mode: false, algorithm: token_bucket, burst: 5",
    "d.burst: unit=SECOND requests_per_unit=10, shadow_mode: false, " +
    "quota_mode: false, algorithm: token_bucket, burst: 100",
  ]);
});

Deno.test("loadRules() refuses all but fixed windows, with their places, where others are not exact", () => {
  const { snapshot, faults } = loadRules(
    [{ name: "a.yaml", text: ALGORITHMS }],
    { onlyFixedWindow: true },
  );
  assertEquals(snapshot, undefined);
  assertEquals(faults.map(({ line }) => line), [6, 8, 13]);
  assertStringIncludes(
    formatConfigFault(faults[0]!),
    "algorithm 'sliding_window' needs exact counters, which " +
      "BACKEND_TYPE=altcache does not have",
  );
});

Deno.test("loadRules() follows anchors, aliases and merge keys", () => {
  const { snapshot, faults } = loadRules([{
    name: "a.yaml",
    text: `domain: d
descriptors:
  - &base
    key: 007
    rate_limit: &limit {unit: day, requests_per_unit: 3}
  - <<: *base
    key: 008
  - key: c
    rate_limit: *limit
`,
  }]);
  assertEquals(faults, []);
  assertEquals(snapshot!.rules.map(formatPath), [
    "d.007",
    "d.008",
    "d.c",
  ]);
  assertEquals(snapshot!.rules.map(({ limit }) => limit?.requestsPerUnit), [
    3,
    3,
    3,
  ]);
});

Deno.test("loadRules() takes the last of a repeated key and warns with its line", () => {
  const { snapshot, warnings } = loadRules([{
    name: "a.yaml",
    text: "domain: one\ndomain: two\ndescriptors: []\n",
  }]);
  assertEquals(snapshot!.domainNames, ["two"]);
  assertEquals(warnings.length, 1);
  assertStringIncludes(formatConfigFault(warnings[0]!), "a.yaml:2: ");
});

Deno.test("loadRules() reads the first document of a stream and warns of the rest", () => {
  const { snapshot, warnings } = loadRules([{
    name: "a.yaml",
    text: "domain: one\n---\ndomain: two\n",
  }]);
  assertEquals(snapshot!.domainNames, ["one"]);
  assertStringIncludes(warnings[0]!.reason, "first document");
});

const BOMBS: Readonly<Record<string, (depth: number) => string>> = {
  "lists of aliases": (depth) => createBomb(depth, (from) => `[${ten(from)}]`),
  "maps of aliases": (depth) =>
    createBomb(depth, (from) => `{a: *${from}, b: *${from}, c: *${from}}`),
  "merge keys": (depth) =>
    createBomb(depth, (from) => `{<<: [${ten(from)}], k: 1}`, "{a: 1, b: 2}"),
  "descriptors that are aliases": (depth) =>
    createBomb(
      depth,
      (from) => `[{key: k, descriptors: *${from}}, {descriptors: *${from}}]`,
    ),
  "metadata that is an alias of itself": () => "metadata: &a {b: *a}",
  "a list within itself": () => "descriptors: &a [*a, *a]",
};

function ten(name: string): string {
  return Array(10).fill(`*${name}`).join(", ");
}

function createBomb(
  depth: number,
  level: (from: string) => string,
  first = "[x, x, x, x, x, x, x, x, x, x]",
): string {
  const lines = [`a0: &a0 ${first}`];
  for (let at = 1; at <= depth; at++) {
    lines.push(`a${at}: &a${at} ${level(`a${at - 1}`)}`);
  }
  return lines.join("\n");
}

for (const [what, text] of Object.entries(BOMBS)) {
  Deno.test(`loadRules() refuses ${what} that expand without end`, () => {
    const { faults } = loadRules([{ name: "a.yaml", text: text(60) }]);
    const [fault] = faults;
    assertMatch(
      formatConfigFault(fault!),
      /a\.yaml: error loading config file: (its aliases add more than 100000 nodes to it|it nests deeper than 200 levels)/,
    );
  });
}

Deno.test("loadRules() takes ten thousand rules that share a limit by an alias", () => {
  const rules = Array.from(
    { length: 10_000 },
    (_, at) => `  - {key: a, value: v${at}, rate_limit: *l}\n`,
  );
  const text = "domain: d\ndescriptors:\n" +
    "  - {key: b, rate_limit: &l {unit: day, requests_per_unit: 3}}\n" +
    rules.join("");
  const { snapshot, faults } = loadRules([{ name: "a.yaml", text }]);
  assertEquals(faults, []);
  assertEquals(snapshot!.rules.length, 10_001);
});

Deno.test("loadRules() follows merge keys through other maps, the nearest first", () => {
  const text = `domain: d
descriptors:
  - key: a
    rate_limit:
      requests_per_unit: 7
      <<: [{<<: {name: far}, requests_per_unit: 2, unit: day}, {name: later, unit: week}]
`;
  const { faults, snapshot } = loadRules([{ name: "a.yaml", text }]);
  assertEquals(faults, []);
  const [rule] = snapshot!.rules;
  assertEquals([rule!.limit?.unit, rule!.limit?.requestsPerUnit, rule!.name], [
    "DAY",
    7,
    "far",
  ]);
});

Deno.test("loadRules() keeps metadata as free values", () => {
  const { snapshot } = loadRules([{
    name: "a.yaml",
    text: `domain: d
descriptors:
  - key: a
    rate_limit: {unit: day, requests_per_unit: 3}
    metadata: {score: 0.5, tags: [x, 1, null, true], since: 2026-01-02}
`,
  }]);
  assertEquals(snapshot!.rules[0]!.metadata, {
    score: 0.5,
    tags: ["x", 1, null, true],
    since: "2026-01-02",
  });
});

Deno.test("loadRules() warns of a wildcard that an earlier one always beats", () => {
  const { snapshot, warnings } = loadRules([{
    name: "a.yaml",
    text: `domain: d
descriptors:
  - {key: path, value: /api/*}
  - {key: path, value: /api/v1/*}
  - {key: path, value: /*/v1/*}
`,
  }]);
  assert(snapshot !== undefined);
  assertEquals(warnings.map(formatConfigFault), [
    "a.yaml:4: value '/api/v1/*' can never match: '/api/*' stands before it " +
    "and matches all that it matches at descriptors[1].value",
  ]);
});

Deno.test("loadRules() warns when replaces names no rule of the domain", () => {
  const rule = (name: string, replaces: string): string =>
    `  - key: ${name}\n    rate_limit: {unit: day, requests_per_unit: 1, ` +
    `name: ${name}, replaces: [{name: ${replaces}}]}\n`;
  const { warnings } = loadRules([{
    name: "a.yaml",
    text: `domain: d\ndescriptors:\n${rule("a", "b")}${rule("b", "gone")}`,
  }]);
  assertEquals(warnings.length, 1);
  assertStringIncludes(warnings[0]!.reason, "replaces names 'gone'");
});

Deno.test("loadRules() takes a decimal for one whatever its value", () => {
  for (const value of ["1.0", "1e3", "2.0E1"]) {
    const text = `domain: d\ndescriptors:\n  - {key: a, value: ${value}}\n`;
    const { faults } = loadRules([{ name: "a.yaml", text }]);
    assertStringIncludes(faults[0]!.reason, "error checking config");
  }
  const text = 'domain: d\ndescriptors: [{key: a, value: "1.0"}]\n';
  assertEquals(loadRules([{ name: "a.yaml", text }]).faults, []);
});

Deno.test("loadRules() warns when requests_per_unit is missing, which refuses all", () => {
  const text = "domain: d\ndescriptors:\n  - key: a\n" +
    "    rate_limit: {unit: day}\n";
  const { snapshot, warnings } = loadRules([{ name: "a.yaml", text }]);
  assertEquals(snapshot!.rules[0]!.limit!.requestsPerUnit, 0);
  assertEquals(warnings.map(formatConfigFault), [
    "a.yaml:4: requests_per_unit is missing: all is refused at " +
    "descriptors[0].rate_limit",
  ]);
});

Deno.test("loadRules() warns of words that do nothing without a limit", () => {
  const text = "domain: d\ndescriptors:\n  - key: a\n" +
    "    shadow_mode: true\n    value_to_metric: true\n";
  const { warnings } = loadRules([{ name: "a.yaml", text }]);
  assertEquals(warnings.map(({ reason }) => reason), [
    "shadow_mode does nothing without rate_limit",
  ]);
});

Deno.test("loadRules() takes a time that grows with the size of the files, faults or not", async () => {
  const lines: readonly ((index: number) => string)[] = [
    (index) => `  - {key: a, value: v${index}*}\n`,
    (index) => `  - key: a${index}\n    vlaue: x\n`,
    (index) =>
      `  - key: a${index}\n    rate_limit: {unit: day, requests_per_unit: ` +
      `1, replaces: [{name: gone${index}}]}\n`,
  ];
  for (const line of lines) {
    const load = (length: number) => {
      const text = "domain: d\ndescriptors:\n" +
        Array.from({ length }, (_, index) => line(index)).join("");
      return () => loadRules([{ name: "a.yaml", text }]);
    };
    // It would take sixteen times as long if all lines were searched for every
    // fault.
    await assertGrowth({
      small: load(500),
      large: load(2_000),
      atMost: 8,
      runs: 5,
    });
  }
});
