import { assertEquals, assertThrows } from "@std/assert";
import type { OpenApiDocument } from "../../shared/openapi/document.ts";
import { openApiFaults } from "../../shared/openapi/testing/openapi_check.ts";
import { SAMPLE } from "../../shared/openapi/testing/sample_document.ts";
import { shareParts } from "./openapi_sharing.ts";

const GONE = { description: "It is gone" };
const SCHEMA = { type: "object", description: "A change" } as const;
const EXAMPLE = { text: "new" };

/** The sample with an operation that has much alike. */
function sample(): OpenApiDocument {
  const common = { tags: ["notes"], security: [], summary: "Change a note" };
  const requestBody = {
    required: true,
    content: {
      "application/json": { schema: SCHEMA, example: EXAMPLE },
      "application/merge-patch+json": { schema: SCHEMA, example: EXAMPLE },
    },
  };
  const responses = { 204: { description: "Done" }, 410: GONE };
  return {
    ...SAMPLE,
    paths: {
      "/a": {
        patch: {
          ...common,
          operationId: "changeA",
          requestBody,
          responses: { ...responses, 409: { description: "Not now" } },
        },
        delete: { ...common, operationId: "removeA", responses },
      },
    },
  };
}

Deno.test("shareParts() writes answers that occur more than once once", async () => {
  const shared = shareParts(sample());
  assertEquals(shared.components.responses, {
    ...SAMPLE.components.responses,
    Answer204_1: { description: "Done" },
    Answer410_1: GONE,
  });
  assertEquals(shared.paths["/a"]?.["patch"]?.responses, {
    204: { $ref: "#/components/responses/Answer204_1" },
    409: { description: "Not now" },
    410: { $ref: "#/components/responses/Answer410_1" },
  });
  assertEquals(await openApiFaults(JSON.parse(JSON.stringify(shared))), []);
});

Deno.test("shareParts() writes the schema of a body of several types once", () => {
  const shared = shareParts(sample());
  assertEquals(shared.components.schemas["ChangeA"], SCHEMA);
  const content = shared.paths["/a"]?.["patch"]?.requestBody?.content;
  const reference = { $ref: "#/components/schemas/ChangeA" };
  assertEquals(content, {
    "application/json": { schema: reference, example: EXAMPLE },
    "application/merge-patch+json": { schema: reference, example: EXAMPLE },
  });
  const { components, ...rest } = sample();
  assertThrows(
    () =>
      shareParts({
        ...rest,
        components: { ...components, schemas: { ChangeA: {} } },
      }),
    TypeError,
    'Cannot name the body of "changeA"',
  );
});
