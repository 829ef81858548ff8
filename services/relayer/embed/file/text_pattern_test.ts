import { assertEquals, assertThrows } from "@std/assert";
import { ModelFileError } from "./model_json.ts";
import { readPattern } from "./text_pattern.ts";

Deno.test("readPattern() finds what the library finds when an expression is simple", () => {
  const cases: readonly (readonly [
    regex: string,
    text: string,
    found: readonly string[],
  ])[] = [
    ["\\s+", "a \u3000b\u0085c\ufeff", [" \u3000", "\u0085"]],
    ["\\d", "1٣a½", ["1", "٣"]],
    ["\\w+", "zoë_1-x", ["zoë_1", "x"]],
    [" {2,}", "a  b c   d", ["  ", "   "]],
    ["[^\\w\\s]", "a, b!", [",", "!"]],
    ["[.,]", "a.b,c", [".", ","]],
    ["\\p{Lu}", "aÉB", ["É", "B"]],
    ["\\.", "a.b", ["."]],
    ["é", "café", ["é"]],
  ];
  for (const [regex, text, found] of cases) {
    assertEquals(text.match(readPattern({ Regex: regex })) ?? [], found, regex);
  }
});

Deno.test("readPattern() finds a plain text wherever it stands, whatever its characters mean elsewhere", () => {
  for (const plain of [".", "$1", "[a]", "^", "\\", "(a+)+", "//"]) {
    const text = `x${plain}y${plain}`;
    assertEquals(text.replace(readPattern({ String: plain }), ""), "xy");
  }
});

Deno.test("readPattern() refuses an expression that may take more than one look at a character", () => {
  for (
    const regex of [
      ...["(a+)+", "a*", "a|b", "^a", "a$", ".", "ab", "(?=a)", "[a-z&&[b]]"],
      ...["", "\\1", "[", "\\W", "a{1,999}", "\\p{Nonsense}", "a".repeat(257)],
    ]
  ) {
    assertThrows(
      () => readPattern({ Regex: regex }),
      ModelFileError,
      "is not one kind of character",
    );
  }
  assertThrows(
    () => readPattern({}),
    ModelFileError,
    "a pattern is not a text",
  );
});
