import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { findSecrets, namesIn, parseTemplateParts } from "./template_parts.ts";

Deno.test("parseTemplateParts() takes a text apart", () => {
  const outcome = parseTemplateParts(
    "a{{secrets.A}}{{ secrets.B_1 }} }} {b} {{secrets.A}}",
  );
  assert(outcome.kind === "ok");
  assertEquals(outcome.parts, [
    { kind: "text", text: "a" },
    { kind: "secret", name: "A" },
    { kind: "secret", name: "B_1" },
    { kind: "text", text: " }} {b} " },
    { kind: "secret", name: "A" },
  ]);
  assertEquals(namesIn(outcome.parts), ["A", "B_1"]);
});

Deno.test("parseTemplateParts() takes texts without references as they are", () => {
  assertEquals(parseTemplateParts(""), { kind: "ok", parts: [] });
  assertEquals(parseTemplateParts("{ } }}"), {
    kind: "ok",
    parts: [{ kind: "text", text: "{ } }}" }],
  });
});

Deno.test("parseTemplateParts() refuses what looks like a reference", () => {
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
    ["{{{secrets.A}}}", "is no reference to a secret"],
    ["{{secrets.A}}{{x}}", `"x" is no reference`],
  ];
  for (const [text, state] of cases) {
    const outcome = parseTemplateParts(text);
    assert(outcome.kind === "invalid", text);
    assertStringIncludes(outcome.state, state);
  }
});

Deno.test("findSecrets() names all that are unknown", () => {
  const lookup = (name: string) => name === "B" ? "b" : undefined;
  assertEquals(findSecrets(["A", "B", "C"], lookup), {
    kind: "unknown_secret",
    names: ["A", "C"],
  });
  assertEquals(findSecrets(["B"], lookup), {
    kind: "ok",
    values: new Map([["B", "b"]]),
  });
});
