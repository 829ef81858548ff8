import { assertEquals } from "@std/assert";
import { membersOfPatch, mergePatch } from "./merge_patch.ts";

Deno.test("mergePatch() does what the examples of RFC 7396 do", () => {
  const cases: [unknown, unknown, unknown][] = [
    [{ a: "b" }, { a: "c" }, { a: "c" }],
    [{ a: "b" }, { b: "c" }, { a: "b", b: "c" }],
    [{ a: "b" }, { a: null }, {}],
    [{ a: "b", b: "c" }, { a: null }, { b: "c" }],
    [{ a: ["b"] }, { a: "c" }, { a: "c" }],
    [{ a: "c" }, { a: ["b"] }, { a: ["b"] }],
    [{ a: { b: "c" } }, { a: { b: "d", c: null } }, { a: { b: "d" } }],
    [{ a: [{ b: "c" }] }, { a: [1] }, { a: [1] }],
    [["a", "b"], ["c", "d"], ["c", "d"]],
    [{ a: "b" }, ["c"], ["c"]],
    [{ a: "foo" }, null, null],
    [{ a: "foo" }, "bar", "bar"],
    [{ e: null }, { a: 1 }, { e: null, a: 1 }],
    [[1, 2], { a: "b", c: null }, { a: "b" }],
    [{}, { a: { bb: { ccc: null } } }, { a: { bb: {} } }],
  ];
  for (const [target, patch, result] of cases) {
    assertEquals(mergePatch(target, patch), result);
  }
});

Deno.test("mergePatch() takes names that all objects have for names like others", () => {
  const patch = JSON.parse('{"__proto__": {"a": 1}, "constructor": {"b": 2}}');
  const merged = mergePatch({}, patch);
  assertEquals(JSON.stringify(merged), JSON.stringify(patch));
  assertEquals(Object.getPrototypeOf(merged), Object.prototype);
});

Deno.test("membersOfPatch() makes each member whole and keeps null", () => {
  const current = { headers: { a: "1", b: "2" }, limits: null, name: "x" };
  const patch = {
    headers: { a: null },
    limits: { rate: 1 },
    name: null,
    toString: { a: 1 },
  };
  assertEquals(membersOfPatch(current, patch), {
    headers: { b: "2" },
    limits: { rate: 1 },
    name: null,
    toString: { a: 1 },
  });
  assertEquals(membersOfPatch(current, [1]), [1]);
});
