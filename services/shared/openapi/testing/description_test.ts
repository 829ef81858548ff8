import { assertEquals } from "@std/assert";
import type { OpenApiDocument } from "../document.ts";
import { undescribed } from "./description_check.ts";
import { describedAs, repeatsName } from "./description.ts";

Deno.test("repeatsName() sees through articles, order, case and number", () => {
  for (
    const [name, text] of [
      ["catch_up", "Catch up."],
      ["jobId", "The id of the job."],
      ["job_ids", "The jobs' ids"],
      ["TaskPolicies", "A task's policy."],
      ["HTTPStatus", "Its http status"],
      ["id", ""],
    ] as const
  ) assertEquals(repeatsName(name, text), true, `${name}: ${text}`);
});

Deno.test("repeatsName() leaves a text that says more", () => {
  for (
    const [name, text] of [
      ["id", "The task's id"],
      ["limit", "Most attempts"],
      ["created_at", "When it was created"],
    ] as const
  ) assertEquals(repeatsName(name, text), false, `${name}: ${text}`);
});

Deno.test("describedAs() takes the words of what is referred to, beside null too", () => {
  const schemas = { Age: { type: "integer", description: "Years" } } as const;
  const $ref = "#/components/schemas/Age";
  const either = { anyOf: [{ $ref }, { type: "null" }] } as const;
  assertEquals(describedAs(either, schemas), "Years");
  assertEquals(describedAs({ $ref, description: "Own" }, schemas), "Own");
  assertEquals(describedAs({ anyOf: [{ $ref }, {}] }, schemas), undefined);
});

Deno.test("undescribed() finds members and parameters that nothing is said of", () => {
  const media = {
    "application/json": {
      schema: {
        type: "object",
        properties: {
          age: { type: "integer" },
          pets: {
            type: "array",
            description: "Those that live there",
            items: { type: "object", properties: { name: {} } },
          },
        },
      },
    },
  } as const;
  const document: OpenApiDocument = {
    openapi: "3.1.0",
    info: { title: "Test", version: "1" },
    servers: [],
    tags: [],
    paths: {
      "/": {
        post: {
          operationId: "post",
          summary: "Post",
          tags: [],
          security: [],
          parameters: [{
            name: "page_size",
            in: "query",
            required: false,
            description: "The size of the page",
            schema: {},
          }],
          requestBody: { required: true, content: media },
          responses: {},
        },
      },
    },
    components: { schemas: { House: {} }, securitySchemes: {} },
  };
  assertEquals(undescribed(document), [
    "House: has no description",
    'post / page_size: "The size of the page" is its name',
    "post /.age: has no description",
    "post /.pets[].name: has no description",
  ]);
});
