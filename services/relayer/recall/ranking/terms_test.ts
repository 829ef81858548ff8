import { assert, assertEquals } from "@std/assert";
import { MAX_TERM_TEXT_CHARS, termsOf } from "./terms.ts";

function shared(left: string, right: string): readonly string[] {
  const terms = new Set(termsOf(right));
  return termsOf(left).filter((term) => terms.has(term));
}

Deno.test("termsOf() gives forms of an English word one term", () => {
  assertEquals(termsOf("moved, moving and Moves"), ["move", "move", "move"]);
});

Deno.test("termsOf() keeps names whole as well as in parts", () => {
  for (const name of ["v2.3.1", "snake_case", "ERR_FOO-12", "ada@site.org"]) {
    const terms = termsOf(`it says ${name} there`);
    assert(terms.includes(name.toLowerCase()), name);
  }
  assert(termsOf("userName").includes("usernam"));
  assertEquals(shared("the user", "userName is set"), ["user"]);
  assertEquals(shared("error 12", "ERR_FOO-12"), ["12"]);
});

Deno.test("termsOf() finds texts without spaces by a part of them", () => {
  assert(shared("東京", "私は東京に住んでいます").includes("東京"));
});

Deno.test("termsOf() keeps a question of little words findable", () => {
  assertEquals(termsOf("who are you").length, 3);
});

Deno.test("termsOf() gives no more terms than the bound of hostile texts", () => {
  const hostile = ["a", "aB", "a.", "a\u0301", "東", "-"];
  for (const part of hostile) {
    const terms = termsOf(part.repeat(2 ** 20));
    assert(terms.length <= 4 * MAX_TERM_TEXT_CHARS, part);
    assert(terms.every((term) => term.length <= 256), part);
  }
});
