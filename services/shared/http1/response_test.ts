import { assertEquals, assertMatch, assertThrows } from "@std/assert";
import type { HttpResponse } from "../http/exchange.ts";
import {
  type EncodeOptions,
  encodeResponse,
  plainProblem,
} from "./response.ts";

const DATE = "Fri, 15 Jan 2027 08:00:00 GMT";

function encoded(
  response: HttpResponse,
  options: Partial<EncodeOptions> = {},
): string {
  const pieces = encodeResponse(response, {
    isHead: false,
    connection: undefined,
    date: DATE,
    ...options,
  });
  return pieces.map((piece) => new TextDecoder().decode(piece)).join("");
}

Deno.test("encodeResponse() writes head and body", () => {
  const response: HttpResponse = {
    status: 201,
    headers: { location: "/v1/tasks/1", "set-cookie": ["a=1", "b=2"] },
    body: "schön",
  };
  assertEquals(
    encoded(response, { connection: "close" }),
    `HTTP/1.1 201 Created\r\nlocation: /v1/tasks/1\r\nset-cookie: a=1\r\n` +
      `set-cookie: b=2\r\ndate: ${DATE}\r\nconnection: close\r\n` +
      `content-length: 6\r\n\r\nschön`,
  );
  const bytes = new TextEncoder().encode("schön");
  assertEquals(
    encoded({ ...response, body: bytes }),
    encoded(response),
  );
});

Deno.test("encodeResponse() keeps large bytes apart from their head", () => {
  const body = new Uint8Array(100_000);
  const pieces = encodeResponse({ status: 200, headers: {}, body }, {
    isHead: false,
    connection: undefined,
    date: DATE,
  });
  assertEquals(pieces.length, 2);
  assertEquals(pieces[1], body);
});

Deno.test("encodeResponse() leaves out the body where there is none", () => {
  const head = `date: ${DATE}\r\n`;
  assertEquals(
    encoded({ status: 200, headers: {}, body: "abc" }, { isHead: true }),
    `HTTP/1.1 200 OK\r\n${head}content-length: 3\r\n\r\n`,
  );
  assertEquals(
    encoded({ status: 200, headers: {} }),
    `HTTP/1.1 200 OK\r\n${head}content-length: 0\r\n\r\n`,
  );
  assertEquals(
    encoded({ status: 204, headers: {}, body: "abc" }),
    `HTTP/1.1 204 No Content\r\n${head}\r\n`,
  );
  assertEquals(
    encoded({ status: 304, headers: { etag: '"1"' }, body: "abc" }),
    `HTTP/1.1 304 Not Modified\r\netag: "1"\r\n${head}\r\n`,
  );
  assertEquals(
    encoded({ status: 299, headers: {} }).startsWith("HTTP/1.1 299 \r\n"),
    true,
  );
});

Deno.test("encodeResponse() refuses header fields that are not the handler's", () => {
  for (
    const [name, value] of [
      ["x", "a\r\nb: c"],
      ["x", "a\nb"],
      ["x", "a\0"],
      ["x", "é"],
      ["x\r\ny", "a"],
      ["", "a"],
      ["x y", "a"],
      ["Content-Length", "3"],
      ["transfer-encoding", "chunked"],
      ["connection", "close"],
      ["date", "now"],
    ] as const
  ) {
    assertThrows(
      () => encoded({ status: 200, headers: { [name]: value } }),
      TypeError,
      "Cannot send answer",
    );
  }
});

Deno.test("encodeResponse() refuses a status that ends no exchange", () => {
  for (const status of [0, 100, 199, 600, 200.5, NaN]) {
    assertThrows(() => encoded({ status, headers: {} }), RangeError);
  }
});

Deno.test("plainProblem() is a problem document with a code", () => {
  const { headers, body } = plainProblem(400, { detail: "So" });
  const id = String(headers["x-request-id"]);
  assertMatch(id, /^req_[0-9a-f]{32}$/);
  assertEquals(headers, {
    "content-type": "application/problem+json",
    "x-request-id": id,
  });
  assertEquals(JSON.parse(String(body)), {
    type: "about:blank",
    title: "Bad Request",
    status: 400,
    detail: "So",
    instance: `/requests/${id}`,
    code: "bad_request",
    request_id: id,
  });
  const other = JSON.parse(
    String(plainProblem(505, { code: "old_protocol" }).body),
  );
  assertEquals([other.title, other.status, other.code], [
    "HTTP Version Not Supported",
    505,
    "old_protocol",
  ]);
  const long = plainProblem(414);
  assertEquals(JSON.parse(String(long.body)).code, "uri_too_long");
});

Deno.test("encodeResponse() puts the same bytes in lent memory as in its own", () => {
  const options = { isHead: false, connection: undefined, date: "x" } as const;
  for (
    const body of ["a", "ä€😀\ud800", "y".repeat(4_778), "z".repeat(9_000)]
  ) {
    const response = { status: 200, headers: { "x-a": "b" }, body };
    const output = new Uint8Array(16_384);
    const [lent] = encodeResponse(response, { ...options, output });
    const [own] = encodeResponse(response, options);
    assertEquals(lent?.buffer === output.buffer, body.length <= 4_778);
    assertEquals(Array.from(lent ?? []), Array.from(own ?? []));
  }
});
