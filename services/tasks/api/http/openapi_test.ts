import { assert, assertEquals, assertThrows } from "@std/assert";
import { empty } from "./answer.ts";
import { openApiOf, type OpenApiOptions } from "./openapi.ts";
import { PROBLEM_CODES } from "./problem_catalog.ts";
import { type AnyRoute, defineRoute, type RouteFacts } from "./route.ts";
import { findOperation } from "./testing/answer_check.ts";
import { demoRoutes } from "./testing/demo_routes.ts";
import { openApiFaults } from "./testing/openapi_check.ts";

const OPTIONS: OpenApiOptions = {
  title: "Notes",
  version: "1.0.0",
  host: "example.com",
};
const DOCUMENT = openApiOf(demoRoutes(), OPTIONS);

Deno.test("openApiOf() keeps the structural rules of OpenAPI 3.1", () => {
  // What a client gets is JSON, so that is what is checked.
  assertEquals(openApiFaults(JSON.parse(JSON.stringify(DOCUMENT))), []);
});

Deno.test("openApiOf() describes every route, and an example of every problem", () => {
  for (const { operationId, path, method } of demoRoutes()) {
    const item = DOCUMENT.paths[path.replace(":id", "{id}")];
    assertEquals(item?.[method.toLowerCase()]?.operationId, operationId);
  }
  assertEquals(
    Object.keys(DOCUMENT.components.examples),
    [...PROBLEM_CODES],
  );
  assertEquals(Object.keys(DOCUMENT.components.schemas), [
    "Note",
    "NoteChanges",
    "NoteList",
    "Problem",
    "ProblemFault",
  ]);
});

Deno.test("openApiOf() writes what a route takes", () => {
  const create = findOperation(DOCUMENT, "createNote");
  assertEquals(create?.parameters, [
    { $ref: "#/components/parameters/IdempotencyKey" },
  ]);
  assertEquals(Object.keys(create?.responses["201"]?.headers ?? {}), [
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

Deno.test("openApiOf() writes query parameters as they are read", () => {
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

Deno.test("openApiOf() says where a route is when it is elsewhere", () => {
  assertEquals(DOCUMENT.servers[0]?.url, "https://{tenant}.example.com/api");
  assertEquals(findOperation(DOCUMENT, "listNotes")?.servers, undefined);
  assertEquals(findOperation(DOCUMENT, "health")?.servers, [
    { url: "https://example.com" },
  ]);
});

Deno.test("openApiOf() throws for what cannot be told apart or kept", () => {
  const twice = [route({}), route({ path: "/b" })];
  assertThrows(
    () => openApiOf(twice, OPTIONS),
    TypeError,
    'operation id "one"',
  );
  const sameplace = [route({}), route({ operationId: "two", hosts: "apex" })];
  assertThrows(
    () => openApiOf(sameplace, OPTIONS),
    TypeError,
    "two are GET /a",
  );
  const weak = route({
    access: { kind: "member", role: "viewer", scope: "tasks:write" },
  });
  assertThrows(() => openApiOf([weak], OPTIONS), TypeError, "its role");
  const hidden = route({ operationId: "two", isUndocumented: true });
  assertEquals(Object.keys(openApiOf([hidden], OPTIONS).paths), []);
});

Deno.test("openApiFaults() finds what breaks the rules", () => {
  const changed = (change: (document: Mutable) => void): readonly string[] => {
    const copy = JSON.parse(JSON.stringify(DOCUMENT));
    change(copy);
    return openApiFaults(copy);
  };
  assertEquals(changed(() => {}), []);
  const breaks: readonly ((document: Mutable) => void)[] = [
    (document) => document.openapi = "3.0.3",
    (document) => delete document.info.title,
    (document) => delete document.components.schemas.Note,
    (document) =>
      document.paths["/v1/notes/{name}"] = document.paths["/v1/notes/{id}"],
    (document) => delete document.paths["/v1/notes/{id}"].get.parameters,
    (document) => document.paths["/v1/notes"].get.operationId = "createNote",
    (document) => document.paths["/v1/notes"].get.tags = ["other"],
    (document) => document.paths["/v1/notes"].get.security = [{ other: [] }],
    (document) => document.paths["/v1/notes"].get.responses = {},
    (document) => document.paths["/v1/notes"].get.responses.ok = {},
    (document) => document.components.schemas.Note.required.push("other"),
    (document) =>
      document.components.schemas.Note.properties.title.pattern = "(",
    (document) => document.components.examples.invalid.value.status = "422",
    (document) =>
      delete document.paths["/v1/notes"].get.responses["200"].description,
  ];
  for (const change of breaks) {
    assert(changed(change).length > 0, String(change));
  }
});

/** A document that a test takes apart; JSON has no better type. */
interface Mutable {
  openapi: string;
  // deno-lint-ignore no-explicit-any
  [name: string]: any;
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
