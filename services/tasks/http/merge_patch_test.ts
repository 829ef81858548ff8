import { assertEquals } from "@std/assert";
import { NEVER_PAUSING } from "../../shared/slices.ts";
import { copiedMember, mergePatch, patchedMembers } from "./merge_patch.ts";

/** The examples of RFC 7396, appendix A. */
const EXAMPLES: readonly (readonly [string, string, string])[] = [
  ['{"a":"b"}', '{"a":"c"}', '{"a":"c"}'],
  ['{"a":"b"}', '{"b":"c"}', '{"a":"b","b":"c"}'],
  ['{"a":"b"}', '{"a":null}', "{}"],
  ['{"a":"b","b":"c"}', '{"a":null}', '{"b":"c"}'],
  ['{"a":["b"]}', '{"a":"c"}', '{"a":"c"}'],
  ['{"a":"c"}', '{"a":["b"]}', '{"a":["b"]}'],
  ['{"a":{"b":"c"}}', '{"a":{"b":"d","c":null}}', '{"a":{"b":"d"}}'],
  ['{"a":[{"b":"c"}]}', '{"a":[1]}', '{"a":[1]}'],
  ['["a","b"]', '["c","d"]', '["c","d"]'],
  ['{"a":"b"}', '["c"]', '["c"]'],
  ['{"a":"foo"}', "null", "null"],
  ['{"a":"foo"}', '"bar"', '"bar"'],
  ['{"e":null}', '{"a":1}', '{"e":null,"a":1}'],
  ["[1,2]", '{"a":"b","c":null}', '{"a":"b"}'],
  ["{}", '{"a":{"bb":{"ccc":null}}}', '{"a":{"bb":{}}}'],
];

for (const [target, patch, result] of EXAMPLES) {
  Deno.test(`mergePatch() makes ${result} of ${target} by ${patch}`, async () => {
    const merged = await mergePatch(
      JSON.parse(target),
      JSON.parse(patch),
      NEVER_PAUSING,
    );
    assertEquals(merged, JSON.parse(result));
  });
}

Deno.test("patchedMembers() tells the members of the patch alone, null where one goes", async () => {
  const target: Readonly<Record<string, unknown>> = { a: { b: 1 }, c: 2, d: 3 };
  assertEquals(
    await patchedMembers({ a: { e: 4 }, c: null, f: { g: null } }, {
      copyMember: (name) => target[name],
      pausing: NEVER_PAUSING,
    }),
    {
      a: { b: 1, e: 4 },
      c: null,
      f: {},
    },
  );
});

Deno.test("mergePatch() keeps a member called __proto__ as one, and gives way on the way", async () => {
  let pauses = 0;
  const merged = await mergePatch(
    JSON.parse('{"a":{"__proto__":{"b":1}}}'),
    JSON.parse('{"a":{"__proto__":{"c":2},"d":{"e":null}}}'),
    {
      pause() {
        pauses++;
        return Promise.resolve();
      },
    },
  );
  assertEquals(
    JSON.stringify(merged),
    '{"a":{"__proto__":{"b":1,"c":2},"d":{}}}',
  );
  assertEquals(pauses, 5);
});

Deno.test("mergePatch() takes names that all objects have for names like others", async () => {
  const patch = JSON.parse('{"__proto__": {"a": 1}, "constructor": {"b": 2}}');
  const merged = await mergePatch({}, patch, NEVER_PAUSING);
  assertEquals(JSON.stringify(merged), JSON.stringify(patch));
  assertEquals(Object.getPrototypeOf(merged), Object.prototype);
});

Deno.test("patchedMembers() makes each member whole and keeps null", async () => {
  const current = { headers: { a: "1", b: "2" }, limits: null, name: "x" };
  const patch = {
    headers: { a: null },
    limits: { rate: 1 },
    name: null,
    toString: { a: 1 },
  };
  const options = {
    copyMember: (name: string) => copiedMember(current, name),
    pausing: NEVER_PAUSING,
  };
  assertEquals(await patchedMembers(patch, options), {
    headers: { b: "2" },
    limits: { rate: 1 },
    name: null,
    toString: { a: 1 },
  });
  assertEquals(current.headers, { a: "1", b: "2" });
  assertEquals(await patchedMembers([1], options), [1]);
});
