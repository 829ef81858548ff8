import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { apiPageHtml } from "../openapi/page.ts";
import { SAMPLE } from "../openapi/testing/sample_document.ts";
import { BASE_STYLE, htmlPage, tableHtml } from "./html_page.ts";

const PAGE = htmlPage({
  service: "sample",
  heading: "This & that",
  links: [
    { path: '/"this"', text: "This & that" },
    { path: "/other", text: "<Other>" },
  ],
  content: "<p>Text</p>",
});

Deno.test("htmlPage() frames a page, and marks its own link", () => {
  for (
    const part of [
      '<html lang="en">',
      '<meta name="viewport" content="width=device-width, initial-scale=1">',
      "<title>This &amp; that · Tercet sample</title>",
      "<h1>This &amp; that</h1>\n<p>Text</p>",
      '<a href="/&quot;this&quot;" aria-current="page">This &amp; that</a>',
      '<a href="/other">&lt;Other&gt;</a>',
    ]
  ) assertStringIncludes(PAGE, part);
  const plain = htmlPage({ service: "a", heading: "Tercet a", content: "" });
  assertStringIncludes(plain, "<title>Tercet a</title>");
  assert(!plain.includes("<nav"));
});

Deno.test("htmlPage() and apiPageHtml() begin with one style", () => {
  for (const page of [PAGE, apiPageHtml(SAMPLE)]) {
    assertStringIncludes(page, `<style>${BASE_STYLE}`);
    assertEquals(page.split("<h1>").length, 2);
  }
  assertStringIncludes(BASE_STYLE, "prefers-color-scheme: dark");
  assertStringIncludes(BASE_STYLE, ":focus-visible");
});

Deno.test("apiPageHtml() has headings without a gap", () => {
  let last = 0;
  for (const [, level] of apiPageHtml(SAMPLE).matchAll(/<h([1-6])\b/g)) {
    assert(Number(level) <= last + 1, `h${level} after h${last}`);
    last = Number(level);
  }
});

Deno.test("tableHtml() names rows and columns, and can be scrolled by keys", () => {
  const html = tableHtml({
    label: 'A "table"',
    head: ["Name", "<Value>"],
    rows: [["a&b", 1], ["c", "x".repeat(13)]],
  });
  for (
    const part of [
      '<div class="scroll" tabindex="0" role="region" ' +
      'aria-label="A &quot;table&quot;">',
      '<th scope="col">&lt;Value&gt;</th>',
      '<tr><th scope="row">a&amp;b</th><td class="number">1</td></tr>',
      `<td class="long">${"x".repeat(13)}</td>`,
    ]
  ) assertStringIncludes(html, part);
});
