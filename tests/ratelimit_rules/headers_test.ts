import { assertEquals } from "@std/assert";
import { DeciderBench } from "../support/decider_bench.ts";
import { formatCodes, formatHeaders } from "./answers.ts";

const HEADERS = { limit: "L", remaining: "R", reset: "S" };

const RULES = `domain: d
descriptors:
  - {key: a9, rate_limit: {unit: minute, requests_per_unit: 9}}
  - {key: b9, rate_limit: {unit: hour, requests_per_unit: 9}}
  - {key: c3, rate_limit: {unit: hour, requests_per_unit: 3}}
  - {key: one, rate_limit: {unit: day, requests_per_unit: 1}}
  - {key: n0, rate_limit: {unit: minute, requests_per_unit: 0}}
  - {key: m0, rate_limit: {unit: hour, requests_per_unit: 0}}
  - {key: q0, quota_mode: true, rate_limit: {unit: day, requests_per_unit: 0}}
  - {key: s0, shadow_mode: true, rate_limit: {unit: day, requests_per_unit: 0}}
  - {key: free, rate_limit: {unlimited: true}}
  - {key: named, rate_limit: {unit: day, requests_per_unit: 1, name: n}}
  - key: more
    rate_limit: {unit: minute, requests_per_unit: 7, replaces: [{name: n}]}
`;

const MIDNIGHT = 1_795_219_200;

/**
 * Returns the headers of a call at midnight, with one descriptor for each key.
 */
function headers(keys: string): string {
  const bench = new DeciderBench(RULES, { headers: HEADERS });
  bench.nowSeconds = MIDNIGHT;
  const descriptors = keys.split(" ").map((key) => [[key, ""]] as const);
  return formatHeaders(bench.ask(...descriptors));
}

Deno.test("headers tell the limit, what remains and the seconds to the end of the window", () => {
  assertEquals(headers("c3"), "L=3 R=2 S=3600");
});

Deno.test("headers have the names they are given", () => {
  const names = {
    limit: "RateLimit-Limit",
    remaining: "RateLimit-Remaining",
    reset: "RateLimit-Reset",
  };
  const bench = new DeciderBench(RULES, { headers: names });
  bench.nowSeconds = MIDNIGHT + 3_599;
  assertEquals(bench.ask([["c3", ""]]).responseHeadersToAdd, [
    { key: "RateLimit-Limit", value: "3" },
    { key: "RateLimit-Remaining", value: "2" },
    { key: "RateLimit-Reset", value: "1" },
  ]);
});

Deno.test("headers speak of the status with the least remaining", () => {
  assertEquals(headers("a9 c3 b9"), "L=3 R=2 S=3600");
});

Deno.test("headers speak of the first status when several have the least remaining", () => {
  assertEquals(headers("b9 a9"), "L=9 R=8 S=3600");
  assertEquals(headers("a9 b9"), "L=9 R=8 S=60");
});

Deno.test("headers speak of the last status that a normal rule refused", () => {
  assertEquals(headers("n0 m0 a9"), "L=0 R=0 S=3600");
  assertEquals(headers("m0 n0"), "L=0 R=0 S=60");
});

Deno.test("headers prefer a refusal to an earlier status that has nothing left either", () => {
  assertEquals(headers("one n0"), "L=0 R=0 S=60");
  assertEquals(headers("n0 one"), "L=0 R=0 S=60");
});

Deno.test("headers take a quota that is used up, or a rule in shadow mode, by what remains alone", () => {
  assertEquals(headers("a9 q0"), "L=0 R=0 S=86400");
  assertEquals(headers("one q0"), "L=1 R=0 S=86400");
  assertEquals(headers("n0 q0 s0"), "L=0 R=0 S=60");
  assertEquals(headers("q0 n0"), "L=0 R=0 S=60");
});

Deno.test("headers pass over what has no limit: unlimited, unmatched and replaced", () => {
  assertEquals(headers("free none named more"), "L=7 R=6 S=60");
});

Deno.test("there are no headers when nothing has a limit", () => {
  assertEquals(headers("free none"), "");
});

Deno.test("there are no headers unless they are enabled", () => {
  const bench = new DeciderBench(RULES);
  assertEquals(formatHeaders(bench.ask([["n0", ""]])), "");
});

Deno.test("headers speak of a limit that came with the request", () => {
  const bench = new DeciderBench(RULES, { headers: HEADERS });
  bench.nowSeconds = MIDNIGHT;
  const response = bench.ask([["a9", ""]], {
    entries: [["z", ""]],
    limit: { requestsPerUnit: 2, unit: 3 },
  });
  assertEquals(formatCodes(response), "OK: OK OK");
  assertEquals(formatHeaders(response), "L=2 R=1 S=3600");
});
