import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import type { HttpHandler, HttpRequest, HttpResponse } from "./exchange.ts";
import { landingPages } from "./landing_page.ts";

const API_ANSWER: HttpResponse = { status: 404, headers: {} };
const BROWSER = "text/html,application/xhtml+xml,*/*;q=0.8";

function landing(): HttpHandler {
  const pages = landingPages({
    name: "sample <service>",
    summary: "Does this & that.",
    api: "POST /json",
    links: [
      { path: "/openapi.json", text: "OpenAPI document" },
      { path: "/health", text: "Health" },
    ],
    alsoAt: ["/api"],
  });
  return (request) =>
    pages.get(request.target.split("?", 1)[0] ?? "")?.(request) ?? API_ANSWER;
}

function ask(target: string, accept?: string, method = "GET"): HttpRequest {
  return {
    method,
    target,
    headers: {
      get: (name) => name === "accept" ? accept : undefined,
      all: (name) => name === "accept" && accept !== undefined ? [accept] : [],
    },
    peer: { address: "127.0.0.1", port: 1 },
    isTls: false,
    isGone: () => false,
    onGone: () => () => {},
    body: () => Promise.resolve({ kind: "too_large" }),
  };
}

Deno.test("landingPages() shows the page when a browser opens one of its paths", async () => {
  for (const target of ["/", "/?from=mail", "/api"]) {
    const { status, headers, body } = await landing()(ask(target, BROWSER));
    assertEquals(status, 200);
    assertEquals(headers["content-type"], "text/html; charset=utf-8");
    const policy = String(headers["content-security-policy"]);
    assertMatch(policy, /^default-src 'none'; /);
    const html = String(body);
    for (const path of ["/openapi.json", "/health"]) {
      assertStringIncludes(html, `<a href="${path}">`);
    }
    assertStringIncludes(html, "sample &lt;service&gt;");
    assertStringIncludes(html, "Does this &amp; that.");
  }
});

Deno.test("landingPages() lets the API answer when the client does not ask for HTML", async () => {
  for (
    const accept of [undefined, "*/*", "application/json", "text/html;q=0"]
  ) {
    assertEquals(await landing()(ask("/", accept)), API_ANSWER, accept);
  }
});

Deno.test("landingPages() lets the API answer when path or method is another", async () => {
  assertEquals(await landing()(ask("/other", BROWSER)), API_ANSWER);
  assertEquals(await landing()(ask("/", BROWSER, "POST")), API_ANSWER);
});
