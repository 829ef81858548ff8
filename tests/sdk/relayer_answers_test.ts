/**
 * Tests that the client reads every member of the relayer's answers, as the
 * relayer's document has them: a new member needs a reader and a type.
 *
 * @module
 */

import { assert, assertEquals } from "@std/assert";
import { Mem } from "../../mod.ts";
import { ALL_CALLS, type Call } from "../../sdk/memory/testing/all_calls.ts";
import { ID_SAMPLE } from "../../services/relayer/api/document/answer_parts.ts";
import { relayerDocument } from "../../services/relayer/api/document/relayer_document.ts";
import { allRoutes } from "../../services/relayer/api/handler.ts";
import { openTestRelayer } from "../../services/relayer/api/testing/test_relayer.ts";
import {
  isJsonObject,
  type JsonSchema,
} from "../../services/shared/schema/schema.ts";

const { paths, components } = relayerDocument(
  allRoutes(openTestRelayer().parts),
  "1",
);

/** The operation of each call whose result is the answer itself. */
const OPERATIONS: Readonly<Record<string, string>> = {
  remember: "POST /api/remember",
  rememberBulk: "POST /api/remember/bulk",
  getRememberStatus: "GET /api/remember/{id}",
  getRememberBulkStatus: "POST /api/remember/bulk/status",
  recall: "POST /api/recall",
  analyze: "POST /api/analyze",
  ask: "POST /api/ask",
  restore: "POST /api/restore",
  forget: "POST /api/forget",
  deleteMemory: "DELETE /api/memories/{id}",
  stats: "POST /api/stats",
  whoami: "GET /api/whoami",
  listNamespaces: "GET /v1/owners/{owner}/namespaces",
  listMemories: "GET /v1/owners/{owner}/memories",
  health: "GET /health",
  compatibility: "GET /version",
  rememberManual: "POST /api/remember/manual",
  recallManual: "POST /api/recall/manual",
};

/** Members that the client does not pass on. */
const UNREAD: Readonly<Record<string, readonly string[]>> = {
  getRememberStatus: ["retrying", "vector"],
  getRememberBulkStatus: ["results.retrying", "results.vector"],
  recall: ["notice"],
  health: ["prompt_versions", "embedder"],
};

for (const [name, call] of ALL_CALLS.filter(([name]) => name in OPERATIONS)) {
  Deno.test(`Mem.${name}() reads all of what the relayer answers`, async () => {
    const answer = createAnswer(OPERATIONS[name] ?? "");
    const result = await callRelayer(call, answer);
    const unread = UNREAD[name] ?? [];
    assertEquals(
      namesIn(answer).filter((path) =>
        !unread.some((one) => path === one || path.startsWith(`${one}.`))
      ),
      namesIn(result),
    );
  });
}

/** Makes a call to a relayer that answers as told, and as documented else. */
async function callRelayer(call: Call[1], answer: unknown): Promise<unknown> {
  let isPreflightOver = false;
  await using mem = Mem.create({
    key: "07".repeat(32),
    accountId: "0xa11ce",
    fetch: (url) => {
      const { pathname } = new URL(url);
      const isPreflight = pathname === "/version" && !isPreflightOver;
      isPreflightOver ||= isPreflight;
      const json = isPreflight
        ? createAnswer("GET /version")
        : pathname === "/api/whoami"
        ? createAnswer("GET /api/whoami")
        : answer;
      return Promise.resolve(Response.json(json));
    },
  });
  return await call(mem);
}

/** An answer of an operation with every member that its schema has. */
function createAnswer(operation: string): unknown {
  const [method = "", path = ""] = operation.split(" ");
  const responses = paths[path]?.[method.toLowerCase()]?.responses ?? {};
  const response = responses["200"] ?? responses["202"];
  assert(response !== undefined && "content" in response, operation);
  const { schema, example } = response.content?.["application/json"] ?? {};
  const whole = JSON.stringify(createWhole(schema ?? {}, example));
  // The calls ask for this job, and the client compares.
  return JSON.parse(whole.replaceAll(ID_SAMPLE, "j1"));
}

function createWhole(schema: JsonSchema, example: unknown): unknown {
  if (schema.$ref !== undefined) {
    const name = schema.$ref.split("/").at(-1) ?? "";
    return createWhole(components.schemas[name] ?? {}, example);
  }
  const { properties, items } = schema;
  if (properties !== undefined) {
    return Object.fromEntries(
      Object.entries(properties).map(([name, member]) => [
        name,
        createWhole(member, isJsonObject(example) ? example[name] : undefined),
      ]),
    );
  }
  if (schema.type === "array") {
    return [
      createWhole(items ?? {}, Array.isArray(example) ? example[0] : null),
    ];
  }
  const types = [schema.type ?? "string"].flat();
  const made = types.includes("boolean")
    ? true
    : types.includes("object")
    ? { name: 1 }
    : types.includes("number") || types.includes("integer")
    ? 1
    : "text";
  return example ?? schema.const ?? schema.enum?.[0] ?? made;
}

/** The paths of all members, in order. */
function namesIn(value: unknown, at = ""): readonly string[] {
  if (Array.isArray(value)) return namesIn(value[0], at);
  if (!isJsonObject(value)) return at === "" ? [] : [at];
  return Object.entries(value)
    .flatMap(([name, one]) => namesIn(one, at === "" ? name : `${at}.${name}`))
    .toSorted();
}
