import { assertEquals } from "@std/assert";
import type { JsonSchema } from "../../shared/schema/schema.ts";
import { mergePatchSchema } from "./openapi_operation.ts";
import { misfits } from "../../shared/schema/testing/json_schema_check.ts";

const TASK: JsonSchema = {
  type: "object",
  properties: {
    date: { type: "string", description: "When" },
    metadata: { type: "object", additionalProperties: { type: "string" } },
    callback: { $ref: "#/components/schemas/Callback" },
    priority: { type: ["integer", "null"] },
  },
  required: ["date"],
  additionalProperties: false,
};
const CALLBACK: JsonSchema = {
  type: "object",
  properties: { url: { type: "string" }, on: { type: "string" } },
  required: ["url"],
  additionalProperties: false,
};
const DEFINITIONS = new Map([["Callback", CALLBACK]]);

Deno.test("mergePatchSchema() takes any member at any depth, and null", () => {
  const schema = mergePatchSchema({
    json: TASK,
    definitions: () => DEFINITIONS,
  });
  const fits = (value: unknown) =>
    misfits(value, { json: schema, definitions: () => DEFINITIONS }).length ===
      0;
  for (
    const patch of [
      {},
      { date: null },
      { metadata: { a: null, b: "x" } },
      { metadata: null },
      { callback: { on: null } },
      { callback: null, priority: null },
    ]
  ) assertEquals(fits(patch), true, JSON.stringify(patch));
  for (
    const patch of [{ other: 1 }, { metadata: { a: 1 } }, {
      callback: { no: 1 },
    }, { date: 5 }]
  ) assertEquals(fits(patch), false, JSON.stringify(patch));
});
