/**
 * What a test starts Deno with, so that a program finds the packages that the test has.
 *
 * @module
 */

import { withStd } from "../../scripts/launch/deno_process.ts";

/** Adds the standard library that this process runs with to arguments of Deno. */
export function withOwnStd(args: readonly string[]): readonly string[] {
  const isOffline = import.meta.resolve("@std/assert").startsWith("file:");
  return withStd(args, isOffline ? "offline" : "jsr");
}
