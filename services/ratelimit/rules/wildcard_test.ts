import { assertEquals } from "@std/assert";
import { assertGrowth } from "../../../tests/support/growth.ts";
import { SeededRandom } from "../../../tests/support/seeded_random.ts";
import { Wildcard } from "./wildcard.ts";

function matches(pattern: string, text: string): boolean {
  // Bytes on both sides that must not be looked at.
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
      model(pattern, text),
      `${pattern} on "${text}"`,
    );
  }
});

function model(pattern: string, text: string): boolean {
  if (pattern === "") return text === "";
  if (pattern.startsWith("*")) {
    return model(pattern.slice(1), text) ||
      (text !== "" && model(pattern, text.slice(1)));
  }
  return pattern[0] === text[0] && model(pattern.slice(1), text.slice(1));
}

Deno.test("Wildcard.matches() looks at each byte a bounded number of times when the text repeats itself", async () => {
  const search = (length: number) => {
    const pattern = `*${"a".repeat(length)}b*`;
    const text = "a".repeat(2 * length);
    return () => assertEquals(matches(pattern, text), false);
  };
  // Sixteen times as long where the search starts again at every byte.
  await assertGrowth({
    small: search(4_000),
    large: search(16_000),
    atMost: 8,
  });
});
