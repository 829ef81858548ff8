import { assertEquals, assertStringIncludes } from "@std/assert";
import type { JsonSchema } from "../schema/schema.ts";
import { detailHtml, typeHtml } from "./schema_html.ts";

Deno.test("typeHtml() names kinds of values", () => {
  const cases: readonly (readonly [JsonSchema, string])[] = [
    [{}, "any value"],
    [{ type: "string" }, "string"],
    [{ type: ["integer", "null"] }, "integer or null"],
    [{ type: "array", items: { type: "number" } }, "list of number"],
    [{ const: "a<b" }, '<code>"a&lt;b"</code>'],
    [{ anyOf: [{ type: "string" }, { type: "null" }] }, "string or null"],
    [
      { $ref: "#/components/schemas/Note" },
      '<a href="#schema-Note">Note</a>',
    ],
  ];
  for (const [schema, expected] of cases) {
    assertEquals(typeHtml(schema), expected);
  }
});

Deno.test("detailHtml() tells the bounds of a value", () => {
  const cases: readonly (readonly [JsonSchema, string])[] = [
    [{ minimum: 1 }, "at least 1"],
    [{ minimum: 1, maximum: 1 }, "1"],
    [{ minLength: 1 }, "at least 1 character"],
    [{ minLength: 1, maxLength: 9 }, "1 to 9 characters"],
    [{ maxItems: 3, uniqueItems: true }, "at most 3 items; no two alike"],
    [{ pattern: "^<" }, "pattern <code>^&lt;</code>"],
    [{ enum: ["a", 1] }, 'one of <code>"a"</code>, <code>1</code>'],
    [{ readOnly: true }, "set by the service"],
  ];
  for (const [schema, expected] of cases) {
    assertEquals(detailHtml(schema), `<p class="facts">${expected}</p>`);
  }
});

Deno.test("detailHtml() shows members within members, but not without end", () => {
  let schema: JsonSchema = { type: "string", description: "the last" };
  for (let level = 0; level < 3; level++) {
    schema = { type: "object", properties: { a: schema }, required: ["a"] };
  }
  assertStringIncludes(detailHtml(schema), "the last");
  for (let level = 0; level < 20; level++) {
    schema = { type: "object", properties: { a: schema } };
  }
  assertEquals(detailHtml(schema).includes("the last"), false);
});

Deno.test("detailHtml() shows a value that may be null as the value", () => {
  assertEquals(
    detailHtml({ anyOf: [{ type: "integer", minimum: 2 }, { type: "null" }] }),
    '<p class="facts">at least 2</p>',
  );
});
