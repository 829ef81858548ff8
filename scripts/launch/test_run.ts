/**
 * Runs `deno test` in less time: types are left to `deno task check`, files
 * share isolates, and services that many tests start come from one bundle.
 *
 * @module
 */

import { bundleServices } from "../build/bundle.ts";
import { runDeno, type RunDenoOptions } from "./deno_process.ts";
import type { StdSource } from "./std_choice.ts";
import { withTestGroups } from "./test_groups.ts";

/**
 * Flags that say themselves what is checked, or with which something other than
 * tests is run; these runs are passed to Deno unchanged.
 */
const WHOLE =
  /^(?:--no-check|--check|--no-run|--watch|--inspect|--help|--quiet|-[hq]$|--clean)/;

const ROOT = decodeURIComponent(new URL("../../", import.meta.url).pathname);

/**
 * The environment variable with the folder from which tests start services; see
 * `tests/support/service_process.ts`.
 */
const BUNDLE_VARIABLE = "TEST_BUNDLE";

/**
 * The environment variable with a folder in which tests keep what takes long to
 * make and is the same for all of them; see `tests/support/postgres_server.ts`.
 */
const CONSTANTS_VARIABLE = "TEST_CONSTANTS";

/**
 * The number of files with process tests from which on a bundle takes less time
 * to make than its faster starts save.
 */
const ENOUGH_FILES = 3;

/** Runs Deno with some arguments; returns the exit code. */
type RunWith = (
  args: readonly string[],
  options: RunDenoOptions,
) => Promise<number>;

/** Options of {@linkcode runDenoTest}. */
interface RunDenoTestOptions extends RunDenoOptions {
  /** Where the `@std` packages come from. */
  readonly source: StdSource;
  /**
   * The function that runs Deno.
   *
   * @default {runDeno}
   */
  readonly run?: RunWith;
}

/**
 * Runs `deno test`.
 *
 * @param args `test` and what follows it.
 * @returns The exit code.
 */
export async function runDenoTest(
  args: readonly string[],
  { source, run = runDeno, ...options }: RunDenoTestOptions,
): Promise<number> {
  const [subcommand = "test", ...rest] = args;
  const end = rest.indexOf("--");
  const flags = end === -1 ? rest : rest.slice(0, end);
  if (flags.some((flag) => WHOLE.test(flag))) return await run(args, options);
  return await withTestGroups(
    [subcommand, "--no-check", ...rest],
    { root: ROOT },
    async ({ args, files }) => {
      if (files.length === 0) return await run(args, options);
      const starting = files.filter((file) =>
        file.endsWith("_process_test.ts")
      );
      // Not in the checkout, whose files `deno check` checks meanwhile.
      const folder = await Deno.makeTempDir({ prefix: "test_run_" });
      const bundle = `${folder}/bundle`;
      const isBundled = starting.length >= ENOUGH_FILES;
      try {
        if (isBundled) {
          await Deno.mkdir(bundle);
          if (!await bundleServices(bundle, source)) return 1;
        }
        const env = {
          ...options.env,
          [CONSTANTS_VARIABLE]: folder,
          ...(isBundled ? { [BUNDLE_VARIABLE]: bundle } : {}),
        };
        return await run(args, { ...options, env });
      } finally {
        await Deno.remove(folder, { recursive: true });
      }
    },
  );
}
