import { assertEquals } from "@std/assert";
import { MemoryStore } from "../../services/ratelimit/counters/memory_store.ts";
import { DeciderBench } from "../support/decider_bench.ts";
import { formatCodes, formatLimits, listRemaining } from "./answers.ts";

function limit(requests: number): string {
  return `rate_limit: {unit: hour, requests_per_unit: ${requests}}`;
}

function rules(descriptors: string): string {
  return `domain: d\ndescriptors:\n${descriptors}`;
}

Deno.test("rule 1: the domain of the request selects the rules", () => {
  const bench = new DeciderBench([
    `domain: d\ndescriptors: [{key: a, ${limit(1)}}]`,
    `domain: e\ndescriptors: [{key: a, ${limit(2)}}]`,
  ]);
  const limitIn = (domain: string): string =>
    formatLimits(bench.answer({ domain, descriptors: [[["a", "x"]]] }));
  assertEquals([limitIn("d"), limitIn("e"), limitIn("D"), limitIn("de")], [
    "1",
    "2",
    "-",
    "-",
  ]);
});

Deno.test("rule 1: two domains never share a counter", () => {
  const bench = new DeciderBench([
    `domain: d\ndescriptors: [{key: a, ${limit(1)}}]`,
    `domain: e\ndescriptors: [{key: a, ${limit(1)}}]`,
  ], { store: new MemoryStore() });
  const ask = (domain: string): string =>
    formatCodes(bench.answer({ domain, descriptors: [[["a", "x"]]] }));
  assertEquals(ask("d"), "OK: OK");
  assertEquals(ask("e"), "OK: OK");
  assertEquals(ask("e"), "OVER: OVER");
});

Deno.test("rule 2: a rule of one level does not match two entries", () => {
  const bench = new DeciderBench(rules(`  - {key: a, ${limit(0)}}`));
  assertEquals(formatCodes(bench.ask([["a", "x"]])), "OVER: OVER");
  assertEquals(formatCodes(bench.ask([["a", "x"], ["b", "y"]])), "OK: OK");
  assertEquals(formatCodes(bench.ask([["a", "x"], ["a", "x"]])), "OK: OK");
});

Deno.test("rule 2: a rule of two levels matches two entries and no other number", () => {
  const bench = new DeciderBench(rules(`
  - key: a
    descriptors: [{key: b, ${limit(0)}}]
`));
  assertEquals(formatCodes(bench.ask([["a", "x"], ["b", "y"]])), "OVER: OVER");
  assertEquals(formatCodes(bench.ask([["a", "x"]])), "OK: OK");
  assertEquals(formatCodes(bench.ask([["b", "y"]])), "OK: OK");
  assertEquals(formatCodes(bench.ask([["b", "y"], ["a", "x"]])), "OK: OK");
  const three = [["a", "x"], ["b", "y"], ["c", "z"]] as const;
  assertEquals(formatCodes(bench.ask(three)), "OK: OK");
});

Deno.test("rule 3: key and value are tried before the key alone, wherever they stand in the file", () => {
  const bench = new DeciderBench(rules(`
  - {key: a, ${limit(1)}}
  - {key: a, value: x, ${limit(2)}}
  - {key: b, value: x, ${limit(3)}}
  - {key: b, ${limit(4)}}
`));
  const response = bench.ask(
    [["a", "x"]],
    [["a", "y"]],
    [["b", "x"]],
    [["b", "y"]],
  );
  assertEquals(formatLimits(response), "2 1 3 4");
});

Deno.test("rule 3: key and value are tried first at a deeper level too", () => {
  const bench = new DeciderBench(rules(`
  - key: a
    descriptors:
      - {key: b, ${limit(1)}}
      - {key: b, value: x, ${limit(2)}}
`));
  const response = bench.ask([["a", ""], ["b", "x"]], [["a", ""], ["b", "y"]]);
  assertEquals(formatLimits(response), "2 1");
});

Deno.test("rule 4: a rule without a value counts each value on its own", () => {
  const store = new MemoryStore();
  const bench = new DeciderBench(rules(`  - {key: a, ${limit(1)}}`), { store });
  for (const value of ["x", "y", "", "x y", "ü"]) {
    assertEquals(formatCodes(bench.ask([["a", value]])), "OK: OK");
  }
  assertEquals(store.size, 5);
  assertEquals(formatCodes(bench.ask([["a", "x"]])), "OVER: OVER");
});

Deno.test("rule 4: a rule below a level without a value counts each value of that level on its own", () => {
  const bench = new DeciderBench(
    rules(`
  - key: user
    descriptors: [{key: path, value: /login, ${limit(1)}}]
`),
    { store: new MemoryStore() },
  );
  const login = (user: string): string =>
    formatCodes(bench.ask([["user", user], ["path", "/login"]]));
  assertEquals([login("ada"), login("bob"), login("ada")], [
    "OK: OK",
    "OK: OK",
    "OVER: OVER",
  ]);
});

Deno.test("rule 5: a value that ends in an asterisk matches what starts with the text before it", () => {
  const bench = new DeciderBench(
    rules(`  - {key: a, value: foo*, ${limit(0)}}`),
  );
  for (const value of ["foo", "foobar", "foo*", "foo/ü"]) {
    assertEquals(formatCodes(bench.ask([["a", value]])), "OVER: OVER", value);
  }
  for (const value of ["fo", "Foo", "xfoo", ""]) {
    assertEquals(formatCodes(bench.ask([["a", value]])), "OK: OK", value);
  }
});

Deno.test("rule 5: each value that an asterisk matches is counted on its own", () => {
  const bench = new DeciderBench(
    rules(`  - {key: a, value: foo*, ${limit(1)}}`),
  );
  bench.ask([["a", "foo1"]], [["a", "foo2"]]);
  assertEquals(Object.fromEntries(bench.store.counts), {
    "d_a_foo1_hour_": 1,
    "d_a_foo2_hour_": 1,
  });
});

Deno.test("rule 6: a descriptor without a limit and without deeper levels is exempt", () => {
  const bench = new DeciderBench(rules(`
  - {key: a, ${limit(0)}}
  - {key: a, value: friend}
`));
  assertEquals(formatCodes(bench.ask([["a", "friend"]])), "OK: OK");
  assertEquals(bench.store.calls, 0);
  assertEquals(formatCodes(bench.ask([["a", "other"]])), "OVER: OVER");
});

Deno.test("rule 6: a descriptor that only holds deeper ones sets no limit itself", () => {
  const bench = new DeciderBench(rules(`
  - key: a
    descriptors: [{key: b, ${limit(0)}}]
`));
  const response = bench.ask([["a", "x"]]);
  assertEquals(formatCodes(response), "OK: OK");
  assertEquals(formatLimits(response), "-");
  assertEquals(bench.store.calls, 0);
});

Deno.test("rule 7: every matching rule counts, and one that is over makes the whole call over", () => {
  const bench = new DeciderBench(rules(`
  - {key: a, ${limit(5)}}
  - {key: b, ${limit(0)}}
  - {key: c, ${limit(5)}}
`));
  const response = bench.ask([["a", ""]], [["b", ""]], [["c", ""]]);
  assertEquals(formatCodes(response), "OVER: OK OVER OK");
  assertEquals(listRemaining(response), [4, 0, 4]);
  assertEquals(Object.fromEntries(bench.store.counts), {
    "d_a__hour_": 1,
    "d_b__hour_": 1,
    "d_c__hour_": 1,
  });
});

Deno.test("rule 7: a call is within its limits when every decision is", () => {
  const bench = new DeciderBench(rules(`
  - {key: a, ${limit(5)}}
  - {key: b, ${limit(1)}}
`));
  const response = bench.ask([["a", ""]], [["b", ""]], [["none", ""]]);
  assertEquals(formatCodes(response), "OK: OK OK OK");
});

Deno.test("rule 7: a descriptor that comes twice counts twice", () => {
  const bench = new DeciderBench(rules(`  - {key: a, ${limit(1)}}`), {
    store: new MemoryStore(),
  });
  const response = bench.ask([["a", "x"]], [["a", "x"]]);
  assertEquals(formatCodes(response), "OVER: OK OVER");
});
