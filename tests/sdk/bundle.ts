/**
 * Bundles the SDK into one file, as an application's bundler would.
 *
 * @module
 */

import { withOwnStd } from "../support/with_own_std.ts";

const ROOT = decodeURIComponent(new URL("../../", import.meta.url).pathname);

/** Options of {@linkcode bundle}. */
export interface BundleOptions {
  /**
   * The path of the bundled file; of the folder of the bundled files when there
   * are several, which have the paths of their modules.
   */
  readonly into: string;
  /**
   * Whether the file is minified.
   *
   * @default {false}
   */
  readonly isMinified?: boolean;
  /**
   * Whether dynamically imported modules become files of their own; `into` is
   * then the path of a folder.
   *
   * @default {false}
   */
  readonly isSplit?: boolean;
  /**
   * Packages that are not bundled, such as `ai` or `@mysten/sui/*`.
   *
   * @default none
   */
  readonly external?: readonly string[];
}

/**
 * Bundles modules of this project, each with everything it imports, into one
 * file for browsers, with the Deno and the packages that the test itself runs
 * with.
 *
 * @param entry The module's path within the project, such as `mod.ts`, or those
 * of several.
 */
export async function bundle(
  entry: string | readonly string[],
  { into, isMinified = false, isSplit = false, external = [] }: BundleOptions,
): Promise<void> {
  const { success, stderr } = await new Deno.Command(Deno.execPath(), {
    args: [
      ...withOwnStd(["bundle", "--platform", "browser"]),
      ...isMinified ? ["--minify"] : [],
      ...external.flatMap((name) => ["--external", name]),
      ...isSplit ? ["--code-splitting"] : [],
      isSplit || typeof entry !== "string" ? "--outdir" : "--output",
      into,
      ...[entry].flat().map((path) => `${ROOT}${path}`),
    ],
    cwd: ROOT,
    stdin: "null",
    stdout: "null",
    stderr: "piped",
  }).output();
  if (!success) {
    const said = new TextDecoder().decode(stderr);
    throw new Error(`Cannot bundle ${entry}: ${said}`);
  }
  if (typeof entry === "string") return;
  // Node takes files with the extension "js" for modules only then.
  await Deno.writeTextFile(`${into}/package.json`, '{ "type": "module" }');
}

/**
 * Returns the texts of a file and of everything that it imports statically, by
 * file name: the code that is loaded before anything is called.
 *
 * @param folder The folder of a split bundle.
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

/** Returns the paths that a minified file imports statically. */
export function staticImports(text: string): readonly string[] {
  return Array.from(
    text.matchAll(/(?:^|[;}\n])(?:import|export)(?:[^;"'()]*from)?"([^"]+)"/g),
    ([, path = ""]) => path,
  );
}

/** Returns the paths that a minified file imports dynamically. */
export function dynamicImports(text: string): readonly string[] {
  return Array.from(
    text.matchAll(/\bimport\("([^"]+)"\)/g),
    ([, path = ""]) => path,
  );
}
