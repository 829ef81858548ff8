import { assertEquals, assertMatch } from "@std/assert";
import { gunzipSync } from "node:zlib";
import type {
  HttpHandler,
  HttpRequest,
  HttpResponse,
} from "../http/exchange.ts";
import { apiPageHtml } from "./page.ts";
import { documentPages } from "./served_document.ts";
import { SAMPLE } from "./testing/sample_document.ts";

const API_ANSWER: HttpResponse = { status: 404, headers: {} };

function served(): HttpHandler {
  const pages = documentPages(() => SAMPLE);
  return (request) =>
    pages.get(request.target.split("?", 1)[0] ?? "")?.(request) ?? API_ANSWER;
}

function ask(
  target: string,
  { method = "GET", ...headers }: Readonly<Record<string, string>> = {},
): HttpRequest {
  return {
    method,
    target,
    headers: {
      get: (name) => headers[name],
      all: () => [],
    },
    peer: { address: "127.0.0.1", port: 1 },
    isTls: false,
    isGone: () => false,
    onGone: () => () => {},
    body: () => Promise.resolve({ kind: "too_large" }),
  };
}

function toText(body: HttpResponse["body"]): string {
  return typeof body === "string" ? body : new TextDecoder().decode(body);
}

Deno.test("documentPages() serves the document and its page", async () => {
  const handler = served();
  const json = await handler(ask("/openapi.json?v=1"));
  assertEquals(json.headers["content-type"], "application/json");
  assertEquals(
    JSON.parse(toText(json.body)),
    JSON.parse(JSON.stringify(SAMPLE)),
  );
  const page = await handler(ask("/docs", { method: "HEAD" }));
  assertEquals(page.headers["content-type"], "text/html; charset=utf-8");
  assertMatch(
    String(page.headers["content-security-policy"]),
    /^default-src 'none'; /,
  );
  assertEquals(toText(page.body), apiPageHtml(SAMPLE));
});

Deno.test("documentPages() compresses for who takes that, and knows what a client has", async () => {
  const handler = served();
  const gzip = { "accept-encoding": "gzip" };
  const small = await handler(ask("/docs", gzip));
  assertEquals(small.headers["content-encoding"], "gzip");
  assertEquals(small.headers["vary"], "accept-encoding");
  const bytes = small.body as Uint8Array;
  assertEquals(toText(gunzipSync(bytes)), apiPageHtml(SAMPLE));
  const etag = String(small.headers["etag"]);
  const cases: readonly (readonly [string, number])[] = [
    [etag, 304],
    [`"a", W/${etag}`, 304],
    ["*", 304],
    ['"a"', 200],
  ];
  for (const [tags, status] of cases) {
    const again = await handler(
      ask("/docs", { ...gzip, "if-none-match": tags }),
    );
    assertEquals(again.status, status, tags);
  }
  const plain = await handler(ask("/docs", { "if-none-match": etag }));
  assertEquals(plain.status, 200, "it is another form");
});

Deno.test("documentPages() leaves the API alone, and takes no other method", async () => {
  const handler = served();
  for (const target of ["/", "/docs/", "/docsa", "/v1/openapi.json"]) {
    assertEquals(await handler(ask(target)), API_ANSWER, target);
  }
  const refused = await handler(ask("/docs", { method: "POST" }));
  assertEquals([refused.status, refused.headers["allow"]], [405, "GET, HEAD"]);
});
