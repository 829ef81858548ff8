import { assertEquals, assertThrows } from "@std/assert";
import { parsePage } from "./markdown_page.ts";

const FENCE = "```";

Deno.test("parsePage() gives blocks with what the comment before them says", () => {
  const page = parsePage(`# A page

<!-- serve: is ready, listens -->

${FENCE}sh
service
${FENCE}

<!-- setup: KEY=1 -->

Text.

${FENCE}output
1
${FENCE}

<!-- not run: it needs
a browser -->
${FENCE}sh
open
${FENCE}
`);
  assertEquals(
    page.blocks.map(({ language, text, line, use }) => [
      language,
      text,
      line,
      use,
    ]),
    [
      ["sh", "service\n", 5, { kind: "serve", until: ["is ready", "listens"] }],
      ["setup", "KEY=1\n", 9, { kind: "run" }],
      ["output", "1\n", 13, { kind: "run" }],
      ["sh", "open\n", 19, { kind: "not_run", reason: "it needs a browser" }],
    ],
  );
});

Deno.test("parsePage() refuses a comment before a block that is not known, and a block without end", () => {
  assertThrows(
    () => parsePage(`<!-- skip: it -->\n${FENCE}sh\n${FENCE}\n`),
    SyntaxError,
    'the comment "skip: it"',
  );
  assertThrows(() => parsePage(`${FENCE}sh\n`), SyntaxError, "does not end");
});

Deno.test("parsePage() gives links outside of code, and the names of headings", () => {
  const page = parsePage(`# One \`two\`, three!
## One two three
## [Linked](x.md)
A [link
over lines](a.md#b) and \`[code](no.md)\`.
<img src="p.svg">
${FENCE}md
[block](no.md)
${FENCE}
`);
  assertEquals(page.links.map(({ target }) => target), [
    "x.md",
    "a.md#b",
    "p.svg",
  ]);
  assertEquals(page.links[1]?.line, 4);
  assertEquals([...page.anchors], [
    "one-two-three",
    "one-two-three-1",
    "linked",
  ]);
});
