/**
 * Adjusts the arguments with which a test starts Deno, so that the program
 * finds the packages that the test itself has.
 *
 * @module
 */

import { withStd } from "../../scripts/launch/deno_process.ts";

/**
 * Adds to arguments of Deno the flags for the standard library that this
 * process uses.
 */
export function withOwnStd(args: readonly string[]): readonly string[] {
  // A registry may be a folder, too, as in CI.
  const standIns = new URL("../../scripts/offline/", import.meta.url).href;
  const isOffline = import.meta.resolve("@std/assert").startsWith(standIns);
  return withStd(args, isOffline ? "offline" : "jsr");
}
