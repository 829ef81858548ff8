/**
 * Runs the benchmarks in `scripts/bench/`; arguments are passed to
 * `deno bench`.
 *
 * @module
 */

import { decidedSource, runDeno, withStd } from "./launch/deno_process.ts";
import { expandPermissions } from "./permissions.ts";
import { tell } from "./terminal.ts";

if (import.meta.main) Deno.exit(await main(Deno.args));

async function main(args: readonly string[]): Promise<number> {
  const folder = new URL("bench/", import.meta.url);
  if (!await hasBenchmarks(folder)) {
    tell("No benchmarks in scripts/bench/");
    return 0;
  }
  const bench = ["bench", "--permissions=test", ...args];
  const named = args.some((arg) => !arg.startsWith("-"));
  if (!named) bench.push("scripts/bench/");
  const expanded = expandPermissions(bench, { execPath: Deno.execPath() });
  return await runDeno(withStd(expanded, decidedSource()));
}

async function hasBenchmarks(folder: URL): Promise<boolean> {
  try {
    for await (const entry of Deno.readDir(folder)) {
      if (entry.name.endsWith("_bench.ts")) return true;
    }
    return false;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return false;
    throw error;
  }
}
