import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { expanded, goPattern } from "./go_pattern.ts";

async function match(source: string, name: string) {
  const pattern = await goPattern(source);
  assert(typeof pattern !== "string", String(pattern));
  return pattern.exec(name);
}

Deno.test("goPattern() reads Go's syntax and finds a match anywhere", async () => {
  assertEquals(await match("b(?P<n>.)d", "abcd"), ["bcd", "c"]);
  assertEquals(await match("(?i)B", "abc"), ["b"]);
  assertEquals(await match(String.raw`\Ab`, "abc"), null);
  assertEquals(await match("(a)|(b)", "b"), ["b", "", "b"]);
  assertEquals(await match("[[:alpha:]]+", "12ab3"), ["ab"]);
  assertEquals(await match("é(.)", "né🙂"), ["é🙂", "🙂"]);
});

Deno.test("goPattern() says why a pattern can't be had", async () => {
  for (const source of ["(", "(?=a)", String.raw`(a)\1`, "a{1001}"]) {
    const refused = await goPattern(source);
    assert(typeof refused === "string", source);
    assertStringIncludes(refused, "Cannot read pattern");
  }
});

Deno.test("goPattern() takes time in proportion to the name, whatever the pattern", async () => {
  // An engine that backtracks would not finish in a lifetime.
  const name = "a".repeat(511) + "!";
  for (const source of ["^(a+)+$", "^(a|a)*$", "(.*)*(.*)*(.*)*x$"]) {
    assertEquals(await match(source, name), null);
  }
});

Deno.test("expanded() puts groups in, and leaves numbers that no group has", () => {
  assertEquals(
    expanded("$1-${2}-$0-$3-$x", ["all", "one", ""]),
    "one--all-$3-$x",
  );
  // What a group holds is not expanded again.
  assertEquals(expanded("$1", ["", "$1$0"]), "$1$0");
});
