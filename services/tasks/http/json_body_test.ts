import { assert, assertEquals } from "@std/assert";
import { parseJsonBody, readJsonBody } from "./json_body.ts";

const JSON_TYPE = "application/json";

Deno.test("readJsonBody() reads a body and keeps its bytes", async () => {
  const text = '{"a": [1, "é"]}';
  assertEquals(await read({ body: text }), {
    kind: "ok",
    value: { a: [1, "é"] },
    bytes: toBytes(text),
  });
  assertEquals(await read({ body: `\ufeff${text}` }), {
    kind: "ok",
    value: { a: [1, "é"] },
    bytes: toBytes(text),
  });
});

Deno.test("readJsonBody() checks the type before it reads", async () => {
  for (
    const type of [
      undefined,
      "",
      "text/plain",
      "application/jsonx",
      "application/json; charset=latin1",
      "application/x-www-form-urlencoded",
      "multipart/form-data; boundary=application/json",
    ]
  ) {
    const outcome = await read({ body: "{}", type, mayRead: false });
    assert(outcome.kind === "problem", String(type));
    assertEquals(outcome.code, "unsupported_media_type");
    assertEquals(outcome.headers, { accept: JSON_TYPE });
  }
  for (
    const type of [
      "Application/JSON",
      "application/json;charset=UTF-8",
      'application/json ; charset="utf-8"',
      "application/json; profile=x",
    ]
  ) assertEquals((await read({ body: "{}", type })).kind, "ok", type);
});

Deno.test("readJsonBody() refuses a declared length without reading", async () => {
  const outcome = await read({ body: "{}", length: "1001", mayRead: false });
  assert(outcome.kind === "problem");
  assertEquals(outcome.code, "too_large");
  assertEquals(outcome.extensions, { limit: 1_000 });
});

Deno.test("readJsonBody() passes on how reading ended", async () => {
  const codes = await Promise.all(([
    { kind: "too_large" },
    { kind: "busy" },
    { kind: "aborted", reason: "timed_out" },
    { kind: "aborted", reason: "disconnected" },
  ] as const).map(async (bytes) => {
    const outcome = await read({ bytes });
    return outcome.kind === "problem" ? outcome.code : outcome.kind;
  }));
  assertEquals(codes, ["too_large", "overloaded", "request_timeout", "gone"]);
});

Deno.test("readJsonBody() takes no body where it is optional", async () => {
  const none = {
    kind: "ok",
    value: undefined,
    bytes: toBytes(""),
  } as const;
  const isOptional = true;
  assertEquals(await read({ body: "", type: undefined, isOptional }), none);
  assertEquals(await read({ body: "", isOptional }), none);
  assertEquals(
    await read({ body: "", type: "text/plain", length: "0", isOptional }),
    none,
  );
  const untyped = await read({ body: "{}", type: undefined, isOptional });
  assertEquals(
    untyped.kind === "problem" && untyped.code,
    "unsupported_media_type",
  );
  const required = await read({ body: "" });
  assertEquals(
    required.kind === "problem" && required.detail,
    "Cannot read body: it is empty",
  );
});

Deno.test("parseJsonBody() tells where a text stops being JSON", async () => {
  assertEquals(await parseForDetail('{"a": 1,\n  "b": }'), {
    code: "malformed_json",
    detail: "Cannot read body: there is something else at line 2, column 8, " +
      "where a value should be",
  });
  assertEquals(await parseForDetail('{"a": 1'), {
    code: "malformed_json",
    detail: "Cannot read body: it ends at line 1, column 8, where " +
      '"," or "}" should be',
  });
});

Deno.test("parseJsonBody() refuses bytes that are not UTF-8", async () => {
  const outcome = await parseJsonBody(Uint8Array.of(0x22, 0xc3, 0x22), {
    maxValues: 1,
  });
  assert(outcome.kind === "problem");
  assertEquals(outcome.detail, "Cannot read body: it is not UTF-8");
});

Deno.test("parseJsonBody() takes 64 levels and no more", async () => {
  assertEquals((await parse(deep(64))).kind, "ok");
  const outcome = await parse(`{"a": ${deep(64)}}`);
  assert(outcome.kind === "problem");
  assertEquals(outcome.code, "invalid");
  assertEquals(outcome.errors, [{
    pointer: "/a",
    code: "too_deep",
    detail:
      "Cannot accept value: it has more than 64 lists and objects within " +
      "each other",
  }]);
});

Deno.test("parseJsonBody() keeps __proto__ as data", async () => {
  const outcome = await parse('{"__proto__": {"x": 1}}');
  assert(outcome.kind === "ok");
  assertEquals(Object.keys(Object(outcome.value)), ["__proto__"]);
  assertEquals(Object(outcome.value).x, undefined);
});

Deno.test("parseJsonBody() tells where a long text stops being JSON", async () => {
  const lines = '{"é": [1, 2]},\n'.repeat(20_000);
  assertEquals(await parseForDetail(`{"a": [${lines}{"b" 1}, 2]}`), {
    code: "malformed_json",
    detail: "Cannot read body: there is something else at line 20001, " +
      'column 6, where ":" should be',
  });
  assertEquals(await parseForDetail(`{"a": [${lines}]}`), {
    code: "malformed_json",
    detail: "Cannot read body: there is something else at line 20001, " +
      "column 1, where a value should be",
  });
});

Deno.test("parseJsonBody() refuses more values than the route takes, and infinite numbers", async () => {
  const many = await parseJsonBody(toBytes("[1,2,3]"), { maxValues: 3 });
  assert(many.kind === "problem");
  assertEquals(many.errors, [{
    pointer: "",
    code: "too_many_values",
    detail: "Cannot accept value: it has more than 3 values",
  }]);
  const infinite = await parse('{"x": 1, "a/b": [{"c": 1e999}]}');
  assert(infinite.kind === "problem");
  assertEquals(infinite.errors, [{
    pointer: "/a~1b",
    code: "number_too_large",
    detail: "Cannot accept value: it holds a number that is too large for " +
      "JSON readers (2^1024)",
  }]);
});

async function parse(text: string) {
  return await parseJsonBody(toBytes(text), { maxValues: 1_000_000 });
}

interface Sent {
  readonly body?: string;
  readonly bytes?: Awaited<
    ReturnType<Parameters<typeof readJsonBody>[0]["read"]>
  >;
  readonly type?: string | undefined;
  readonly length?: string;
  readonly mayRead?: boolean;
  readonly isOptional?: boolean;
}

function read(sent: Sent): ReturnType<typeof readJsonBody> {
  const { body = "", mayRead = true, isOptional = false } = sent;
  return readJsonBody({
    contentType: "type" in sent ? sent.type : JSON_TYPE,
    contentLength: sent.length,
    read: (maxBytes) => {
      assert(mayRead, "read although it should not be");
      assertEquals(maxBytes, 1_000);
      return Promise.resolve(
        sent.bytes ?? { kind: "ok", bytes: toBytes(body) },
      );
    },
  }, { maxBytes: 1_000, isOptional, mediaTypes: [JSON_TYPE], maxValues: 99 });
}

async function parseForDetail(text: string): Promise<object> {
  const outcome = await parse(text);
  return outcome.kind === "problem"
    ? { code: outcome.code, detail: outcome.detail }
    : {};
}

function deep(levels: number): string {
  return "[".repeat(levels) + "]".repeat(levels);
}

function toBytes(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}
