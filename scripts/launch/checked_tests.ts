/**
 * Runs `deno test` without its line of output for each type-checked file. Types
 * are checked first in a run with `--quiet`; in the test run itself that flag
 * would hide what tests print as well. Then the files are tested in groups,
 * which takes less time.
 *
 * @module
 */

import { tell } from "../terminal.ts";
import { runDeno, type RunDenoOptions } from "./deno_process.ts";
import { withTestGroups } from "./test_groups.ts";

/**
 * Flags with which no types are checked, or something other than tests is run;
 * these runs are passed to Deno unchanged.
 */
const WHOLE =
  /^(?:--no-check|--check|--no-run|--watch|--inspect|--help|--quiet|-[hq]$|--clean)/;

const ROOT = decodeURIComponent(new URL("../../", import.meta.url).pathname);

/**
 * How long a type check may take, in milliseconds, before a line says that it
 * is under way; with a cache it takes less.
 */
const SILENCE_MS = 2_000;

/** Runs Deno with some arguments; returns the exit code. */
type RunWith = (
  args: readonly string[],
  options: RunDenoOptions,
) => Promise<number>;

/** Options of {@linkcode runDenoTest}. */
interface RunDenoTestOptions extends RunDenoOptions {
  /**
   * The function that runs Deno.
   *
   * @default {runDeno}
   */
  readonly run?: RunWith;
}

/**
 * Runs `deno test`. The type check prints nothing unless it finds an error, and
 * then no test runs.
 *
 * @param args `test` and what follows it.
 * @returns The exit code.
 */
export async function runDenoTest(
  args: readonly string[],
  { run = runDeno, ...options }: RunDenoTestOptions = {},
): Promise<number> {
  const [subcommand = "test", ...rest] = args;
  const end = rest.indexOf("--");
  const flags = end === -1 ? rest : rest.slice(0, end);
  if (flags.some((flag) => WHOLE.test(flag))) return await run(args, options);
  const timer = setTimeout(() => tell("Checking types"), SILENCE_MS);
  let code: number;
  try {
    const check = [subcommand, "--quiet", "--no-run", ...rest];
    code = await run(check, options);
  } finally {
    clearTimeout(timer);
  }
  if (code !== 0) return code;
  return await withTestGroups(
    [subcommand, "--no-check", ...rest],
    { root: ROOT },
    (grouped) => run(grouped, options),
  );
}
