import { assert, assertEquals, assertThrows } from "@std/assert";
import { createHash } from "node:crypto";
import { late, programText } from "./bundle.ts";

const ROOT = decodeURIComponent(new URL("../../", import.meta.url).pathname);

Deno.test("programText() runs the program with the commit that it is built from", () => {
  const entry = `${ROOT}services/tasks/main.ts`;
  const beside = programText(entry, {
    folder: `${ROOT}services/tasks`,
    commit: "ee3df210+",
  });
  assertEquals(beside.split("\n"), [
    'import { processIo } from "../shared/command_line.ts";',
    'import { run } from "./main.ts";',
    "",
    'Deno.exit(await run(Deno.args, { ...processIo(), build: { commit: "ee3df210+" } }));',
    "",
  ]);
  const elsewhere = programText(entry, {
    folder: `${ROOT}.tercet/x`,
    commit: undefined,
  });
  assert(elsewhere.includes('"../../services/tasks/main.ts"'));
  assert(elsewhere.endsWith("{ ...processIo() }));\n"));
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
