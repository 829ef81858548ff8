import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { MemoryStore } from "../../services/ratelimit/counters/memory_store.ts";
import { loadRules } from "../../services/ratelimit/rules/load.ts";
import { DeciderBench } from "../support/decider_bench.ts";
import { formatCodes, formatLimits } from "./answers.ts";

const LIMIT = "rate_limit: {unit: hour, requests_per_unit: 1}";

function rules(descriptors: string): string {
  return `domain: d\ndescriptors:\n${descriptors}`;
}

/** Returns why rules are refused; empty when they are accepted. */
function refusal(descriptors: string): string {
  const { faults } = loadRules([{ name: "a.yaml", text: rules(descriptors) }]);
  return faults.map(({ reason }) => reason).join("\n");
}

Deno.test("a limit without a usable unit makes the call invalid and the next one works", () => {
  const bench = new DeciderBench(rules(`  - {key: a, ${LIMIT}}`));
  for (const unit of [0, 8, -1, 2_147_483_647]) {
    for (const domain of ["d", "other"]) {
      const decision = bench.decide({
        domain,
        descriptors: [[["a", "x"]], {
          entries: [["a", "x"]],
          limit: { requestsPerUnit: 1, unit },
        }],
      });
      assertEquals(decision.kind, "invalid");
    }
  }
  assertEquals(bench.store.calls, 0);
  assertEquals(formatCodes(bench.ask([["a", "x"]])), "OK: OK");
});

Deno.test("unlimited rules are in the statistics", () => {
  const bench = new DeciderBench(
    rules("  - {key: a, rate_limit: {unlimited: true}}"),
  );
  bench.ask({ entries: [["a", "x"]], hitsAddend: 3 });
  assertEquals(bench.stats(), {
    "rate_limit.d.a.total_hits": 3,
    "rate_limit.d.a.within_limit": 3,
  });
});

Deno.test("a key with an underscore does not answer for a key and a value", () => {
  const bench = new DeciderBench(rules(`
  - {key: a_b, ${LIMIT}}
  - {key: c, value: d, ${LIMIT}}
`));
  const response = bench.ask(
    [["a_b", ""]],
    [["a", "b"]],
    [["c", "d"]],
    [["c_d", ""]],
  );
  assertEquals(formatLimits(response), "1 - 1 -");
});

Deno.test("a key with an underscore and a key with a value are no duplicates", () => {
  const bench = new DeciderBench(rules(`
  - {key: a_b, rate_limit: {unit: hour, requests_per_unit: 1}}
  - {key: a, value: b, rate_limit: {unit: hour, requests_per_unit: 2}}
`));
  assertEquals(formatLimits(bench.ask([["a_b", ""]], [["a", "b"]])), "1 2");
});

Deno.test("a wildcard does not match across the border of key and value", () => {
  const bench = new DeciderBench(rules(`  - {key: a, value: b*, ${LIMIT}}`));
  assertEquals(formatLimits(bench.ask([["a_b", "x"]], [["a_bx", ""]])), "- -");
});

Deno.test("an asterisk in a key stands for itself, not for a pattern", () => {
  const route = "httproute/ns/route/rule/0/match/0/*";
  const bench = new DeciderBench(rules(`
  - {key: "a*", ${LIMIT}}
  - {key: "${route}", value: "${route}", ${LIMIT}}
`));
  assertEquals(
    formatLimits(bench.ask([["a*", "x"]], [["ab", "x"]], [[route, route]])),
    "1 - 1",
  );
});

Deno.test("loadRules() warns of an asterisk in a key that is not its value, too", () => {
  const { faults, warnings } = loadRules([{
    name: "a.yaml",
    text: rules(
      `  - {key: "a*", ${LIMIT}}\n  - {key: b*, value: b*, ${LIMIT}}`,
    ),
  }]);
  assertEquals(faults, []);
  assertEquals(warnings.map(({ line, reason }) => [line, reason]), [
    [
      3,
      "key 'a*' matches itself alone: an asterisk is a pattern in a value only",
    ],
  ]);
});

Deno.test("an asterisk in the key of a request is plain text", () => {
  const bench = new DeciderBench(rules(`  - {key: a, ${LIMIT}}`));
  assertEquals(formatLimits(bench.ask([["*", "x"]], [["a*", "x"]])), "- -");
});

Deno.test("a known word at the wrong level is refused and told its place", () => {
  const rows: readonly (readonly [string, string])[] = [
    [
      "  - {key: a, rate_limit: {unit: hour, shadow_mode: true}}",
      '"shadow_mode" does not belong into rate_limit; write it into an item of descriptors',
    ],
    [
      "  - {key: a, unit: hour}",
      '"unit" does not belong into an item of descriptors; write it into rate_limit',
    ],
    [
      "  - {key: a, replaces: []}",
      '"replaces" does not belong into an item of descriptors; write it into rate_limit',
    ],
    [
      "  - {key: a, domain: e}",
      '"domain" does not belong into an item of descriptors; write it into the top level',
    ],
    [
      "  - {key: a}\nshadow_mode: true",
      '"shadow_mode" does not belong into the top level; write it into an item of descriptors',
    ],
    [
      "  - {key: a, rate_limit: {unit: hour, replaces: [{unit: day, name: b}]}}",
      '"unit" does not belong into an item of replaces; write it into rate_limit',
    ],
  ];
  for (const [descriptors, expected] of rows) {
    assertStringIncludes(refusal(descriptors), expected);
  }
});

Deno.test("separators within keys and values never make two descriptors share a counter", () => {
  const store = new MemoryStore();
  const bench = new DeciderBench(
    rules(`
  - key: a
    ${LIMIT}
    descriptors: [{key: b, ${LIMIT}}]
  - {key: a_b, ${LIMIT}}
  - {key: 'a\\', ${LIMIT}}
`),
    { store },
  );
  const values = ["", "_", "__", "b", "_b", "b_", "\\", "\\_", "_\\", "b__b"];
  const descriptors = values.flatMap((value) => [
    [["a", value]] as const,
    [["a_b", value]] as const,
    [["a\\", value]] as const,
    ...values.map((other) => [["a", value], ["b", other]] as const),
  ]);
  const response = bench.ask(...descriptors);
  assertEquals(new Set(formatLimits(response).split(" ")), new Set(["1"]));
  assert(response.statuses.every(({ code }) => code === 1));
  assertEquals(store.size, descriptors.length);
});
