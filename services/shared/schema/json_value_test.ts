import { assert, assertEquals } from "@std/assert";
import { type JsonValue, readWhole } from "./schema.ts";
import { anyJson, jsonFault, jsonText } from "./json_value.ts";
import { object } from "./object.ts";

Deno.test("anyJson() takes any JSON up to its depth", () => {
  const schema = object({ data: anyJson({ maxBytes: 10_000 }) });
  for (const data of [null, 0, "", [], {}, nested(64)]) {
    assertEquals(readWhole(schema, { data }), { kind: "ok", value: { data } });
  }
  const outcome = readWhole(schema, { data: nested(65) });
  assert(outcome.kind === "invalid");
  assertEquals(outcome.faults[0]?.code, "too_deep");
  assertEquals(outcome.faults[0]?.pointer, "/data/0");
});

Deno.test("anyJson() counts the bytes of the text, not its characters", () => {
  const schema = anyJson({ maxBytes: 8 });
  assertEquals(readWhole(schema, "éé1").kind, "ok"); // 2 quotes, 2 x 2, 1
  assertEquals(readWhole(schema, "ééé").kind, "ok");
  const outcome = readWhole(schema, "éééé");
  assert(outcome.kind === "invalid");
  assertEquals(outcome.faults, [{
    pointer: "",
    code: "too_many_bytes",
    detail: "Cannot accept value: it has more than 8 bytes as JSON text",
  }]);
});

Deno.test("jsonText() reads the shortest text, __proto__ included", () => {
  const value: unknown = JSON.parse('{ "__proto__" : {"a": 1}, "b": [ ] }');
  assertEquals(readWhole(jsonText({ maxBytes: 100 }), value), {
    kind: "ok",
    value: '{"__proto__":{"a":1},"b":[]}',
  });
});

Deno.test("jsonFault() finds numbers that no reader can hold", () => {
  assertEquals(jsonFault(JSON.parse('{"a/b": [1, {"c": 1e999}]}')), {
    code: "number_too_large",
    pointer: "/a~1b",
  });
  assertEquals(jsonFault(JSON.parse("-1e400")), {
    code: "number_too_large",
    pointer: "",
  });
  assertEquals(jsonFault(JSON.parse("[1e308]")), undefined);
});

Deno.test("jsonFault() does not run out of stack however deep a body is", () => {
  const depth = 200_000;
  const value: unknown = JSON.parse("[".repeat(depth) + "]".repeat(depth));
  assertEquals(jsonFault(value)?.code, "too_deep");
});

function nested(depth: number): JsonValue {
  let value: JsonValue = [];
  for (let level = 1; level < depth; level++) value = [value];
  return value;
}
