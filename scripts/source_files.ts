/**
 * Lists the source files of the project, and those that users of the package
 * import.
 *
 * @module
 */

import { isTestCode } from "./lint/project_file.ts";

const ROOT = new URL("../", import.meta.url);

/** Returns the paths of the TypeScript files that are not for tests, sorted. */
export async function sourceFiles(): Promise<readonly string[]> {
  const paths = ["mod.ts"];
  const folders = ["proto/", "scripts/", "sdk/", "services/"];
  // The loop also reaches the folders that are added in it.
  for (const folder of folders) {
    for await (const entry of Deno.readDir(new URL(folder, ROOT))) {
      const path = folder + entry.name;
      if (entry.isDirectory) folders.push(`${path}/`);
      else if (/\.tsx?$/.test(path) && !isTestCode(path)) paths.push(path);
    }
  }
  return paths.sort();
}

/** Returns the paths of the modules that `deno.json` exports. */
export async function packageEntries(): Promise<readonly string[]> {
  const text = await Deno.readTextFile(new URL("deno.json", ROOT));
  const { exports } = JSON.parse(text) as {
    readonly exports: Readonly<Record<string, string>>;
  };
  return Object.values(exports).map((path) => path.replace(/^\.\//, ""));
}
