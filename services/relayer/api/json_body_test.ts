import { assertEquals } from "@std/assert";
import { withDefault } from "../../shared/schema/object.ts";
import { cappedCount, members, text } from "./body_schemas.ts";
import { jsonBody, parseJson, readBody } from "./json_body.ts";

const SCHEMA = members({
  text: text(10),
  limit: withDefault(cappedCount(5), 3),
});

Deno.test("readBody() gives members with their types and leaves others alone", () => {
  const read = readBody(bytes('{"text":"tea","more":[1]}'), SCHEMA, {
    action: "do it",
  });
  assertEquals(read, { kind: "ok", value: { text: "tea", limit: 3 } });
});

Deno.test("readBody() says what cannot be done and why", () => {
  const read = readBody(bytes('{"text":"tea","limit":0}'), SCHEMA, {
    action: "do it",
  });
  assertEquals(read.kind === "refused" && read.answer, {
    status: 400,
    json: { error: 'Cannot do it: "limit" is less than 1' },
  });
});

Deno.test("readBody() says what is missing", () => {
  const read = readBody(bytes("{}"), SCHEMA, { action: "do it" });
  assertEquals(read.kind === "refused" && read.answer, {
    status: 400,
    json: { error: 'Cannot do it: "text" is missing' },
  });
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
