import { assertEquals } from "@std/assert";
import { DeciderBench } from "../support/decider_bench.ts";
import { formatCodes, formatLimits } from "./answers.ts";

function limit(requests: number): string {
  return `rate_limit: {unit: hour, requests_per_unit: ${requests}}`;
}

function rules(descriptors: string): string {
  return `domain: d\ndescriptors:\n${descriptors}`;
}

Deno.test("an unknown domain has no limit and counts domain_not_found once for each descriptor", () => {
  const bench = new DeciderBench(rules(`  - {key: a, ${limit(0)}}`));
  const response = bench.answer({
    domain: "D",
    descriptors: [[["a", "x"]], [["a", "y"]], []],
  });
  assertEquals(formatCodes(response), "OK: OK OK OK");
  assertEquals(bench.stats(), {
    "rate_limit.D.domain_not_found": 3,
    "domain_not_found": 3,
  });
});

Deno.test("wildcards are tried in the order of the file, not the longest first", () => {
  const bench = new DeciderBench(rules(`
  - {key: a, ${limit(1)}}
  - {key: a, value: /api/*, ${limit(2)}}
  - {key: a, value: /api/v1/*, ${limit(3)}}
  - {key: b, value: /api/v1/*, ${limit(4)}}
  - {key: b, value: /api/*, ${limit(5)}}
  - {key: b, value: /api/v1/x, ${limit(6)}}
`));
  const response = bench.ask(
    [["a", "/api/v1/x"]],
    [["a", "/other"]],
    [["b", "/api/v1/x"]],
    [["b", "/api/v1/y"]],
    [["b", "/api/v2"]],
  );
  assertEquals(formatLimits(response), "2 1 6 4 5");
});

Deno.test("the order of wildcards goes on over merged files", () => {
  const file = (value: string, requests: number): string =>
    rules(`  - {key: a, value: "${value}", ${limit(requests)}}`);
  const bench = new DeciderBench([file("x*", 1), file("*", 2)], {
    mergeDomains: true,
  });
  assertEquals(formatLimits(bench.ask([["a", "xy"]], [["a", "yx"]])), "1 2");
});

Deno.test("a branch that was taken is not left again for another one", () => {
  const bench = new DeciderBench(rules(`
  - key: a
    value: x
    descriptors: [{key: b, ${limit(1)}}]
  - key: a
    value: x*
    descriptors: [{key: c, ${limit(2)}}]
  - key: a
    descriptors: [{key: c, ${limit(3)}}]
`));
  const response = bench.ask(
    [["a", "x"], ["c", ""]],
    [["a", "xx"], ["c", ""]],
    [["a", "y"], ["c", ""]],
    [["a", "xx"], ["b", ""]],
  );
  assertEquals(formatLimits(response), "- 2 3 -");
});

Deno.test("a limit counts at the last entry only, even where levels above have one", () => {
  const bench = new DeciderBench(rules(`
  - key: a
    ${limit(1)}
    descriptors:
      - key: b
        ${limit(2)}
        descriptors: [{key: c}]
`));
  const a = ["a", "x"] as const;
  const b = ["b", "x"] as const;
  const c = ["c", "x"] as const;
  const response = bench.ask([a], [a, b], [a, b, c], [a, b, c, c], []);
  assertEquals(formatLimits(response), "1 2 - - -");
  assertEquals(Object.fromEntries(bench.store.counts), {
    "d_a_x_hour_": 1,
    "d_a_x_b_x_hour_": 1,
  });
});

Deno.test("an asterisk may stand anywhere in a value, and several times", () => {
  const bench = new DeciderBench(rules(`
  - {key: end, value: "*.png", ${limit(1)}}
  - {key: middle, value: "a*b", ${limit(1)}}
  - {key: many, value: "/*/users/*/posts", ${limit(1)}}
  - {key: overlap, value: "aba*aba", ${limit(1)}}
`));
  const response = bench.ask(
    [["end", ".png"]],
    [["end", "x.png?"]],
    [["middle", "ab"]],
    [["middle", "a--b--b"]],
    [["middle", "b--a"]],
    [["many", "/v1/users/7/posts"]],
    [["many", "/users//posts"]],
    [["overlap", "ababa"]],
    [["overlap", "abaaba"]],
  );
  assertEquals(formatLimits(response), "1 - 1 1 - 1 - - 1");
});

Deno.test("an asterisk alone matches every value, the empty one too", () => {
  const bench = new DeciderBench(rules(`
  - {key: a, ${limit(1)}}
  - {key: a, value: "*", ${limit(2)}}
`));
  assertEquals(formatLimits(bench.ask([["a", ""]], [["a", "x"]])), "2 2");
});

Deno.test("an asterisk in the value of a request is plain text", () => {
  const bench = new DeciderBench(rules(`
  - {key: a, value: foo, ${limit(1)}}
  - {key: a, value: foo*, ${limit(2)}}
`));
  assertEquals(formatLimits(bench.ask([["a", "*"]], [["a", "foo*"]])), "- 2");
});

Deno.test("an empty value of a request falls to the rule without a value", () => {
  const bench = new DeciderBench(rules(`
  - {key: a, value: x, ${limit(1)}}
  - {key: a, ${limit(2)}}
  - {key: b, value: x, ${limit(3)}}
`));
  assertEquals(formatLimits(bench.ask([["a", ""]], [["b", ""]])), "2 -");
});

Deno.test("case and every byte of keys and values matter", () => {
  const bench = new DeciderBench(rules(`
  - {key: "é", value: "ß", ${limit(1)}}
`));
  const response = bench.ask(
    [["é", "ß"]],
    [["É", "ß"]],
    [["é", "ss"]],
    [["e\u0301", "ß"]],
    [["é", "ß "]],
  );
  assertEquals(formatLimits(response), "1 - - - -");
});
