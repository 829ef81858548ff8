/**
 * Lists the files that users of the package import.
 *
 * @module
 */

/** Returns the paths of the modules that `deno.json` exports. */
export async function packageEntries(): Promise<readonly string[]> {
  const text = await Deno.readTextFile(
    new URL("../deno.json", import.meta.url),
  );
  const { exports } = JSON.parse(text) as {
    readonly exports: Readonly<Record<string, string>>;
  };
  return Object.values(exports).map((path) => path.replace(/^\.\//, ""));
}
