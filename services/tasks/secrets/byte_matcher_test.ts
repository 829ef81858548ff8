import { assertEquals } from "@std/assert";
import { assertGrowth } from "../../../tests/support/growth.ts";
import { SeededRandom } from "../../../tests/support/seeded_random.ts";
import { ByteMatcher } from "./byte_matcher.ts";

type PatternMatch = Parameters<Parameters<ByteMatcher["search"]>[1]>[0];

Deno.test("ByteMatcher.search() finds patterns within one another", () => {
  assertEquals(find(["he", "she", "his", "hers"], "ushers"), [
    { pattern: 1, start: 1, end: 4 },
    { pattern: 3, start: 2, end: 6 },
  ]);
});

Deno.test("ByteMatcher.search() reports the longest pattern of each end", () => {
  assertEquals(find(["c", "abc", "bc"], "abcbcc"), [
    { pattern: 1, start: 0, end: 3 },
    { pattern: 2, start: 3, end: 5 },
    { pattern: 0, start: 5, end: 6 },
  ]);
});

Deno.test("ByteMatcher.search() names the first of equal patterns", () => {
  assertEquals(find(["ab", "ab"], "ab"), [{ pattern: 0, start: 0, end: 2 }]);
});

Deno.test("ByteMatcher.search() finds nothing without patterns or bytes", () => {
  assertEquals(find([], "abc"), []);
  assertEquals(find([""], "abc"), []);
  assertEquals(find(["a"], ""), []);
});

Deno.test("ByteMatcher.search() accepts any byte", () => {
  const all = Uint8Array.from({ length: 256 }, (_, byte) => byte);
  const matches: PatternMatch[] = [];
  new ByteMatcher([all]).search(all, (match) => matches.push(match));
  assertEquals(matches, [{ pattern: 0, start: 0, end: 256 }]);
});

Deno.test("ByteMatcher.search() finds what trying each place finds", () => {
  const random = new SeededRandom(3);
  for (let round = 0; round < 3_000; round++) {
    const letters = random.pick(["ab", "abc", "aab"]).split("");
    const word = (bound: number) =>
      random.list(bound, () => random.pick(letters)).join("");
    const patterns = random.list(8, () => word(7) + random.pick(letters));
    const text = word(60);
    assertEquals(
      find(patterns, text),
      findSlowly(patterns, text),
      JSON.stringify({ patterns, text }),
    );
  }
});

Deno.test("ByteMatcher.search() takes no longer for patterns that nearly fit", async () => {
  // Each place but the last looks like the start of every pattern.
  const search = (length: number) => {
    const matcher = new ByteMatcher(Array.from(
      { length: 20 },
      (_, n) => new TextEncoder().encode(`${"a".repeat(length / 10 + n)}b`),
    ));
    const text = new Uint8Array(length).fill(0x61);
    return () => {
      const matches: PatternMatch[] = [];
      matcher.search(text, (match) => matches.push(match));
      assertEquals(matches, []);
    };
  };
  // A matcher that tries each pattern at each place takes sixteen times as
  // long.
  await assertGrowth({
    small: search(8_000),
    large: search(32_000),
    atMost: 8,
  });
});

function find(patterns: readonly string[], text: string): PatternMatch[] {
  const encoder = new TextEncoder();
  const matcher = new ByteMatcher(patterns.map((word) => encoder.encode(word)));
  const matches: PatternMatch[] = [];
  matcher.search(encoder.encode(text), (match) => matches.push(match));
  return matches;
}

function findSlowly(patterns: readonly string[], text: string): PatternMatch[] {
  const matches: PatternMatch[] = [];
  for (let end = 1; end <= text.length; end++) {
    const fits = patterns.filter((word) =>
      word !== "" && text.slice(0, end).endsWith(word)
    );
    const longest = Math.max(...fits.map((word) => word.length));
    const word = fits.find(({ length }) => length === longest);
    if (word === undefined) continue;
    const start = end - word.length;
    matches.push({ pattern: patterns.indexOf(word), start, end });
  }
  return matches;
}
