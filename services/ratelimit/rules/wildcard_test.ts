import { assertEquals } from "@std/assert";
import { assertGrowth } from "../../../tests/support/growth.ts";
import { SeededRandom } from "../../../tests/support/seeded_random.ts";
import { Wildcard, WildcardSet } from "./wildcard.ts";

function matches(pattern: string, text: string): boolean {
  // The bytes on both sides must not be looked at.
  const bytes = new TextEncoder().encode(`a${text}a`);
  return new Wildcard(pattern).matches(bytes, 1, bytes.length - 1);
}

Deno.test("Wildcard.matches() decides as the table says", () => {
  const rows: readonly [string, string, boolean][] = [
    ["foo*", "foo", true],
    ["foo*", "foobar", true],
    ["foo*", "fo", false],
    ["foo*", "xfoo", false],
    ["*", "", true],
    ["*", "anything", true],
    ["*bar", "foobar", true],
    ["*bar", "bar", true],
    ["*bar", "barn", false],
    ["a*a", "aa", true],
    ["a*a", "a", false],
    ["a*b*c", "abc", true],
    ["a*b*c", "a1b2c", true],
    ["a*b*c", "acb", false],
    ["a**c", "ac", true],
    ["*aab*", "aaab", true],
    ["*abab*ab", "ababab", true],
    ["*abab*ab", "abab", false],
    ["ü*", "über", true],
    ["a*", "*", false],
    ["**", "", true],
  ];
  for (const [pattern, text, expected] of rows) {
    assertEquals(matches(pattern, text), expected, `${pattern} on "${text}"`);
  }
});

Deno.test("Wildcard.matches() agrees with a recursive model on random texts", () => {
  const random = new SeededRandom(7);
  const word = (alphabet: string, most: number): string =>
    Array.from(
      { length: random.below(most + 1) },
      () => random.pick([...alphabet]),
    ).join("");
  for (let run = 0; run < 20_000; run++) {
    const pattern = word("ab*", 7) + "*";
    const text = word("ab", 10);
    assertEquals(
      matches(pattern, text),
      wildcardModel(pattern, text),
      `${pattern} on "${text}"`,
    );
  }
});

function wildcardModel(pattern: string, text: string): boolean {
  if (pattern === "") return text === "";
  if (pattern.startsWith("*")) {
    return wildcardModel(pattern.slice(1), text) ||
      (text !== "" && wildcardModel(pattern, text.slice(1)));
  }
  return pattern[0] === text[0] &&
    wildcardModel(pattern.slice(1), text.slice(1));
}

Deno.test("Wildcard.matches() looks at each byte a bounded number of times when the text repeats itself", async () => {
  const search = (length: number) => {
    const pattern = `*${"a".repeat(length)}b*`;
    const text = "a".repeat(2 * length);
    return () => assertEquals(matches(pattern, text), false);
  };
  // It would take sixteen times as long if the search started again at every
  // byte.
  await assertGrowth({
    small: search(4_000),
    large: search(16_000),
    atMost: 8,
  });
});

/** Returns the index of the first pattern that matches. */
function findFirst(patterns: readonly string[], text: string): number {
  return patterns.findIndex((pattern) => matches(pattern, text));
}

function createSet(patterns: readonly string[]): WildcardSet<number> {
  const set = new WildcardSet<number>();
  for (const [i, pattern] of patterns.entries()) {
    set.add(new Wildcard(pattern), i);
  }
  return set;
}

function foundBy(set: WildcardSet<number>, text: string): number {
  const bytes = new TextEncoder().encode(`a${text}a`);
  return set.firstMatch(bytes, 1, bytes.length - 1) ?? -1;
}

Deno.test("WildcardSet.firstMatch() finds the first in order, as trying each does", () => {
  const random = new SeededRandom(11);
  const word = (alphabet: string, most: number): string =>
    Array.from(
      { length: random.below(most + 1) },
      () => random.pick([...alphabet]),
    ).join("");
  for (let run = 0; run < 1_000; run++) {
    const alphabet = random.pick(["ab", "abc", "abcdefghü"]);
    const patterns = Array.from(
      { length: random.below(40) },
      () => `${word(alphabet, 6)}*${word(`${alphabet}*`, 6)}`,
    );
    const set = createSet(patterns);
    assertEquals(set.size, patterns.length);
    for (let turn = 0; turn < 20; turn++) {
      const text = word(alphabet, 14);
      assertEquals(
        foundBy(set, text),
        findFirst(patterns, text),
        `${patterns.join(" ")} on "${text}"`,
      );
    }
  }
});

Deno.test("WildcardSet.firstMatch() tries few of many patterns", () => {
  const forms: ReadonlyArray<(i: string) => string> = [
    (i) => `/api/v1/items/${i}/*`,
    (i) => `*/items/${i}`,
    (i) => `/api/*/items/${i}/*`,
    (i) => `*items/${i}*`,
  ];
  for (const form of forms) {
    CountedWildcard.tries = 0;
    const set = new WildcardSet<number>();
    for (let i = 0; i < 1_000; i++) {
      set.add(new CountedWildcard(form(String(i).padStart(4, "0"))), i);
    }
    set.add(new CountedWildcard("*"), 1_000);
    assertEquals(foundBy(set, form("0999").replaceAll("*", "x")), 999);
    assertEquals(foundBy(set, "something else that is not there"), 1_000);
    const { tries } = CountedWildcard;
    assertEquals(tries > 0 && tries < 20, true, `${tries} tries: ${form("N")}`);
  }
});

class CountedWildcard extends Wildcard {
  static tries = 0;

  override matches(bytes: Uint8Array, start: number, end: number): boolean {
    CountedWildcard.tries++;
    return super.matches(bytes, start, end);
  }
}
