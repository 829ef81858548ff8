/**
 * Work with files that may be missing.
 *
 * @module
 */

/** What the work with a file gives; undefined when there is no such file. */
export async function ifThere<T>(work: Promise<T>): Promise<T | undefined> {
  try {
    return await work;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
    throw error;
  }
}

/** Removes a file, unless it is gone already. */
export async function removeIfThere(path: string): Promise<void> {
  await ifThere(Deno.remove(path));
}

/** Reads a text file; gives undefined when there is no such file. */
export function readIfThere(path: string): Promise<string | undefined> {
  return ifThere(Deno.readTextFile(path));
}
