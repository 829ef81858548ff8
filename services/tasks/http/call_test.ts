import { assertEquals, assertMatch, assertNotEquals } from "@std/assert";
import { newRequestId } from "../../shared/http1/response.ts";
import { pickRequestId, prefersMinimal } from "./call.ts";

Deno.test("pickRequestId() keeps a safe id and replaces any other", () => {
  for (const id of ["a", "req-1.2_3", "A:b/c+d=@~", "x".repeat(128)]) {
    assertEquals(pickRequestId(id), id);
  }
  for (
    const id of [
      undefined,
      "",
      "a b",
      "a\nb",
      'a"b',
      "<a>",
      "é",
      "a,b",
      "x".repeat(129),
      "%0a",
      "a;b",
    ]
  ) assertMatch(pickRequestId(id), /^req_[0-9a-f]{32}$/, id);
});

Deno.test("newRequestId() makes safe ids that differ", () => {
  const id = newRequestId();
  assertMatch(id, /^req_[0-9a-f]{32}$/);
  assertNotEquals(id, newRequestId());
  assertEquals(pickRequestId(id), id);
});

Deno.test("prefersMinimal() tells whether return=minimal is preferred", () => {
  const cases: readonly [string | undefined, boolean][] = [
    [undefined, false],
    ["", false],
    ["return=minimal", true],
    ["Return = minimal", true],
    ['return="minimal"', true],
    ["respond-async, return=minimal; foo=bar", true],
    ["return=minimal, return=representation", true],
    ["return=representation, return=minimal", false],
    ["return=MINIMAL", false],
    ["return", false],
    ["return=", false],
    ["returns=minimal", false],
    ["handling=lenient; return=minimal", false],
  ];
  for (const [header, expected] of cases) {
    assertEquals(prefersMinimal(header), expected, String(header));
  }
});
