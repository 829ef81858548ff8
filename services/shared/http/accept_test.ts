import { assertEquals } from "@std/assert";
import { preferredType } from "./accept.ts";

const OFFERED = ["application/json", "text/html"] as const;

Deno.test("preferredType() gives what the client likes most", () => {
  const cases: readonly (readonly [string | undefined, string | undefined])[] =
    [
      [undefined, "application/json"],
      ["", "application/json"],
      ["*/*", "application/json"],
      ["text/html", "text/html"],
      ["text/*", "text/html"],
      ["TEXT/HTML", "text/html"],
      ["application/json", "application/json"],
      [
        "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8",
        "text/html",
      ],
      ["text/html;q=0.5, application/json;q=0.6", "application/json"],
      ["text/html ; q=0.5 , application/*", "application/json"],
      ["*/*, application/json;q=0", "text/html"],
      ["application/json;charset=utf-8", "application/json"],
      ["image/png", undefined],
      ["application/json;q=0, text/html;q=0.000", undefined],
      ["text/html;q=high", undefined],
      ["text/html;q=1.5", undefined],
      ["nonsense", "application/json"],
      [`${"a/b,".repeat(400)}text/html`, "application/json"],
    ];
  for (const [accept, type] of cases) {
    assertEquals(preferredType(accept, OFFERED), type, accept);
  }
});
