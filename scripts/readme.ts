/**
 * Generates from the code the tables of documentation pages and the SDK's
 * types.
 *
 * `deno task readme` writes them; `deno task readme --check` tells by its exit
 * code whether they are up to date.
 *
 * @module
 */

import { MADE_FILES, README_PARTS, updatedReadme } from "./readme/parts.ts";
import { print, tell } from "./terminal.ts";

if (import.meta.main) Deno.exit(await readme(Deno.args));

async function readme(args: readonly string[]): Promise<number> {
  const check = args.includes("--check");
  let stale = 0;
  const write = async (
    path: string,
    make: (before: string) => Promise<string>,
  ): Promise<void> => {
    const url = new URL(`../${path}`, import.meta.url);
    const before = await Deno.readTextFile(url).catch((error) => {
      if (error instanceof Deno.errors.NotFound) return "";
      throw error;
    });
    const after = await make(before);
    if (after === before) return;
    stale++;
    if (check) tell(`${path} is not up to date; run deno task readme`);
    else {
      await Deno.writeTextFile(url, after);
      print(`wrote ${path}`);
    }
  };
  for (const { path, parts } of README_PARTS) {
    await write(path, (before) => updatedReadme(before, parts));
  }
  for (const [path, make] of Object.entries(MADE_FILES)) {
    await write(path, make);
  }
  return check && stale > 0 ? 1 : 0;
}
