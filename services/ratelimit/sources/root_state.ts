/**
 * Tells whether the root of the configuration was swapped.
 *
 * @module
 */

/**
 * Describes where `root` leads and which link or directory stands there. Two
 * answers differ when the root, or a link on the way to it, was swapped or
 * made again, also with the same target; edits below it change nothing.
 */
export async function describeRoot(root: string): Promise<string> {
  try {
    const { dev, ino, birthtime } = await Deno.lstat(root);
    const real = await Deno.realPath(root);
    return JSON.stringify([real, dev, ino, birthtime?.getTime() ?? 0]);
  } catch (error) {
    return error instanceof Deno.errors.NotFound ? "missing" : String(error);
  }
}
