/**
 * Writes the tables of pages that are made from the code.
 *
 * `deno task readme` writes them, `deno task readme --check` tells by its exit
 * code whether they are true.
 *
 * @module
 */

import { README_PARTS, updatedReadme } from "./readme/parts.ts";
import { print, tell } from "./terminal.ts";

if (import.meta.main) Deno.exit(await readme(Deno.args));

async function readme(args: readonly string[]): Promise<number> {
  const check = args.includes("--check");
  let stale = 0;
  for (const { path, parts } of README_PARTS) {
    const url = new URL(`../${path}`, import.meta.url);
    const before = await Deno.readTextFile(url);
    const after = await updatedReadme(before, parts);
    if (after === before) continue;
    stale++;
    if (check) tell(`${path} is not up to date; run deno task readme`);
    else {
      await Deno.writeTextFile(url, after);
      print(`wrote ${path}`);
    }
  }
  return check && stale > 0 ? 1 : 0;
}
