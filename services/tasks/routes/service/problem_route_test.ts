import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import type { Answer } from "../../http/answer.ts";
import { PROBLEM_CODES } from "../../http/problem_catalog.ts";
import { demoCall } from "../../http/testing/demo_call.ts";
import { openTestApi } from "../testing/test_api.ts";
import { problemRoute } from "./problem_route.ts";

Deno.test("GET /problems/:code describes every kind of problem", async () => {
  const api = await openTestApi({ routes: () => [problemRoute()] });
  for (const code of PROBLEM_CODES) {
    const answer = await api.call("GET", `/problems/${code}`, { key: null });
    assertEquals([answer.status, answer.at("code")], [200, code]);
  }
  const unknown = await api.call("GET", "/problems/none", { key: null });
  assertEquals(unknown.status, 404);
  // The page that the problem's type links to.
  const type = new URL(unknown.textAt("type"));
  const explained = await api.call("GET", type.pathname, {
    host: type.host,
    key: null,
  });
  assertEquals(explained.at("code"), "not_found");
  await api.close();
});

Deno.test("GET /problems/:code is a page for people, with an answer of this host", async () => {
  for (const code of PROBLEM_CODES) {
    const { text, headers } = await fetchPage(code);
    assertStringIncludes(text, `<dd><code>${code}</code></dd>`);
    assertStringIncludes(text, `"http://localhost:8070/problems/${code}"`);
    assertStringIncludes(text, '<a href="/docs#examples">');
    assertEquals(headers?.["vary"], "accept");
  }
});

Deno.test("GET /problems/:code shows people the codes there are when it is none", async () => {
  const page = await fetchPage('<i>"no');
  assertEquals(page.status, 404);
  assertStringIncludes(page.text, '<code>&lt;i&gt;"no</code>');
  for (const code of PROBLEM_CODES) {
    assertStringIncludes(page.text, `<a href="/problems/${code}">`);
  }
  assertEquals(page.headers?.["cache-control"], undefined, "it may be known");
});

/**
 * The page that a browser gets. The route is called without the test caller,
 * since the document promises the JSON only.
 */
async function fetchPage(
  code: string,
): Promise<Extract<Answer, { readonly kind: "text" }>> {
  const answer = await problemRoute().answer(
    demoCall({
      params: { code },
      baseUrl: "http://localhost:8070/t/acme/api",
      tenant: undefined,
      header: (name) => name === "accept" ? "text/html,*/*;q=0.8" : undefined,
    }),
    undefined,
  );
  assert(answer.kind === "text");
  return answer;
}
