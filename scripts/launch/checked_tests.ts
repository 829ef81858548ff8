/**
 * `deno test` without a line for each file whose types are checked: they are checked
 * first, where the runtime can be told to be quiet, which would hide what tests
 * print as well. Then files are tested in groups, which costs less.
 *
 * @module
 */

import { tell } from "../terminal.ts";
import { runDeno, type RunDenoOptions } from "./deno_process.ts";
import { withTestGroups } from "./test_groups.ts";

/** Arguments with which nothing is checked, or something else than tests is run. */
const WHOLE =
  /^(?:--no-check|--check|--no-run|--watch|--inspect|--help|--quiet|-[hq]$|--clean)/;

const ROOT = decodeURIComponent(new URL("../../", import.meta.url).pathname);

/** How long a check lasts before it is spoken of; from a cache it takes less. */
const SILENCE_MS = 2_000;

/** Runs Deno with such arguments; gives the exit code. */
type RunWith = (
  args: readonly string[],
  options: RunDenoOptions,
) => Promise<number>;

/** Options of {@linkcode runDenoTest}. */
interface RunDenoTestOptions extends RunDenoOptions {
  /**
   * Runs Deno.
   *
   * @default {runDeno}
   */
  readonly run?: RunWith;
}

/**
 * Runs `deno test`: the check of types says nothing unless it finds something, and
 * no test runs then.
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
