import { assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { createHash } from "node:crypto";
import { adviseAfter, late, stampedEntry } from "./compile.ts";

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

async function imported(text: string): Promise<Record<string, unknown>> {
  const folder = await Deno.makeTempDir({ prefix: "late_test_" });
  try {
    await Deno.writeTextFile(`${folder}/part.js`, text);
    return await import(`file://${folder}/part.js`);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

Deno.test("late() has modules of Node loaded when they are required", async () => {
  const text = late(
    'import { createRequire as __deno_internal_createRequire } from "node:module";\n' +
      "var __require = __deno_internal_createRequire(import.meta.url);\n" +
      "export function join() {\n" +
      '  return [__require("node:path"), __require("node:path")]\n' +
      '    .map((path) => path.posix.join("a", "b"));\n' +
      "}\n",
  );
  assertEquals(text.includes("import {"), false);
  const { join } = await imported(text);
  assertEquals((join as () => string[])(), ["a/b", "a/b"]);
});

Deno.test("late() has functions of Node loaded when they are called", async () => {
  const text = late(
    'import { createHash as createHash2, X509Certificate } from "node:crypto";\n' +
      'import { isIP } from "node:net";\n' +
      'const hash = () => createHash2("sha256").update("a").digest("hex");\n' +
      "export const hashes = () => [hash(), hash()];\n" +
      'export const isAddress = () => isIP("::1") === 6;\n' +
      'export const parse = () => new X509Certificate("none");\n',
  );
  assertEquals(text.includes("import {"), false);
  const { hashes, isAddress, parse } = await imported(text);
  const hash = createHash("sha256").update("a").digest("hex");
  assertEquals((hashes as () => string[])(), [hash, hash]);
  assertEquals((isAddress as () => boolean)(), true);
  assertThrows(parse as () => void);
});
