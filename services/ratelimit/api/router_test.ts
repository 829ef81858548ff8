import {
  assert,
  assertEquals,
  assertInstanceOf,
  assertStrictEquals,
  assertThrows,
} from "@std/assert";
import type {
  HttpHandler,
  HttpRequest,
  HttpResponse,
} from "../../shared/http/exchange.ts";
import { fetchAnswer } from "../../shared/http1/testing/test_server.ts";
import type { LogFields, Logger } from "../../shared/logger.ts";
import { createRouter, type Route } from "./router.ts";

interface Line {
  readonly message: string;
  readonly fields: LogFields | undefined;
}

function buildRouter(
  routes: readonly Route[],
  lines: Line[] = [],
): HttpHandler {
  const unexpected = (message: string) => {
    throw new Error(`Unexpected log line: ${message}`);
  };
  const logger: Logger = {
    debug: unexpected,
    info: unexpected,
    warn: unexpected,
    error: (message, fields) => lines.push({ message, fields }),
  };
  return createRouter({ routes, logger });
}

function textAnswer(text: string): HttpResponse {
  return { status: 200, headers: {}, body: text };
}

function saying(text: string): () => HttpResponse {
  return () => textAnswer(text);
}

/** Returns a request that has only what the router looks at. */
function createRequest(method: string, target: string): HttpRequest {
  const unused = () => {
    throw new Error("The router looks at method and target only");
  };
  return {
    method,
    target,
    headers: { get: unused, all: unused },
    peer: { address: "192.0.2.1", port: 1 },
    isTls: false,
    isGone: unused,
    onGone: unused,
    body: unused,
  };
}

async function call(
  handler: HttpHandler,
  request: string,
): Promise<{ status: number; text: string; allow: string | null }> {
  const [method = "", path = ""] = request.split(" ");
  const response = await fetchAnswer({ handler }, path, { method });
  const allow = response.headers.get("allow");
  return { status: response.status, text: await response.text(), allow };
}

Deno.test("createRouter() answers at once when the handler does", () => {
  const response = textAnswer("ok");
  const router = buildRouter([
    { method: "GET", path: "/json", handle: () => response },
  ]);
  assertStrictEquals(router(createRequest("GET", "/json?a=/b")), response);
});

Deno.test("createRouter() waits for a handler that answers later", async () => {
  const router = buildRouter([{
    method: "POST",
    path: "/json",
    handle: () => Promise.resolve(textAnswer("later")),
  }]);
  const answer = router(createRequest("POST", "/json"));
  assertInstanceOf(answer, Promise);
  assertEquals((await answer).body, "later");
});

Deno.test("createRouter() finds routes by path and method", async () => {
  const router = buildRouter([
    { method: "GET", path: "/", handle: saying("root") },
    { method: "GET", path: "/a", handle: saying("get a") },
    { method: "POST", path: "/a", handle: saying("post a") },
    { method: "*", path: "/any", handle: saying("any") },
    { method: "POST", path: "/any", handle: saying("post any") },
  ]);
  for (
    const [request, text] of [
      ["GET /", "root"],
      ["GET /?x=1", "root"],
      ["GET /a?/any", "get a"],
      ["POST /a", "post a"],
      ["DELETE /any", "any"],
      ["OPTIONS /any", "any"],
      ["PUT /any", "any"],
      ["POST /any", "post any"],
    ] as const
  ) {
    assertEquals((await call(router, request)).text, text, request);
  }
});

Deno.test("createRouter() answers 404 as a problem when no path matches", async () => {
  const router = buildRouter([
    { method: "GET", path: "/tasks/:id", handle: saying("one") },
  ]);
  for (
    const path of [
      "/",
      "/tasks",
      "/tasks/",
      "/tasks/1/",
      "/Tasks/1",
      "/tasks/%",
    ]
  ) {
    const { status, text } = await call(router, `GET ${path}`);
    assertEquals([path, status, JSON.parse(text).status], [path, 404, 404]);
  }
});

Deno.test("createRouter() answers 405 with the methods there are", async () => {
  const router = buildRouter([
    { method: "POST", path: "/a", handle: saying("post") },
    { method: "GET", path: "/a", handle: saying("get") },
  ]);
  const { status, text, allow } = await call(router, "OPTIONS /a");
  assertEquals([status, JSON.parse(text).status], [405, 405]);
  assertEquals(allow, "GET, HEAD, POST");
});

Deno.test("createRouter() answers HEAD from GET without the body", async () => {
  const headers = { "x-y": "z" };
  const router = buildRouter([
    {
      method: "GET",
      path: "/a",
      handle: () => ({ status: 203, headers, body: "twelve bytes" }),
    },
    { method: "POST", path: "/b", handle: saying("post") },
  ]);
  const response = await fetchAnswer({ handler: router }, "/a", {
    method: "HEAD",
  });
  assertEquals(await response.text(), "");
  assertEquals(response.status, 203);
  assertEquals(response.headers.get("x-y"), "z");
  assertEquals(response.headers.get("content-length"), "12");
  assertEquals((await call(router, "HEAD /b")).status, 405);
});

Deno.test("createRouter() answers 500 without internals when a handler throws", async () => {
  const lines: Line[] = [];
  const fail = () => {
    throw new Error("password hunter2");
  };
  const router = buildRouter([
    { method: "GET", path: "/now/:secret", handle: fail },
    {
      method: "GET",
      path: "/later",
      handle: () => Promise.reject("a bare string"),
    },
  ], lines);
  for (const path of ["/now/token", "/later"]) {
    const { status, text } = await call(router, `GET ${path}`);
    assertEquals(status, 500);
    assertEquals(JSON.parse(text), {
      title: "Internal Server Error",
      status: 500,
    });
  }
  assertEquals(lines.map((line) => line.fields?.route), [
    "/now/:secret",
    "/later",
  ]);
  assert(String(lines[0]?.fields?.error).includes("hunter2"));
  assertEquals(lines[1]?.fields?.error, "a bare string");
});

Deno.test("createRouter() throws when a route cannot be reached", () => {
  const handle = saying("x");
  const get = "GET" as const;
  assertThrows(
    () => buildRouter([{ method: get, path: "a", handle }]),
    TypeError,
    'Cannot add route "a": segments are words or ":name", with a slash ' +
      "before each",
  );
  assertThrows(
    () =>
      buildRouter([
        { method: get, path: "/a/:b", handle },
        { method: get, path: "/a/:c", handle },
      ]),
    TypeError,
    'Cannot add route "GET /a/:c": it is there already',
  );
});
