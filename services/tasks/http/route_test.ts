import { assert, assertEquals, assertThrows } from "@std/assert";
import { type Answer, renderAnswer } from "./answer.ts";
import { getCaller, getTenant } from "./call.ts";
import { buildOpenApi } from "./openapi.ts";
import { type AnyRoute, shownNumber } from "./route.ts";
import { RouteMatcher } from "./locate.ts";
import { answerFaults } from "./testing/answer_check.ts";
import { demoCall } from "./testing/demo_call.ts";
import { demoRoutes } from "./testing/demo_routes.ts";

const ROUTES = demoRoutes();
const DOCUMENT = buildOpenApi(ROUTES, {
  title: "Notes",
  version: "1.0.0",
  host: "example.com",
});

Deno.test("answer() hands query and body to the handler as they were read", async () => {
  assertEquals(await call("listNotes", { rawQuery: "limit=1&kind=idea" }), {
    status: 200,
    value: { data: [createNote({})], next: "idea" },
    faults: [],
  });
  assertEquals(
    await call("createNote", {
      json: { title: "Bread", due: "2030-01-31T09:30:00+01:00" },
    }),
    {
      status: 201,
      value: {
        title: "Bread",
        kind: "todo",
        labels: [],
        id: "acme_1",
        due: "2030-01-31T08:30:00.000Z",
      },
      faults: [],
    },
  );
});

Deno.test("answer() tells the faults of query and body together", async () => {
  const { status, value, faults } = await call("createNote", {
    rawQuery: "dry_run=true",
    json: { titel: "Bread", kind: "tod" },
  });
  assertEquals(status, 422);
  assertEquals(faults, []);
  const { code, errors } = Object(value);
  assertEquals(code, "invalid");
  assertEquals(
    errors.map((error: Record<string, string>) => [
      error.pointer ?? error.parameter,
      error.code,
    ]),
    [
      ["dry_run", "unknown_parameter"],
      ["/titel", "unknown_field"],
      ["/kind", "unknown_choice"],
      ["/title", "required"],
    ],
  );
});

Deno.test("answer() takes a body that is left out only where it is optional", async () => {
  assertEquals((await call("snoozeNote", {})).status, 204);
  assertEquals((await call("snoozeNote", { json: { days: 10 } })).status, 422);
  assertEquals((await call("createNote", {})).status, 422);
  assertEquals((await call("changeNote", { json: null })).status, 422);
});

Deno.test("answer() passes problems of the handler on", async () => {
  const found = await call("getNote", { params: { id: "note_1" } });
  assertEquals([found.status, found.faults], [200, []]);
  const missing = await call("getNote", { params: { id: "other" } });
  assertEquals([missing.status, missing.faults], [404, []]);
});

Deno.test("maxBytes() depends on the plan", () => {
  const limits = { payloadBytes: 1, batchSize: 5 };
  assertEquals(findRoute("createNotes").body?.maxBytes(limits), 5_000);
  assertEquals(findRoute("createNote").body?.maxBytes(limits), 65_536);
});

Deno.test("a table of routes can be matched and described", () => {
  const match = new RouteMatcher(ROUTES).match(
    "tenant",
    "POST",
    "/api/v1/notes/x/snooze",
  );
  assert(match.kind === "route");
  assertEquals(match.route.operationId, "snoozeNote");
});

Deno.test("answerFaults() finds answers that the document does not promise", () => {
  const faults = (status: number, value: unknown): readonly string[] => {
    const answer: Answer = { kind: "json", status, value };
    return answerFaults(DOCUMENT, {
      operationId: "getNote",
      answer: renderAnswer(answer, {
        requestId: "r",
        scheme: "https",
        host: "example.com",
      }),
    });
  };
  assertEquals(faults(200, createNote({})), ["lacks etag"]);
  assertEquals(faults(200, createNote({ title: 5 })), [
    "lacks etag",
    '/title: must be string {"type":"string"}',
  ]);
  assertEquals(
    faults(200, createNote({ secret: 5 })).at(-1),
    "/secret: must NOT have additional properties {}",
  );
  assertEquals(faults(202, {}), ["getNote does not promise the status 202"]);
  assertEquals(faults(404, {}).at(-1), 'has the type "application/json"');
});

Deno.test("getTenant() and getCaller() throw where the route has none", () => {
  assertEquals(getTenant(demoCall()).domain, "acme");
  assertThrows(() => getTenant({ tenant: undefined }), TypeError);
  assertThrows(() => getCaller(demoCall()), TypeError);
});

interface Sent {
  readonly rawQuery?: string;
  readonly params?: Readonly<Record<string, string>>;
  readonly json?: unknown;
}

async function call(operationId: string, sent: Sent): Promise<{
  readonly status: number;
  readonly value: unknown;
  readonly faults: readonly string[];
}> {
  const { json, ...context } = sent;
  const answer = await findRoute(operationId).answer(demoCall(context), json);
  const rendered = renderAnswer(answer, {
    requestId: "req_1",
    scheme: "https",
    host: "example.com",
  });
  return {
    status: rendered.status,
    value: rendered.body === undefined
      ? undefined
      : JSON.parse(String(rendered.body)),
    faults: answerFaults(DOCUMENT, { operationId, answer: rendered }),
  };
}

function findRoute(operationId: string): AnyRoute {
  const route = ROUTES.find((one) => one.operationId === operationId);
  assert(route !== undefined, operationId);
  return route;
}

function createNote(changes: object): object {
  return {
    id: "note_1",
    title: "Milk",
    kind: "todo",
    due: "2030-01-31T08:30:00.000Z",
    labels: ["home"],
    ...changes,
  };
}

Deno.test("shownNumber() puts commas between thousands", () => {
  for (
    const [number, shown] of [
      [0, "0"],
      [999, "999"],
      [1_000, "1,000"],
      [12_345_678, "12,345,678"],
    ] as const
  ) assertEquals(shownNumber(number), shown);
});
