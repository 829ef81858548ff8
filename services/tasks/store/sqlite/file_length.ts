/**
 * How long files are.
 *
 * @module
 */

/** The bytes of a file; undefined when it is not there. */
export function fileLength(path: string): number | undefined {
  try {
    return Deno.statSync(path).size;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
    throw error;
  }
}
