import { assert, assertEquals } from "@std/assert";
import { assertGrowth } from "../../../tests/support/growth.ts";
import { eachRound } from "../../../tests/support/rounds.ts";
import { jsonSyntaxFault } from "./json_syntax.ts";

Deno.test("jsonSyntaxFault() tells the place and what should be there", () => {
  const cases: readonly [string, number, number, string][] = [
    ['{"a": }', 1, 7, "a value"],
    ['{"a": 1,\n "b" 2}', 2, 6, '":"'],
    ['{"a": 1,}', 1, 9, "a name"],
    ["{'a': 1}", 1, 2, 'a name or "}"'],
    ["[1, 2", 1, 6, '"," or "]"'],
    ["[1, 2}", 1, 6, '"," or "]"'],
    ['{"a": 1]', 1, 8, '"," or "}"'],
    ["[1,]", 1, 4, "a value"],
    ["[01]", 1, 3, '"," or "]"'],
    ["[+1]", 1, 2, 'a value or "]"'],
    ["[1] 2", 1, 5, "the end"],
    ['"a\nb"', 1, 3, "a character that strings may have, or their end"],
    ['"a\\x"', 1, 3, "an escape of JSON"],
    ["", 1, 1, "a value"],
    ["undefined", 1, 1, "a value"],
  ];
  for (const [text, line, column, expected] of cases) {
    const fault = jsonSyntaxFault(text);
    assert(fault !== undefined, text);
    assertEquals([fault.line, fault.column, fault.expected], [
      line,
      column,
      expected,
    ], text);
  }
});

Deno.test("jsonSyntaxFault() finds a fault exactly where the parser does not parse", async () => {
  const pieces = [
    ..."[]{},: \n",
    '"a"',
    '"\\u00e9"',
    '"\\',
    '"',
    "0",
    "-1.5e+3",
    "1.",
    "-",
    "true",
    "nul",
    "null",
    "\u00a0",
    "\t",
  ];
  let good = 0;
  await eachRound({ rounds: 3_000, seed: 17 }, ({ random }) => {
    const text = random.list(8, () => random.pick(pieces)).join("");
    const isJson = parses(text);
    if (isJson) good++;
    assertEquals(jsonSyntaxFault(text) === undefined, isJson, text);
  });
  assert(good > 30, `${good} good`);
});

Deno.test("jsonSyntaxFault() is quick with a long and deep text", async () => {
  const look = (length: number) => {
    const text = `${"[".repeat(length)}"${"a".repeat(3 * length)}`;
    return () => assertEquals(jsonSyntaxFault(text)?.isEnd, true);
  };
  await assertGrowth({ small: look(25_000), large: look(100_000), atMost: 8 });
});

function parses(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
