import { assert, assertEquals } from "@std/assert";
import { beginningOf } from "./json_beginning.ts";

Deno.test("beginningOf() gives all of what is short, and the same beginning of what is long", () => {
  const value = { a: [1, { b: "xyz" }, []], __proto: null, c: "long text" };
  const text = JSON.stringify(value);
  assertEquals(beginningOf(value, { maxChars: 1_000 }), {
    value,
    isCut: false,
  });
  for (let maxChars = 0; maxChars < 40; maxChars++) {
    const { value: cut, isCut } = beginningOf(value, { maxChars });
    assert(isCut, String(maxChars));
    // Up to where it was cut, and the brackets that close.
    const begin = JSON.stringify(cut);
    const same = [...text].findIndex((char, at) => begin[at] !== char);
    assert(
      same >= Math.min(maxChars, text.length) - 12,
      `${maxChars}: ${begin}`,
    );
    assert(begin.length <= maxChars + 40, begin);
  }
});

Deno.test("beginningOf() looks at no more of a list than it gives", () => {
  let looks = 0;
  const list = new Proxy(new Array(1_000_000).fill("x"), {
    get(target, name) {
      looks++;
      return Reflect.get(target, name);
    },
  });
  assert(beginningOf(list, { maxChars: 300 }).isCut);
  assert(looks < 500, String(looks));
});
