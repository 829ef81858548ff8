import { assertEquals } from "@std/assert";
import { prefersMinimal } from "./prefer.ts";

Deno.test("prefersMinimal() tells whether return=minimal is preferred", () => {
  const cases: readonly [string | undefined, boolean][] = [
    [undefined, false],
    ["", false],
    ["return=minimal", true],
    ["Return = minimal", true],
    ['return="minimal"', true],
    ["respond-async, return=minimal; foo=bar", true],
    ["return=minimal, return=representation", true],
    ["return=representation, return=minimal", false],
    ["return=MINIMAL", false],
    ["return", false],
    ["return=", false],
    ["returns=minimal", false],
    ["handling=lenient; return=minimal", false],
  ];
  for (const [header, expected] of cases) {
    assertEquals(prefersMinimal(header), expected, String(header));
  }
});
