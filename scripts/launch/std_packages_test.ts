import { assertEquals, assertThrows } from "@std/assert";
import { STD_MODULES, STD_PACKAGES, stdSpecifiers } from "./std_packages.ts";

Deno.test("STD_PACKAGES names the packages without their modules", () => {
  assertEquals(STD_PACKAGES, ["@std/assert", "@std/http", "@std/yaml"]);
});

Deno.test("stdSpecifiers() follows the imports of deno.json", () => {
  const imports = {
    "@std/assert": "jsr:@std/assert@^1.0.0",
    "@std/http": "jsr:@std/http@^1.0.0",
    "@std/yaml": "jsr:@std/yaml@^1.0.0",
  };
  assertEquals(stdSpecifiers(JSON.stringify({ imports })), [
    "jsr:@std/assert@^1.0.0",
    "jsr:@std/http@^1.0.0/status",
    "jsr:@std/yaml@^1.0.0",
  ]);
  assertEquals(STD_MODULES.length, 3);
});

Deno.test("stdSpecifiers() throws when deno.json does not map a package", () => {
  assertThrows(
    () => stdSpecifiers(`{"imports":{}}`),
    TypeError,
    `Cannot find "@std/assert"`,
  );
});
