/**
 * The SDK as one file, as an application's own bundler makes it.
 *
 * @module
 */

import { withStd } from "../../scripts/launch/deno_process.ts";

const ROOT = decodeURIComponent(new URL("../../", import.meta.url).pathname);

/** Options of {@linkcode bundle}. */
export interface BundleOptions {
  /** Where the one file goes. */
  readonly into: string;
  /**
   * Whether it is made as small as can be.
   *
   * @default {false}
   */
  readonly isMinified?: boolean;
  /**
   * Whether what is imported dynamically goes into files of its own; `into` is then
   * their folder.
   *
   * @default {false}
   */
  readonly isSplit?: boolean;
}

/**
 * Makes one file of a module of this project and all it imports, for browsers,
 * with the Deno and the packages that the test itself runs with.
 *
 * @param entry the module's path within the project, such as `mod.ts`
 */
export async function bundle(
  entry: string,
  { into, isMinified = false, isSplit = false }: BundleOptions,
): Promise<void> {
  const { success, stderr } = await new Deno.Command(Deno.execPath(), {
    args: [
      ...withStd(["bundle", "--platform", "browser"], stdSource()),
      ...isMinified ? ["--minify"] : [],
      ...isSplit ? ["--code-splitting", "--outdir"] : ["--output"],
      into,
      `${ROOT}${entry}`,
    ],
    cwd: ROOT,
    stdin: "null",
    stdout: "null",
    stderr: "piped",
  }).output();
  if (success) return;
  const said = new TextDecoder().decode(stderr);
  throw new Error(`Cannot bundle "${entry}": ${said}`);
}

function stdSource(): "jsr" | "offline" {
  return import.meta.resolve("@std/assert").startsWith("file:")
    ? "offline"
    : "jsr";
}
