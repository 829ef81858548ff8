import {
  assert,
  assertEquals,
  assertInstanceOf,
  assertStringIncludes,
} from "@std/assert";
import {
  isPassingTrouble,
  isTimeoutError,
  MemCompatibilityError,
  MemError,
  MemRequestTimeout,
  RateLimitError,
} from "./errors.ts";
import { errorOfAnswer, presentable } from "./server_text.ts";

const NOW_MS = Date.parse("2027-01-15T08:00:00Z");

function failed(
  status: number,
  body: unknown = "",
  rest: Partial<Parameters<typeof errorOfAnswer>[0]> = {},
): Parameters<typeof errorOfAnswer>[0] {
  return {
    status,
    headers: new Headers(),
    body: typeof body === "string" ? body : JSON.stringify(body),
    purpose: "POST /api/recall",
    isSigned: true,
    timeoutMs: 15_000,
    nowMs: NOW_MS,
    ...rest,
  };
}

Deno.test("errorOfAnswer() says what the relayer said, and keeps the body as the cause", () => {
  const body = { error: "text is empty", code: "BAD_TEXT" };
  const error = errorOfAnswer(failed(400, body));
  assertEquals(
    error.message,
    'Cannot complete POST /api/recall: the relayer answered 400: "text is empty"',
  );
  assertEquals(error.status, 400);
  assertEquals(error.serverCode, "BAD_TEXT");
  assertEquals(error.cause, JSON.stringify(body));
});

Deno.test("errorOfAnswer() takes message before error before code", () => {
  const cases = [
    [{ message: "m", error: "e", code: "c" }, '"m"'],
    [{ message: "", error: "e", code: "c" }, '"e"'],
    [{ message: 5, error: { a: 1 }, code: "c" }, '"c"'],
  ] as const;
  for (const [body, said] of cases) {
    assertStringIncludes(errorOfAnswer(failed(500, body)).message, said);
  }
});

Deno.test("errorOfAnswer() tells the status alone when the body is no JSON object", () => {
  for (const body of ["", "<html>busy</html>", "[1]", "null", '"text"', "{"]) {
    const error = errorOfAnswer(failed(503, body));
    assertEquals(
      error.message,
      "Cannot complete POST /api/recall: the relayer answered 503",
    );
    assertEquals(error.cause, body === "" ? undefined : body);
  }
});

Deno.test("errorOfAnswer() does not take a proxy's refusal for the relayer's", () => {
  for (const status of [400, 401, 403, 404, 426]) {
    const error = errorOfAnswer(failed(status, "default backend - 404"));
    assertEquals(
      error.message,
      "Cannot complete POST /api/recall: something else than a relayer " +
        `answered ${status}; check serverUrl`,
    );
    assertEquals(
      [error.name, error.status, error.serverCode, isPassingTrouble(error)],
      ["MemError", status, "UNEXPECTED_ANSWER", true],
    );
  }
  assertInstanceOf(errorOfAnswer(failed(429, "<html>")), RateLimitError);
});

Deno.test("errorOfAnswer() cuts what was said at 200 characters and keeps it in one line", () => {
  for (const letter of ["x", "😀"]) {
    const { message } = errorOfAnswer(
      failed(500, { error: letter.repeat(250) }),
    );
    const said = message.slice(message.indexOf('"') + 1, -1);
    assertEquals([...said].length, 200);
    assert(said.endsWith(`${letter}…`));
  }
  const { message } = errorOfAnswer(
    failed(500, { error: "a\r\nb\u001b[31m\u202ec" }),
  );
  assert(!/[\p{Cc}\p{Cf}]|\\[rnu]/u.test(message), message);
});

Deno.test("errorOfAnswer() masks where the relayer's own parts listen", () => {
  const addresses = [
    "http://localhost:9000/encrypt?key=1",
    "http://127.0.0.1:9000",
    "HTTPS://LOCALHOST/a",
    "http://[::1]:9000/a",
    "http://0.0.0.0:1",
    "redis://user:hush@127.0.0.1:6379/0",
    "127.0.0.1:9000",
    "localhost:9000/x",
  ];
  for (const address of addresses) {
    const { message } = errorOfAnswer(
      failed(500, { error: `call to ${address} failed` }),
    );
    assertStringIncludes(message, '"call to [internal address] failed"');
  }
  const { message } = errorOfAnswer(
    failed(500, { error: "call to https://blobs.test/v1 failed" }),
  );
  assertStringIncludes(message, "https://blobs.test/v1");
});

Deno.test("errorOfAnswer() has one message for every 401, with the reason where there is one", () => {
  const plain = errorOfAnswer(failed(401, { error: "anything" }));
  assertEquals(plain.serverCode, "AUTH_REJECTED");
  assertEquals(plain.authError, undefined);
  assert(!plain.message.includes("anything"));
  const headers = new Headers({ "x-auth-error": "ERR_NOT_A_DELEGATE" });
  const told = errorOfAnswer(failed(401, "", { headers }));
  assertEquals(told.serverCode, "AUTH_REJECTED");
  assertEquals(told.authError, "ERR_NOT_A_DELEGATE");
  assertStringIncludes(told.message, "(ERR_NOT_A_DELEGATE)");
  const late = errorOfAnswer(failed(401, "", {
    headers: new Headers({ "x-auth-error": "ERR_TIMESTAMP_OUT_OF_BOUNDS" }),
  }));
  assertStringIncludes(late.message, "clock");
  const token = errorOfAnswer(failed(401, { error: "it has expired" }, {
    headers: new Headers({
      "x-auth-error": "ERR_TOKEN_EXPIRED",
      "www-authenticate": 'Bearer realm="relayer", error="invalid_token"',
    }),
  }));
  assertStringIncludes(token.message, '(ERR_TOKEN_EXPIRED): "it has expired"');
  const odd = new Headers({ "x-auth-error": "<b>no word</b>" });
  assertEquals(
    errorOfAnswer(failed(401, "", { headers: odd })).message,
    plain.message,
  );
});

Deno.test("errorOfAnswer() keeps the reason of a 503 whose ledger is away", () => {
  const headers = new Headers({
    "x-auth-error": "AUTH_UPSTREAM_UNAVAILABLE",
    "retry-after": "30",
  });
  const error = errorOfAnswer(failed(503, "", { headers }));
  assertEquals(error.authError, "AUTH_UPSTREAM_UNAVAILABLE");
  assertEquals(error.retryAfterSeconds, 30);
});

Deno.test("errorOfAnswer() is a MemCompatibilityError for a 426 to a signed request alone", () => {
  assertInstanceOf(errorOfAnswer(failed(426)), MemCompatibilityError);
  const unsigned = errorOfAnswer(failed(426, "", { isSigned: false }));
  assert(!(unsigned instanceof MemCompatibilityError));
  assertInstanceOf(unsigned, MemError);
});

Deno.test("errorOfAnswer() is a RateLimitError for a 429 that knows when to come back", () => {
  const body = {
    error: "slow",
    layer: "delegate_key",
    retry_after_seconds: 60,
  };
  const byBody = errorOfAnswer(failed(429, body));
  assertInstanceOf(byBody, RateLimitError);
  assertEquals(byBody.layer, "delegate_key");
  assertEquals(byBody.retryAfterSeconds, 60);
  const cases = [
    ["5", 5],
    ["0", 0],
    ["Fri, 15 Jan 2027 08:00:10 GMT", 10],
    ["Fri, 15 Jan 2027 07:00:00 GMT", 0],
    ["soon", 60],
    ["-1", 60],
    ["1e9", 60],
  ] as const;
  for (const [header, seconds] of cases) {
    const headers = new Headers({ "retry-after": header });
    const error = errorOfAnswer(failed(429, body, { headers }));
    assertEquals(error.retryAfterSeconds, seconds, header);
  }
});

Deno.test("errorOfAnswer() is a MemRequestTimeout when the relayer gives a recall up", () => {
  const error = errorOfAnswer(
    failed(504, { code: "RECALL_TIMEOUT", stage: "vector_search" }),
  );
  assertInstanceOf(error, MemRequestTimeout);
  assert(isTimeoutError(error));
  assertEquals(error.phase, "POST /api/recall (vector_search)");
  assertEquals(error.serverCode, "RECALL_TIMEOUT");
  assertEquals(isTimeoutError(errorOfAnswer(failed(504))), false);
});

Deno.test("errorOfAnswer() says what to do about a redirect", () => {
  assertStringIncludes(errorOfAnswer(failed(308)).message, "set serverUrl");
});

Deno.test("presentable() blanks what Unicode calls control or format characters, and nothing else", () => {
  const wrong: string[] = [];
  for (let code = 0; code <= 0x10ffff; code++) {
    if (code >= 0xd800 && code <= 0xdfff) continue;
    const character = String.fromCodePoint(code);
    const isUnseen = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u.test(character);
    if (isUnseen !== (presentable(`a${character}b`) === "a b")) {
      if (character !== " ") wrong.push(code.toString(16));
    }
  }
  assertEquals(wrong, []);
});
