import { assertEquals, assertStringIncludes } from "@std/assert";
import { adviseAfter, lateRequire, stampedEntry } from "./compile.ts";

Deno.test("adviseAfter() names both ways out when the runtime archive is missing", () => {
  const advice = adviseAfter(
    `Compile services/ratelimit/main.ts to dist/ratelimit
Download https://dl.deno.land/release/v2.9.6/denort-x86_64-unknown-linux-gnu.zip
error: Writing deno compile executable to temporary file 'dist/ratelimit.tmp'

Caused by:
    0: Setting up base binary.
    1: error sending request for url`,
    "dist/ratelimit",
  );
  assertStringIncludes(advice, `Cannot build "dist/ratelimit"`);
  assertStringIncludes(advice, "DENORT_BIN");
  assertStringIncludes(advice, "--fallback");
});

Deno.test("adviseAfter() does not blame the runtime archive for other faults", () => {
  assertEquals(
    adviseAfter("error: Type checking failed.", "dist/ratelimit"),
    `Cannot build "dist/ratelimit": deno compile failed`,
  );
});

Deno.test("stampedEntry() runs the program with the commit that it is built from", () => {
  assertEquals(
    stampedEntry("services/tasks/main.ts", "ee3df210+").split("\n").slice(1, 4),
    [
      'import { run } from "./main.ts";',
      "",
      'const build = { commit: "ee3df210+" };',
    ],
  );
});

Deno.test("lateRequire() loads modules of Node when they are required", async () => {
  const text = lateRequire(
    'import { createRequire as __deno_internal_createRequire } from "node:module";\n' +
      "var __require = __deno_internal_createRequire(import.meta.url);\n" +
      "export { __require };\n",
  );
  assertEquals(text.includes("import {"), false);
  const folder = await Deno.makeTempDir({ prefix: "late_require_test_" });
  try {
    const path = `${folder}/part.js`;
    await Deno.writeTextFile(path, text);
    const part = await import(`file://${path}`);
    assertEquals(part.__require("node:path").posix.join("a", "b"), "a/b");
    assertEquals(part.__require("node:path").posix.sep, "/");
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});
