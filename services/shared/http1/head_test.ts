import { assert, assertEquals } from "@std/assert";
import { parseHead, type RequestHead } from "./head.ts";

function readHead(...lines: readonly string[]): RequestHead {
  const outcome = parseHead(`${lines.join("\r\n")}\r\n\r\n`);
  assert(outcome.kind === "ok", JSON.stringify(outcome));
  return outcome.head;
}

function parseStatus(...lines: readonly string[]): number {
  const outcome = parseHead(`${lines.join("\r\n")}\r\n\r\n`);
  return outcome.kind === "ok" ? 200 : outcome.refusal.status;
}

Deno.test("parseHead() reads the request line and the header fields", () => {
  const head = readHead(
    "PATCH /v1/tasks?limit=2&x=%20 HTTP/1.1",
    "Host: acme.localhost:8070",
    "X-Twice: 1",
    "x-empty:",
    "X-TWICE: \t two words \t",
    "x-latin: \xe9",
  );
  assertEquals(head.method, "PATCH");
  assertEquals(head.target, "/v1/tasks?limit=2&x=%20");
  assertEquals(head.headers.get("HOST"), "acme.localhost:8070");
  assertEquals(head.headers.all("x-twice"), ["1", "two words"]);
  assertEquals(head.headers.get("x-twice"), "1, two words");
  assertEquals(head.headers.get("x-empty"), "");
  assertEquals(head.headers.get("x-latin"), "\xe9");
  assertEquals(head.headers.get("x-other"), undefined);
  assertEquals(head.headers.all("x-other"), []);
  assertEquals(head.framing, { kind: "length", bytes: 0 });
});

Deno.test("parseHead() refuses a malformed request line", () => {
  for (
    const [line, status] of [
      ["GET /", 400],
      ["GET  / HTTP/1.1", 400],
      ["GET / HTTP/1.1 ", 400],
      [" GET / HTTP/1.1", 400],
      ["GET /a b HTTP/1.1", 400],
      ["GET\t/\tHTTP/1.1", 400],
      ["G(T / HTTP/1.1", 400],
      ["get / HTTP/1.1", 501],
      ["GET / http/1.1", 400],
      ["GET / HTTP/1.11", 400],
      ["GET / HTTP/1.x", 400],
      ["GET / HTTP/2.0", 505],
      ["PRI * HTTP/2.0", 505],
      ["GET / HTTP/0.9", 505],
      ["GET a HTTP/1.1", 400],
      ["GET * HTTP/1.1", 400],
      ["GET /a#b HTTP/1.1", 400],
      ["GET /\xe9 HTTP/1.1", 400],
      ["CONNECT x:80 HTTP/1.1", 400],
      ["", 400],
    ] as const
  ) {
    assertEquals([line, parseStatus(line, "host: x")], [line, status]);
  }
});

Deno.test("parseHead() refuses a malformed header field", () => {
  for (
    const line of [
      "name : value",
      " name: value",
      "\tname: value",
      ": value",
      "name",
      "na me: value",
      "n\xe4me: value",
      "na@me: value",
    ]
  ) {
    assertEquals(
      [line, parseStatus("GET / HTTP/1.1", "host: x", line)],
      [line, 400],
    );
  }
  const folded = parseStatus("GET / HTTP/1.1", "host: x", "a: b", " c: d");
  assertEquals(folded, 400);
});

Deno.test("parseHead() refuses more header fields than allowed", () => {
  const lines = Array.from({ length: 99 }, (_, index) => `x-${index}: 1`);
  assertEquals(parseStatus("GET / HTTP/1.1", "host: x", ...lines), 200);
  assertEquals(parseStatus("GET / HTTP/1.1", "host: x", ...lines, "y: 1"), 431);
});

Deno.test("parseHead() wants one well-formed Host", () => {
  const get = "GET / HTTP/1.1";
  assertEquals(parseStatus(get), 400);
  assertEquals(parseStatus("GET / HTTP/1.0"), 200);
  assertEquals(parseStatus(get, "host: x", "host: x"), 400);
  assertEquals(parseStatus("GET / HTTP/1.0", "host: x", "host: y"), 400);
  for (const host of ["a.b", "a.b:80", "127.0.0.1:1", "[::1]:80", "a_b", ""]) {
    assertEquals([host, parseStatus(get, `host: ${host}`)], [host, 200]);
  }
  for (const host of ["a/b", "a b", "a@b", "a:b", "[::1", "a,b:x", "a\xe9"]) {
    assertEquals([host, parseStatus(get, `host: ${host}`)], [host, 400]);
  }
});

Deno.test("parseHead() says of what kind a refusal is", () => {
  const parseCode = (...lines: string[]): string | undefined => {
    const outcome = parseHead(`${lines.join("\r\n")}\r\n\r\n`);
    return outcome.kind === "refused" ? outcome.refusal.code : "none";
  };
  const get = "GET / HTTP/1.1";
  for (const lines of [[], ["host: x", "host: x"], ["host: a/b"]]) {
    assertEquals(parseCode(get, ...lines), "bad_host");
  }
  assertEquals(parseCode("GET http://c/ HTTP/1.1", "host: x"), "bad_host");
  assertEquals(parseCode(get, "host: x", "na me: y"), "bad_header");
  // That of the status.
  assertEquals(parseCode("GET / HTTP/2.0", "host: x"), undefined);
});

Deno.test("parseHead() takes an absolute target of the same host", () => {
  const readTarget = (target: string): string =>
    readHead(`GET ${target} HTTP/1.1`, "Host: A.b:80").target;
  assertEquals(readTarget("http://a.B:80/c?d"), "/c?d");
  assertEquals(readTarget("HTTPS://a.b:80"), "/");
  assertEquals(readTarget("http://a.b:80?d"), "/?d");
  for (const url of ["http://c/", "http://u@a.b:80/", "ftp://a.b:80/"]) {
    const status = parseStatus(`GET ${url} HTTP/1.1`, "host: a.b:80");
    assertEquals([url, status], [url, 400]);
  }
});

Deno.test("parseHead() tells how the body is framed", () => {
  const framing = (...lines: readonly string[]): unknown =>
    readHead("POST / HTTP/1.1", "host: x", ...lines).framing;
  assertEquals(framing("content-length: 007"), { kind: "length", bytes: 7 });
  assertEquals(framing("Transfer-Encoding: Chunked"), { kind: "chunked" });
});

Deno.test("parseHead() refuses framing with two meanings", () => {
  for (
    const [status, ...lines] of [
      [400, "content-length: 2", "transfer-encoding: chunked"],
      [400, "transfer-encoding: chunked", "content-length: 2"],
      [400, "content-length: 2", "content-length: 3"],
      [400, "content-length: 2", "content-length: 2"],
      [400, "content-length: 2, 2"],
      [400, "content-length: +2"],
      [400, "content-length: -2"],
      [400, "content-length: 0x2"],
      [400, "content-length: 2 2"],
      [400, "content-length: 2.0"],
      [400, "content-length:"],
      [400, "content-length: 1234567890123456"],
      [400, "transfer-encoding: identity"],
      [400, "transfer-encoding: xchunked"],
      [400, "transfer-encoding: chunked, chunked"],
      [400, "transfer-encoding: chunked", "transfer-encoding: chunked"],
      [400, "transfer-encoding: chunked, gzip"],
      [400, 'transfer-encoding: "chunked"'],
      [400, "transfer-encoding:"],
      [501, "transfer-encoding: gzip, chunked"],
    ] as const
  ) {
    const found = parseStatus("POST / HTTP/1.1", "host: x", ...lines);
    assertEquals([lines, found], [lines, status]);
  }
  const old = ["POST / HTTP/1.0", "transfer-encoding: chunked"];
  assertEquals(parseStatus(...old), 400);
});

Deno.test("parseHead() tells whether the connection is kept", () => {
  const keeps = (version: string, connection?: string): boolean =>
    readHead(
      `GET / ${version}`,
      "host: x",
      ...(connection === undefined ? [] : [`connection: ${connection}`]),
    ).keepsAlive;
  assertEquals(keeps("HTTP/1.1"), true);
  assertEquals(keeps("HTTP/1.1", "upgrade, Close"), false);
  assertEquals(keeps("HTTP/1.1", "closed"), true);
  assertEquals(keeps("HTTP/1.0"), false);
  assertEquals(keeps("HTTP/1.0", "Keep-Alive"), true);
  assertEquals(keeps("HTTP/1.0", "keep-alive, close"), false);
});

Deno.test("parseHead() takes one expectation only", () => {
  const expects = (version: string): boolean =>
    readHead(`GET / ${version}`, "host: x", "Expect: 100-Continue")
      .expectsContinue;
  assertEquals(expects("HTTP/1.1"), true);
  assertEquals(expects("HTTP/1.0"), false);
  assertEquals(parseStatus("GET / HTTP/1.1", "host: x", "expect: beer"), 417);
});
