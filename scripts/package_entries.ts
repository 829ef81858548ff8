/**
 * The files that users of the package import.
 *
 * @module
 */

/** Returns the files whose exports are what the package is for. */
export async function packageEntries(): Promise<readonly string[]> {
  const text = await Deno.readTextFile(
    new URL("../deno.json", import.meta.url),
  );
  const { exports } = JSON.parse(text) as {
    readonly exports: Readonly<Record<string, string>>;
  };
  return Object.values(exports).map((path) => path.replace(/^\.\//, ""));
}
