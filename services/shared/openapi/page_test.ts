import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { createHash } from "node:crypto";
import { apiPageHeaders, apiPageHtml } from "./page.ts";
import { openApiFaults } from "./testing/openapi_check.ts";
import { SAMPLE } from "./testing/sample_document.ts";

const PAGE = apiPageHtml(SAMPLE);

Deno.test("apiPageHtml() shows what a good document says", async () => {
  assertEquals(await openApiFaults(SAMPLE), []);
  for (
    const part of [
      "<h1>Notes &lt;of&gt; all</h1>",
      "<p>Keeps <code>notes</code>.</p>",
      "<p>For &amp; by all.</p>",
      "What is written down",
      "Make a &lt;note&gt;",
      // Whole paths, with the base path of the server.
      "<code>/api/notes/{id}</code>",
      "At <code>https://acme.example.com/api</code>",
      '<a href="#auth-key">key</a> with <code>notes:write</code>; or ' +
      '<a href="#auth-name">name</a>',
      "<p>Everyone may call it.</p>",
      "<p>What it says</p>",
      "at most 500 characters",
      'default <code>"red"</code>',
      "Too many: wait",
      '<a href="#example-not_found">not_found</a>',
      "<p>Look elsewhere.</p>",
      "<code>x-name: …</code>",
    ]
  ) assertStringIncludes(PAGE, part);
});

Deno.test("apiPageHtml() escapes what it shows", () => {
  assert(!PAGE.includes("<note>"));
  assert(!PAGE.includes('<b>"'));
  assertStringIncludes(PAGE, "it'\\''s &lt;b&gt;");
});

Deno.test("apiPageHtml() has a place for every link of its own", () => {
  const ids = [...PAGE.matchAll(/ id="([^"]*)"/g)].map(([, id]) => id);
  assertEquals(new Set(ids).size, ids.length, "an id is there twice");
  for (const [, target] of PAGE.matchAll(/ href="#([^"]*)"/g)) {
    assert(ids.includes(target), `#${target}`);
  }
});

Deno.test("apiPageHtml() loads nothing, and its policy lets what it has run", () => {
  assertEquals(/ (?:src|style|on\w+)=/.exec(PAGE), null);
  assertEquals(/<(?:link|img|iframe|object)\b/.exec(PAGE), null);
  const policy = apiPageHeaders()["content-security-policy"] ?? "";
  assert(policy.startsWith("default-src 'none'; "));
  for (const tag of ["style", "script"]) {
    const [, text = ""] = new RegExp(`<${tag}>([^]*)</${tag}>`).exec(PAGE) ??
      [];
    const hash = createHash("sha256").update(text).digest("base64");
    assertStringIncludes(policy, `${tag}-src 'sha256-${hash}'`);
  }
});

Deno.test("apiPageHtml() shows a schema that one operation takes there alone", () => {
  assertEquals(PAGE.split("<p>What it says</p>").length, 2);
  assertStringIncludes(PAGE, '<p>The body of <a href="#op-makeNote">');
  // A schema that several operations use is shown with its example.
  assertEquals(PAGE.split('"text": "hello"').length, 2);
});
