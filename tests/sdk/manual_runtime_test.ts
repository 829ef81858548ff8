/**
 * MemManual in other runtimes than Deno, with real key servers, ledger and relayer.
 *
 * @module
 */

import { assert, assertEquals } from "@std/assert";
import { DELEGATE, embed, seedOf, withTrial } from "../relayer/manual_trial.ts";
import { serviceTest } from "../support/services.ts";
import { bundle } from "./bundle.ts";
import { TempFolder } from "./temp_folder.ts";

/** Room for a third more than there was when this was written. */
const MAX_MINIFIED_BYTES = 210_000;
const RUN_MS = 60_000;
const TEXT = "Ada drinks tea";

/** What the runtime runs; it must end by itself. */
const PROGRAM = `
import { MemManual, MemKeyServerError } from "./manual.mjs";
${embed.toString().replace("embed", "embedText")}
const WIDTH = 1536;
const mem = MemManual.create({ ...JSON.parse(process.argv[2]), embed: embedText });
await mem.rememberManual(${JSON.stringify(TEXT)});
const { results, dropped } = await mem.recallManual("tea?");
const isError = new MemKeyServerError({ failures: [] }) instanceof Error;
mem.destroy();
const end = await mem.recallManual("tea?").catch((error) => error.name);
const texts = results.map(({ text }) => text);
console.log(JSON.stringify({ texts, dropped, isError, end }));
`;

for (const runtime of ["node", "bun"] as const) {
  serviceTest([runtime], {
    name: `MemManual remembers and recalls in ${runtime}`,
    fn: () =>
      withTrial(async ({ config }) => {
        await using folder = await TempFolder.make();
        await bundle("sdk/manual.ts", { into: `${folder.path}/manual.mjs` });
        const program = `${folder.path}/program.mjs`;
        await Deno.writeTextFile(program, PROGRAM);
        const { embed: _, ...rest } = config;
        const options = { ...rest, key: seedOf(DELEGATE).toHex() };
        const { code, stdout, stderr } = await new Deno.Command(runtime, {
          args: [program, JSON.stringify(options)],
          clearEnv: true,
          env: { PATH: Deno.env.get("PATH") ?? "" },
          stdin: "null",
          stdout: "piped",
          stderr: "piped",
          signal: AbortSignal.timeout(RUN_MS),
        }).output();
        const said = new TextDecoder().decode(stderr);
        assertEquals({ code, said }, { code: 0, said: "" });
        assertEquals(JSON.parse(new TextDecoder().decode(stdout)), {
          texts: [TEXT],
          dropped: [],
          isError: true,
          end: "MemDestroyedError",
        });
      }),
  });
}

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
