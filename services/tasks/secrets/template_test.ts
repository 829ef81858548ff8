import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { eachRound } from "../../../tests/support/rounds.ts";
import type { SeededRandom } from "../../../tests/support/seeded_random.ts";
import { parseHeaderTemplate, parseUrlTemplate } from "./template.ts";

type Template = Extract<
  ReturnType<typeof parseHeaderTemplate>,
  { readonly kind: "ok" }
>["template"];

Deno.test("Template.render() takes a text apart", () => {
  const template = parseHeader(
    "a{{secrets.A}}{{ secrets.B_1 }} }} {b} {{secrets.A}}",
  );
  assertEquals(template.names, ["A", "B_1"]);
  assertEquals(template.render((name) => `<${name}>`), {
    kind: "ok",
    text: "a<A><B_1> }} {b} <A>",
  });
});

Deno.test("Template.render() accepts texts without references as they are", () => {
  for (const text of ["", "{ } }}"]) {
    const template = parseHeader(text);
    assertEquals(template.names, []);
    assertEquals(template.render(() => "x"), { kind: "ok", text });
  }
});

Deno.test("parseHeaderTemplate() refuses what looks like a reference", () => {
  const cases: readonly (readonly [string, string])[] = [
    ["{{", `a "{{" has no "}}" after it`],
    ["{{secrets.A}", `a "{{" has no "}}" after it`],
    [`{{secrets.${"A".repeat(300)}}}`, `a "{{" has no "}}" after it`],
    ["{{secrets.a}}", `"secrets.a" names no secret`],
    ["{{secrets.}}", `"secrets." names no secret`],
    ["{{secrets. A}}", `"secrets. A" names no secret`],
    [`{{secrets.${"A".repeat(65)}}}`, "names no secret"],
    ["{{secret.A}}", "did you mean {{secrets.NAME}}?"],
    ["{{env.A}}", "only {{secrets.NAME}} can stand"],
    ["{{}}", "only {{secrets.NAME}} can stand"],
    ["{{{secrets.A}}}", "is not a reference to a secret"],
    ["{{secrets.A}}{{x}}", '"x" is not a reference'],
  ];
  for (const [text, state] of cases) {
    const outcome = parseHeaderTemplate(text);
    assert(outcome.kind === "invalid", text);
    assertStringIncludes(outcome.reason, state);
  }
});

Deno.test("Template.render() names all secrets that are unknown", () => {
  const lookup = (name: string) => name === "B" ? "b" : undefined;
  const template = parseHeader("{{secrets.A}}{{secrets.B}}{{secrets.C}}");
  assertEquals(template.render(lookup), {
    kind: "unknown_secret",
    names: ["A", "C"],
  });
});

Deno.test("Template.render() of a header puts values in as they are", () => {
  const template = parseHeader(
    "Bearer {{secrets.A}}:{{secrets.B}};{{secrets.A}}",
  );
  assertEquals(template.names, ["A", "B"]);
  const values = new Map([["A", "a {{secrets.B}}"], ["B", "$& %2F \t é"]]);
  assertEquals(template.render((name) => values.get(name)), {
    kind: "ok",
    text: "Bearer a {{secrets.B}}:$& %2F \t é;a {{secrets.B}}",
  });
});

Deno.test("Template.render() of a header looks each name up once", () => {
  let looked = 0;
  parseHeader("{{secrets.A}}{{secrets.A}}").render(() => String(looked++));
  assertEquals(looked, 1);
});

Deno.test("Template.render() of a header names unknown secrets", () => {
  const outcome = parseHeader("{{secrets.A}} {{secrets.B}}").render(() =>
    undefined
  );
  assertEquals(outcome, { kind: "unknown_secret", names: ["A", "B"] });
});

Deno.test("Template.render() of a header refuses values no header can hold", () => {
  const template = parseHeader("x {{secrets.A}}");
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

Deno.test("Template.render() of a URL encodes values for path and query", () => {
  const template = parseUrl(
    "https://example.com/a/{{secrets.A}}/b?k={{ secrets.A }}&l=x{{secrets.B}}y#z",
  );
  assertEquals(template.names, ["A", "B"]);
  const values = new Map([["A", "a/b?c#d&e=f+g h%2F"], ["B", "é'\\@:"]]);
  assertEquals(template.render((name) => values.get(name)), {
    kind: "ok",
    text: "https://example.com/a/a%2Fb%3Fc%23d%26e%3Df%2Bg%20h%252F/b" +
      "?k=a%2Fb%3Fc%23d%26e%3Df%2Bg%20h%252F&l=x%C3%A9%27%5C%40%3Ay#z",
  });
});

Deno.test("Template.render() of a URL gives addresses without references as URLs", () => {
  const text = renderText(
    parseUrl("HTTPS://EXAMPLE.com:443/a/../b c".replace(" ", "%20")),
  );
  assertEquals(text, "https://example.com/b%20c");
});

Deno.test("Template.render() of a URL names unknown secrets", () => {
  const outcome = parseUrl("http://h/{{secrets.A}}").render(() => undefined);
  assertEquals(outcome, { kind: "unknown_secret", names: ["A"] });
});

Deno.test("Template.render() of a URL refuses values that lead upwards", () => {
  for (
    const path of ["/a/{{secrets.A}}/b", "/a/{{secrets.A}}", "/{{secrets.A}}?q"]
  ) {
    for (const value of [".", ".."]) {
      const outcome = parseUrl(`https://h${path}`).render(() => value);
      assert(outcome.kind === "unusable_secret");
      assertEquals(outcome.name, "A");
    }
  }
  const joined = parseUrl("https://h/a/{{secrets.B}}{{secrets.A}}/b");
  assertEquals(joined.render(() => ".").kind, "unusable_secret");
  const halves = parseUrl("https://h/a/.{{secrets.A}}/b");
  assertEquals(halves.render(() => ".").kind, "unusable_secret");
  // In other places dots have no meaning.
  assertEquals(
    renderText(
      parseUrl("https://h/a/{{secrets.A}}?q={{secrets.B}}"),
      "...",
      "..",
    ),
    "https://h/a/...?q=..",
  );
});

Deno.test("Template.render() of a URL refuses half a surrogate pair", () => {
  const outcome = parseUrl("https://h/{{secrets.A}}").render(() => "\udfff");
  assert(outcome.kind === "unusable_secret");
});

Deno.test("parseUrlTemplate() refuses references in what says where to call", () => {
  const cases: readonly (readonly [string, string])[] = [
    ["https://{{secrets.A}}/", "in the host"],
    ["https://{{secrets.A}}", "in the host"],
    ["https://h.{{secrets.A}}.example/", "in the host"],
    ["https://h{{secrets.A}}", "in the host"],
    ["https://h:{{secrets.A}}/", "in the host"],
    ["https://h:80{{secrets.A}}/", "in the host"],
    ["https://{{secrets.A}}@h/", "in the host"],
    ["https://u:{{secrets.A}}@h/", "in the host"],
    ["https://a/@{{secrets.A}}\\", `a "\\"`],
    ["{{secrets.A}}", "where the scheme is"],
    ["{{secrets.A}}://h/", "where the scheme is"],
    ["http{{secrets.A}}://h/", "begins with neither"],
    ["https:{{secrets.A}}", "begins with neither"],
    ["https:/{{secrets.A}}/", "begins with neither"],
    ["https:///{{secrets.A}}/", "begins with neither"],
    ["https:////{{secrets.A}}/", "begins with neither"],
    ["https:\\\\{{secrets.A}}/", `a "\\"`],
    ["https://h\\{{secrets.A}}", `a "\\"`],
    ["https://h/#{{secrets.A}}", `after "#"`],
  ];
  for (const [text, state] of cases) {
    assertStringIncludes(getReason(text), `Cannot read URL: `);
    assertStringIncludes(getReason(text), state);
  }
});

Deno.test("parseUrlTemplate() refuses what is no address to call", () => {
  const texts = [
    "",
    "example.com/",
    "//example.com/",
    "ftp://h/",
    "javascript:alert(1)",
    "file:///etc/passwd",
    "https://",
    "https:///h",
    "https://h:99999/",
    "https://a b/",
    "https://h/a b",
    " https://h/",
    "https://h/\n",
    "https://h\t/",
    "https://h/%{{secrets.A}}",
    "https://h/?q=%2{{secrets.A}}",
    "https://h/{{secrets.a}}",
    "https://h/{{",
  ];
  for (const text of texts) {
    assertStringIncludes(getReason(text), "Cannot read URL: ");
  }
});

Deno.test("parseUrlTemplate() isn't misled by its own marks", () => {
  const text = renderText(
    parseUrl("https://h/~secret0~A./{{secrets.A}}~secret1~"),
    "v",
  );
  assertEquals(text, "https://h/~secret0~A./v~secret1~");
});

Deno.test("Template.render() of a URL never lets a value leave its place", async () => {
  const letters = [..."ab./\\?#%&=+@:;[]{}<>\"'`| \t\r\n\0é🔑2eEfF~!$()*,-_^"];
  const template = parseUrl(
    "https://h.example:8443/a/{{secrets.A}}/b?k={{secrets.B}}&l=1",
  );
  await eachRound({ rounds: 2_000, seed: 11 }, ({ random }) => {
    const [a, b] = [value(random), value(random)];
    const outcome = template.render((name) => name === "A" ? a : b);
    if (outcome.kind !== "ok") {
      assert(a === "." || a === "..", JSON.stringify(a));
      return;
    }
    const url = new URL(outcome.text);
    assertEquals(url.origin, "https://h.example:8443");
    assertEquals(url.username + url.password + url.hash, "");
    const segments = url.pathname.split("/");
    assertEquals(segments.length, 4);
    assertEquals(decodeURIComponent(segments[2] ?? ""), a);
    assertEquals([...url.searchParams], [["k", b], ["l", "1"]]);
  });

  function value(random: SeededRandom): string {
    return random.list(6, () => random.pick(letters)).join("") ||
      random.pick(letters);
  }
});

function parseUrl(text: string): Template {
  const outcome = parseUrlTemplate(text);
  assert(outcome.kind === "ok", JSON.stringify(outcome));
  return outcome.template;
}

function renderText(template: Template, ...values: string[]): string {
  const outcome = template.render((name) =>
    values[template.names.indexOf(name)]
  );
  assert(outcome.kind === "ok", JSON.stringify(outcome));
  return outcome.text;
}

function getReason(text: string): string {
  const outcome = parseUrlTemplate(text);
  assert(outcome.kind === "invalid", text);
  return outcome.reason;
}

function parseHeader(text: string): Template {
  const outcome = parseHeaderTemplate(text);
  assert(outcome.kind === "ok");
  return outcome.template;
}
