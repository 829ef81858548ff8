/**
 * Tests MemManual in runtimes other than Deno, with real key servers, a real
 * ledger and a real relayer.
 *
 * @module
 */

import { assert, assertEquals } from "@std/assert";
import {
  createSeed,
  DELEGATE,
  embed,
  withTrial,
} from "../relayer/manual_trial.ts";
import { serviceTest } from "../support/services.ts";
import { bundle } from "./bundle.ts";
import { openPage } from "./chromium.ts";
import { runProgram } from "./run_program.ts";
import { TempFolder } from "./temp_folder.ts";

/** The most bytes of the bundle: a third more than when this was written. */
const MAX_MINIFIED_BYTES = 210_000;
const TEXT = "Ada drinks tea";

/** The program that the runtime runs. */
const PROGRAM = `
import { MemManual, MemKeyServerError } from "./manual.mjs";
const WIDTH = 1536;
${embed.toString().replace("embed", "embedText")}
export async function run({ key, ...options }) {
  const mem = MemManual.create({
    ...options,
    key: Uint8Array.from(key),
    embed: embedText,
  });
  await mem.rememberManual(${JSON.stringify(TEXT)});
  const { results, dropped } = await mem.recallManual("tea?");
  const isError = new MemKeyServerError({ failures: [] }) instanceof Error;
  mem.destroy();
  const end = await mem.recallManual("tea?").catch((error) => error.name);
  const texts = results.map(({ text }) => text);
  return { texts, dropped, isError, end };
}
`;

/**
 * Runs a test with a folder that contains the program, and all servers that the
 * program calls.
 */
async function withProgram(
  use: (folder: string, options: unknown) => Promise<unknown>,
): Promise<void> {
  await withTrial(async ({ config }) => {
    await using folder = await TempFolder.make();
    const { path } = folder;
    await bundle("sdk/manual.ts", { into: `${path}/manual.mjs` });
    await Deno.writeTextFile(`${path}/program.mjs`, PROGRAM);
    const { embed: _, ...rest } = config;
    assertEquals(await use(path, { ...rest, key: [...createSeed(DELEGATE)] }), {
      texts: [TEXT],
      dropped: [],
      isError: true,
      end: "MemDestroyedError",
    });
  });
}

for (const runtime of ["node", "bun"] as const) {
  serviceTest([runtime], {
    name: `MemManual remembers and recalls in ${runtime}`,
    fn: () =>
      withProgram((folder, options) =>
        runProgram(runtime, { folder, options })
      ),
  });
}

serviceTest(["chromium"], {
  name: "MemManual remembers and recalls in a page of Chromium",
  fn: () =>
    withProgram((folder, options) =>
      openPage({ folder, optionsAt: () => options })
    ),
});

Deno.test("MemManual is one file for browsers that needs no package of the ledger", async () => {
  await using folder = await TempFolder.make();
  const path = `${folder.path}/manual.js`;
  await bundle("sdk/manual.ts", { into: path });
  const text = await Deno.readTextFile(path);
  assertEquals(text.match(/^\s*import\b.*/gm) ?? [], []);
  assertEquals(text.match(/\b(?:import|require)\s*\(\s*["'`][^)]*\)/g), null);
  assertEquals(text.match(/["'`](?:node:|@mysten)[^"'`]*["'`]/g), null);
  assertEquals(text.match(/\b(?:Deno|Bun|process)\s*[.[].*/g), null);
  await bundle("sdk/manual.ts", { into: path, isMinified: true });
  const { size } = await Deno.stat(path);
  assert(size <= MAX_MINIFIED_BYTES, `${size} bytes`);
});
