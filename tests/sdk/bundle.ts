/**
 * The SDK as one file, as an application's own bundler makes it.
 *
 * @module
 */

import { withOwnStd } from "../support/with_own_std.ts";

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
  /**
   * Packages that stay outside, such as `ai` or `@mysten/sui/*`.
   *
   * @default none
   */
  readonly external?: readonly string[];
}

/**
 * Makes one file of a module of this project and all it imports, for browsers,
 * with the Deno and the packages that the test itself runs with.
 *
 * @param entry the module's path within the project, such as `mod.ts`
 */
export async function bundle(
  entry: string,
  { into, isMinified = false, isSplit = false, external = [] }: BundleOptions,
): Promise<void> {
  const { success, stderr } = await new Deno.Command(Deno.execPath(), {
    args: [
      ...withOwnStd(["bundle", "--platform", "browser"]),
      ...isMinified ? ["--minify"] : [],
      ...external.flatMap((name) => ["--external", name]),
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

/**
 * The texts of a file and of all that it imports statically, by their names: what is
 * loaded with it before anything is called.
 *
 * @param folder where a split bundle is
 */
export async function loadedTexts(
  folder: string,
  entry: string,
): Promise<ReadonlyMap<string, string>> {
  const texts = new Map<string, string>();
  const waiting = [entry];
  for (const name of waiting) {
    if (texts.has(name)) continue;
    const text = await Deno.readTextFile(`${folder}/${name}`);
    texts.set(name, text);
    const paths = staticImports(text).filter((path) => path.startsWith("./"));
    waiting.push(...paths.map((path) => path.slice("./".length)));
  }
  return texts;
}

/** What a minified file imports statically. */
export function staticImports(text: string): readonly string[] {
  return Array.from(
    text.matchAll(/(?:^|[;}\n])(?:import|export)(?:[^;"'()]*from)?"([^"]+)"/g),
    ([, path = ""]) => path,
  );
}

/** What a minified file imports when it is needed. */
export function dynamicImports(text: string): readonly string[] {
  return Array.from(
    text.matchAll(/\bimport\("([^"]+)"\)/g),
    ([, path = ""]) => path,
  );
}
