/**
 * Builds npm packages for tests.
 *
 * @module
 */

import { assert, assertEquals } from "@std/assert";
import {
  decidedSource,
  runDeno,
  withStd,
} from "../../../scripts/launch/deno_process.ts";
import { expandPermissions } from "../../../scripts/permissions.ts";

/**
 * Builds a package into an empty folder as `deno task build:npm` does, and
 * returns the path of the tarball.
 */
export async function buildPackage(
  name: "sdk" | "mcp",
  folder: string,
): Promise<string> {
  const args = expandPermissions([
    ...["run", "--permissions=script", "scripts/npm/build_npm.ts"],
    ...["--only", name, "--out", folder],
  ], { execPath: Deno.execPath() });
  const code = await runDeno(withStd(args, decidedSource()));
  assertEquals(code, 0);
  const names = await Array.fromAsync(Deno.readDir(folder));
  const [file] = names;
  assert(file !== undefined && names.length === 1);
  return `${folder}/${file.name}`;
}
