import { assertEquals } from "@std/assert";
import { inexactNumber } from "./inexact_number.ts";

Deno.test("inexactNumber() finds whole numbers that would come back as others", () => {
  const cases = [
    ['{"a":[1,12345678901234567890]}', "12345678901234567890"],
    ["-9007199254740993", "-9007199254740993"],
    ["9007199254740993", "9007199254740993"],
    [`1${"0".repeat(60)}1`, `1${"0".repeat(39)}`],
    ["9007199254740991", undefined],
    ["-9007199254740992", undefined],
    // A power of two is exact, however large.
    ["9007199254740992", undefined],
    ["1152921504606846976", undefined],
    ['{"a":"12345678901234567890"}', undefined],
    ["0.12345678901234567890", undefined],
    ["1.2345678901234567890e5", undefined],
    ["[1,2,3]", undefined],
  ] as const;
  for (const [text, found] of cases) {
    assertEquals(inexactNumber(text), found, text);
  }
});
