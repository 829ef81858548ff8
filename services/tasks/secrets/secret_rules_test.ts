import { assertEquals } from "@std/assert";
import { isSecretName } from "./secret_rules.ts";

Deno.test("isSecretName() accepts capitals, digits and underscores", () => {
  for (const name of ["A", "_", "API_KEY", "_A9", "A".repeat(64)]) {
    assertEquals(isSecretName(name), true, name);
  }
});

Deno.test("isSecretName() refuses everything else", () => {
  const names = [
    "",
    "a",
    "Api",
    "9A",
    "A-B",
    "A B",
    "A.B",
    "A\n",
    "É",
    "__proto__",
    "A".repeat(65),
  ];
  for (const name of names) assertEquals(isSecretName(name), false, name);
});
