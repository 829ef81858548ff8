/**
 * Adjusts the arguments with which a test starts Deno, so that the program
 * finds the packages that the test itself has.
 *
 * @module
 */

import { withStd } from "../../scripts/launch/deno_process.ts";
import type { StdSource } from "../../scripts/launch/std_choice.ts";

/** Returns where the standard library that this process uses comes from. */
export function ownSource(): StdSource {
  // A registry may be a folder, too, as in CI.
  const standIns = new URL("../../scripts/offline/", import.meta.url).href;
  const isOffline = import.meta.resolve("@std/assert").startsWith(standIns);
  return isOffline ? "offline" : "jsr";
}

/**
 * Adds to arguments of Deno the flags for the standard library that this
 * process uses.
 */
export function withOwnStd(args: readonly string[]): readonly string[] {
  return withStd(args, ownSource());
}
