import { assertEquals, assertMatch } from "@std/assert";
import { differenceFrom } from "./compare_output.ts";

Deno.test("differenceFrom() takes … for anything in a line, and alone for any lines", () => {
  assertEquals(differenceFrom("a … c\n", "a b c  \n"), undefined);
  assertEquals(differenceFrom("a\n…\nd\n", "a\nb\nc\nd\n"), undefined);
  assertEquals(differenceFrom("a\n…\nd\n", "a\nd\n"), undefined);
  assertEquals(differenceFrom("…\nd\n", "b\nd\n"), undefined);
});

Deno.test("differenceFrom() shows both texts when a line is another one, is missing or is new", () => {
  assertMatch(differenceFrom("a.c", "abc") ?? "", /shown:\na\.c\ncame:\nabc/);
  for (const actual of ["a\n", "a\nb\nc\n", "a\n\nb\n"]) {
    assertEquals(differenceFrom("a\nb\n", actual) === undefined, false);
  }
  assertEquals(differenceFrom("a … c", "a b\nc") === undefined, false);
});

Deno.test("differenceFrom() compares JSON without its spaces", () => {
  const shown = '{\n  "id": "tsk_…",\n  "n": [1, 2]\n}\n';
  assertEquals(differenceFrom(shown, '{"id":"tsk_1","n":[1,2]}'), undefined);
  assertEquals(
    differenceFrom(shown, '{"id":"tsk_1","n":[1,3]}') === undefined,
    false,
  );
});
