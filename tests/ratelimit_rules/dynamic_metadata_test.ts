import { assertEquals } from "@std/assert";
import type { JsonObject, JsonValue } from "../../proto/struct.ts";
import { DeciderBench } from "../support/decider_bench.ts";
import type { RequestOfTest } from "../support/create_view.ts";

const RULES = `domain: d
descriptors:
  - key: a
    rate_limit: {unit: hour, requests_per_unit: 99}
    metadata: {plan: gold, deep: {x: 1, both: a}, list: [1]}
  - key: b
    rate_limit: {unit: hour, requests_per_unit: 99}
    metadata: {plan: silver, deep: {y: 2, both: b}, list: {no: list}}
  - key: plain
    rate_limit: {unit: hour, requests_per_unit: 99}
  - key: over
    rate_limit: {unit: hour, requests_per_unit: 0}
    metadata: {over: true}
  - key: free
    rate_limit: {unlimited: true}
    metadata: {free: true}
  - key: named
    rate_limit: {unit: hour, requests_per_unit: 0, name: n}
    metadata: {named: true}
  - key: more
    rate_limit: {unit: hour, requests_per_unit: 99, replaces: [{name: n}]}
  - key: exempt
    metadata: {exempt: true}
  - key: detailed
    detailed_metric: true
    rate_limit: {unit: hour, requests_per_unit: 99}
    metadata: {detailed: true}
  - key: valued
    value: x*
    value_to_metric: true
    rate_limit: {unit: hour, requests_per_unit: 99}
    metadata: {valued: true}
`;

function createBench(): DeciderBench {
  return new DeciderBench(RULES, { dynamicMetadata: true });
}

/** Returns the part of the metadata that comes from the rules. */
function ofRules(
  bench: DeciderBench,
  ...keys: readonly string[]
): JsonValue | undefined {
  const descriptors = keys.map((key) => [[key, "x"]] as const);
  return bench.ask(...descriptors).dynamicMetadata!["metadata"];
}

function ofRequest(request: Omit<RequestOfTest, "domain">): JsonObject {
  return createBench().answer({ domain: "d", ...request }).dynamicMetadata!;
}

Deno.test("an answer has no dynamic metadata unless it is enabled", () => {
  const response = new DeciderBench(RULES).ask([["a", "x"]]);
  assertEquals(Object.hasOwn(response, "dynamicMetadata"), false);
});

Deno.test("dynamic metadata tells the domain and the entries of every descriptor", () => {
  assertEquals(
    ofRequest({ descriptors: [[["k", "v"], ["l", ""]], [["m=n", "ü"]], []] }),
    {
      domain: "d",
      descriptors: [
        { entries: ["k=v", "l="] },
        { entries: ["m=n=ü"] },
        { entries: [] },
      ],
    },
  );
});

Deno.test("dynamic metadata tells the hits of the request when they are not 0", () => {
  const descriptors = [[["plain", "x"]] as const];
  assertEquals(ofRequest({ descriptors, hitsAddend: 3 })["hitsAddend"], 3);
  assertEquals(ofRequest({ descriptors })["hitsAddend"], undefined);
});

Deno.test("dynamic metadata tells the hits of a descriptor when it brings any, 0 too", () => {
  const entries = [["plain", "x"]] as const;
  const shown = ofRequest({
    descriptors: [{ entries, hitsAddend: 0 }, { entries, hitsAddend: 4 }],
  });
  assertEquals(shown["descriptors"], [
    { entries: ["plain=x"], hitsAddend: 0 },
    { entries: ["plain=x"], hitsAddend: 4 },
  ]);
});

Deno.test("dynamic metadata tells the limit that a descriptor brings", () => {
  const entries = [["plain", "x"]] as const;
  const limit = { requestsPerUnit: 4_294_967_295, unit: 7 };
  assertEquals(
    ofRequest({ descriptors: [{ entries, limit }] })["descriptors"],
    [
      {
        entries: ["plain=x"],
        limit: "requests_per_unit:4294967295 unit:WEEK",
      },
    ],
  );
});

Deno.test("dynamic metadata comes with calls of an unknown domain", () => {
  const response = createBench().answer({
    domain: "other",
    descriptors: [[["a", "x"]]],
  });
  assertEquals(response.dynamicMetadata, {
    domain: "other",
    descriptors: [{ entries: ["a=x"] }],
  });
});

Deno.test("metadata of rules is merged, the first descriptor wins", () => {
  assertEquals(ofRules(createBench(), "a", "b"), {
    plan: "gold",
    deep: { x: 1, both: "a", y: 2 },
    list: [1],
  });
  assertEquals(ofRules(createBench(), "b", "a"), {
    plan: "silver",
    deep: { y: 2, both: "b", x: 1 },
    list: { no: "list" },
  });
});

Deno.test("metadata comes from rules that passed, unlimited ones included", () => {
  const bench = createBench();
  assertEquals(ofRules(bench, "over", "plain", "exempt"), undefined);
  assertEquals(ofRules(bench, "over", "free"), { free: true });
});

Deno.test("metadata of a replaced rule is left out", () => {
  assertEquals(ofRules(createBench(), "named", "more"), undefined);
});

Deno.test("metadata of a rule is left out when the limit came with the request", () => {
  const shown = ofRequest({
    descriptors: [{
      entries: [["a", "x"]],
      limit: { requestsPerUnit: 9, unit: 3 },
    }],
  });
  assertEquals(shown["metadata"], undefined);
});

Deno.test("metadata of one call does not show in later ones", () => {
  const bench = createBench();
  const before = ofRules(bench, "a");
  const rules = structuredClone(
    bench.decider.snapshot!.rules.map(({ metadata }) => metadata),
  );
  for (let call = 0; call < 3; call++) ofRules(bench, "a", "b", "free");
  assertEquals(ofRules(bench, "a"), before);
  assertEquals(
    bench.decider.snapshot!.rules.map(({ metadata }) => metadata),
    rules,
  );
});

Deno.test("metadata is not lost when detailed_metric or value_to_metric changes the path", () => {
  const bench = createBench();
  assertEquals(ofRules(bench, "detailed"), { detailed: true });
  assertEquals(ofRules(bench, "valued"), { valued: true });
  const names = Object.keys(bench.stats()).join(" ");
  assertEquals(names.includes("d.detailed_x."), true);
  assertEquals(names.includes("d.valued_x."), true);
});
