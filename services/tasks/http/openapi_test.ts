import { assert, assertEquals, assertThrows } from "@std/assert";
import { empty } from "./answer.ts";
import { buildOpenApi, shareParts } from "./openapi.ts";
import { PROBLEM_CODES } from "./problem_catalog.ts";
import { type AnyRoute, defineRoute, type RouteFacts } from "./route.ts";
import { findOperation } from "./testing/answer_check.ts";
import { demoRoutes } from "./testing/demo_routes.ts";
import {
  type OpenApiDocument,
  type OpenApiResponse,
  resolved,
} from "../../shared/openapi/document.ts";
import { openApiFaults } from "../../shared/openapi/testing/openapi_check.ts";
import { SAMPLE } from "../../shared/openapi/testing/sample_document.ts";

const OPTIONS: Parameters<typeof buildOpenApi>[1] = {
  title: "Notes",
  version: "1.0.0",
  host: "example.com",
};
const DOCUMENT = buildOpenApi(demoRoutes(), OPTIONS);

Deno.test("buildOpenApi() keeps the structural rules of OpenAPI 3.1", async () => {
  // Clients get JSON, so the document is checked as JSON.
  assertEquals(await openApiFaults(JSON.parse(JSON.stringify(DOCUMENT))), []);
});

Deno.test("buildOpenApi() describes every route, and an example of every problem", () => {
  for (const { operationId, path, method } of demoRoutes()) {
    const item = DOCUMENT.paths[path.replace(":id", "{id}")];
    assertEquals(item?.[method.toLowerCase()]?.operationId, operationId);
  }
  assertEquals(
    Object.keys(DOCUMENT.components.examples ?? {}),
    [...PROBLEM_CODES],
  );
  assertEquals(Object.keys(DOCUMENT.components.schemas), [
    "Note",
    "NoteChanges",
    "NoteList",
    "Problem",
    "ProblemFault",
    "ChangeNote",
  ]);
});

Deno.test("buildOpenApi() writes what a route takes", () => {
  const create = findOperation(DOCUMENT, "createNote");
  assertEquals(create?.parameters, [
    { $ref: "#/components/parameters/IdempotencyKey" },
  ]);
  const created = resolved<OpenApiResponse>(
    DOCUMENT,
    create?.responses["201"] ?? { description: "" },
  );
  assertEquals(Object.keys(created.headers ?? {}), [
    "location",
    "idempotency-replayed",
  ]);
  assertEquals(create?.security, [
    { apiKey: ["tasks:write"] },
    { userToken: ["tasks:write"] },
  ]);
  assertEquals(
    create?.description,
    "Needs the scope `tasks:write`, which comes with the role member.",
  );
  const change = findOperation(DOCUMENT, "changeNote");
  assertEquals(Object.keys(change?.requestBody?.content ?? {}), [
    "application/json",
    "application/merge-patch+json",
  ]);
  assert(change?.responses["412"] !== undefined);
  assert(findOperation(DOCUMENT, "getNote")?.responses["304"] !== undefined);
});

Deno.test("buildOpenApi() writes query parameters as they are read", () => {
  const list = findOperation(DOCUMENT, "listNotes");
  const kind = list?.parameters?.find((one) =>
    "name" in one && one.name === "kind"
  );
  assertEquals(kind, {
    name: "kind",
    in: "query",
    required: false,
    style: "form",
    explode: false,
    schema: {
      type: "array",
      items: { type: "string", enum: ["todo", "idea"] },
      minItems: 1,
      maxItems: 100,
    },
  });
});

Deno.test("buildOpenApi() says where a route is when it is elsewhere", () => {
  assertEquals(DOCUMENT.servers[0]?.url, "https://{tenant}.example.com/api");
  assertEquals(findOperation(DOCUMENT, "listNotes")?.servers, undefined);
  assertEquals(findOperation(DOCUMENT, "health")?.servers, [
    { url: "https://example.com" },
  ]);
});

Deno.test("buildOpenApi() throws for what cannot be told apart or kept", () => {
  const twice = [route({}), route({ path: "/b" })];
  assertThrows(
    () => buildOpenApi(twice, OPTIONS),
    TypeError,
    'operation id "one"',
  );
  const sameplace = [route({}), route({ operationId: "two", hosts: "apex" })];
  assertThrows(
    () => buildOpenApi(sameplace, OPTIONS),
    TypeError,
    "two are GET /a",
  );
  const weak = route({
    access: { kind: "member", role: "viewer", scope: "tasks:write" },
  });
  assertThrows(() => buildOpenApi([weak], OPTIONS), TypeError, "its role");
  const hidden = route({ operationId: "two", isUndocumented: true });
  assertEquals(Object.keys(buildOpenApi([hidden], OPTIONS).paths), []);
});

Deno.test("openApiFaults() finds what breaks the rules", async () => {
  assertEquals(await openApiFaults(JSON.parse(JSON.stringify(DOCUMENT))), []);
  const list = ["paths", "/v1/notes", "get"];
  const note = ["components", "schemas", "Note"];
  const breaks: readonly Break[] = [
    { at: ["openapi"], value: "3.0.3" },
    { at: ["info", "title"] },
    { at: note },
    {
      at: ["paths", "/v1/notes/{name}"],
      value: DOCUMENT.paths["/v1/notes/{id}"],
    },
    { at: ["paths", "/v1/notes/{id}", "get", "parameters"] },
    { at: [...list, "operationId"], value: "createNote" },
    { at: [...list, "tags"], value: ["other"] },
    { at: [...list, "security"], value: [{ other: [] }] },
    { at: [...list, "responses"], value: {} },
    { at: [...list, "responses", "ok"], value: {} },
    { at: [...note, "required", "0"], value: "other" },
    { at: [...note, "properties", "title", "pattern"], value: "(" },
    { at: ["components", "examples", "invalid", "value", "status"], value: "" },
    { at: [...list, "responses", "200", "description"] },
  ];
  for (const one of breaks) {
    const faults = await openApiFaults(broken(one));
    assert(faults.length > 0, one.at.join(" "));
  }
});

/** A member of the document to replace, or to remove if there is no value. */
interface Break {
  readonly at: readonly string[];
  readonly value?: unknown;
}

function broken({ at, value }: Break): unknown {
  const document: unknown = JSON.parse(JSON.stringify(DOCUMENT));
  const last = at.at(-1) ?? "";
  let parent: unknown = document;
  for (const name of at.slice(0, -1)) {
    assert(typeof parent === "object" && parent !== null, at.join(" "));
    parent = Reflect.get(parent, name);
  }
  assert(typeof parent === "object" && parent !== null, at.join(" "));
  if (value === undefined) {
    assert(Reflect.has(parent, last), at.join(" "));
    Reflect.deleteProperty(parent, last);
  } else {
    Reflect.set(parent, last, value);
  }
  return document;
}

function route(facts: Partial<RouteFacts>): AnyRoute {
  return defineRoute({
    method: "GET",
    path: "/a",
    hosts: "tenant",
    operationId: "one",
    summary: "One",
    tags: [],
    access: { kind: "public" },
    answers: { 204: { description: "Done" } },
    problems: [],
    handle: () => empty(),
    ...facts,
  });
}

const GONE = { description: "It is gone" };
const SCHEMA = { type: "object", description: "A change" } as const;
const EXAMPLE = { text: "new" };

/** The sample document with an operation that shares parts with others. */
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
