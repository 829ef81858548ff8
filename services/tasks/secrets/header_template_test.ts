import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { type HeaderTemplate, parseHeaderTemplate } from "./header_template.ts";

Deno.test("HeaderTemplate.render() puts values in as they are", () => {
  const template = parse("Bearer {{secrets.A}}:{{secrets.B}};{{secrets.A}}");
  assertEquals(template.names, ["A", "B"]);
  const values = new Map([["A", "a {{secrets.B}}"], ["B", "$& %2F \t é"]]);
  assertEquals(template.render((name) => values.get(name)), {
    kind: "ok",
    text: "Bearer a {{secrets.B}}:$& %2F \t é;a {{secrets.B}}",
  });
});

Deno.test("HeaderTemplate.render() looks each name up once", () => {
  let looked = 0;
  parse("{{secrets.A}}{{secrets.A}}").render(() => String(looked++));
  assertEquals(looked, 1);
});

Deno.test("HeaderTemplate.render() names unknown secrets", () => {
  const outcome = parse("{{secrets.A}} {{secrets.B}}").render(() => undefined);
  assertEquals(outcome, { kind: "unknown_secret", names: ["A", "B"] });
});

Deno.test("HeaderTemplate.render() refuses values no header can hold", () => {
  const template = parse("x {{secrets.A}}");
  const values = [
    "a\r\nb: c",
    "a\n",
    "\r",
    "a\0",
    "\x7f",
    "\x1b",
    "\u0100",
    "🔑",
  ];
  for (const value of values) {
    const outcome = template.render(() => value);
    assert(outcome.kind === "unusable_secret");
    assertEquals(outcome.name, "A");
    assertStringIncludes(outcome.reason, `Cannot put secret "A" into a header`);
    assert(!outcome.reason.includes(value));
  }
});

Deno.test("parseHeaderTemplate() refuses texts no header can hold", () => {
  for (const text of ["a\r\nb", "a\n", "\0", "{{secrets.A}}\n", "ł"]) {
    const outcome = parseHeaderTemplate(text);
    assert(outcome.kind === "invalid");
    assertStringIncludes(outcome.reason, "Cannot read header value: it holds");
  }
  const outcome = parseHeaderTemplate("{{secrets.a}}");
  assert(outcome.kind === "invalid");
  assertStringIncludes(outcome.reason, `Cannot read header value: "secrets.a"`);
});

function parse(text: string): HeaderTemplate {
  const outcome = parseHeaderTemplate(text);
  assert(outcome.kind === "ok");
  return outcome.template;
}
