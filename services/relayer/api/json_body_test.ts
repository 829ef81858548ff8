import { assertEquals } from "@std/assert";
import { withDefault } from "../../shared/schema/object.ts";
import { cappedCount, members, text } from "./body_schemas.ts";
import { NEVER_PAUSING } from "../../shared/slices.ts";
import { type Answer, ok, refused } from "./answer.ts";
import { part } from "./document/answer_parts.ts";
import { jsonBody, parseJson, signedPost } from "./json_body.ts";
import { ANN } from "./testing/test_parts.ts";
import { READS } from "./token_rule.ts";
import { testRequest } from "./testing/test_request.ts";

const SCHEMA = members({
  text: text(10),
  limit: withDefault(cappedCount(5), 3),
});

Deno.test("signedPost() gives members with their types and leaves others alone", async () => {
  assertEquals(
    await posted('{"text":"tea","more":[1]}'),
    ok({ text: "tea", limit: 3 }),
  );
});

Deno.test("signedPost() says what cannot be done and why", async () => {
  assertEquals(
    await posted('{"text":"tea","limit":0}'),
    refused(400, 'Cannot do it: "limit" is less than 1'),
  );
});

Deno.test("signedPost() says what is missing", async () => {
  assertEquals(
    await posted("{}"),
    refused(400, 'Cannot do it: "text" is missing'),
  );
});

Deno.test("jsonBody() takes a member called __proto__ for a member", () => {
  const read = jsonBody(bytes('{"__proto__":{"text":"tea"}}'));
  assertEquals(read.kind === "ok" && read.value["text"], undefined);
});

Deno.test("parseJson() takes 16 levels and refuses more, however deep", () => {
  const nested = (depth: number) => "[".repeat(depth) + "]".repeat(depth);
  assertEquals(parseJson(bytes(nested(16))).kind, "ok");
  for (const depth of [17, 1_000, 100_000]) {
    assertEquals(parseJson(bytes(nested(depth))).kind, "invalid", `${depth}`);
  }
});

Deno.test("parseJson() refuses lists and objects that are too wide", () => {
  const list = (length: number) => `[${"1,".repeat(length - 1)}1]`;
  assertEquals(parseJson(bytes(list(8_192))).kind, "ok");
  const objects = `{"a":1${',"b":{}'.repeat(200_000)}}`;
  for (const text of [list(20_001), objects, `[${"[],".repeat(10_000)}1]`]) {
    assertEquals(parseJson(bytes(text)), {
      kind: "invalid",
      reason: "the body has more than 20000 values",
    });
  }
});

Deno.test("parseJson() refuses what is no UTF-8", () => {
  const surrogate = Uint8Array.of(0x22, 0xed, 0xa0, 0x80, 0x22);
  const overlong = Uint8Array.of(0x22, 0xc0, 0xaf, 0x22);
  for (const bad of [surrogate, overlong, Uint8Array.of(0xff)]) {
    assertEquals(parseJson(bad), {
      kind: "invalid",
      reason: "the body is not UTF-8",
    });
  }
});

Deno.test("parseJson() reads a part of a buffer as that part", () => {
  const part = bytes('xx{"a":1}yy').subarray(2, 9);
  assertEquals(parseJson(part), { kind: "ok", value: { a: 1 } });
});

function bytes(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}

/** Returns the answer of a route that echoes its body. */
async function posted(text: string): Promise<Answer> {
  const route = signedPost("/echo", SCHEMA, {
    action: "do it",
    words: {
      ...{ id: "echo", tag: "service", summary: "Echo", means: "It" },
      answer: part({}),
    },
    token: READS,
    namespacesOf: () => [],
    answer: (_call, body) => ok(body),
  });
  return await route.answer({
    request: testRequest({ method: "POST", target: "/echo" }),
    params: {},
    query: "",
    arrivedMs: 0,
    signal: new AbortController().signal,
    pausing: NEVER_PAUSING,
    body: bytes(text),
    caller: ANN,
  });
}
