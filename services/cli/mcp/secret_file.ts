/**
 * Reads files that hold a secret; in Node, too, so that it names nothing of
 * Deno.
 *
 * @module
 */

import { readFile, stat } from "node:fs/promises";
import process from "node:process";
import { quote } from "../../shared/quote.ts";

/**
 * Reads a file that holds a secret, without the space around it.
 *
 * @param what What it holds, such as `key`, for errors.
 * @throws {Error} when it cannot be read, or others than its owner may read it
 */
export async function readSecretFile(
  path: string,
  what: string,
): Promise<string> {
  let text: string;
  let mode: number;
  try {
    ({ mode } = await stat(path));
    text = await readFile(path, "utf8");
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new Error(`Cannot read the ${what} in ${quote(path)}: ${reason}`);
  }
  // Windows has no modes.
  if (process.platform !== "win32" && (mode & 0o077) !== 0) {
    const shown = (mode & 0o777).toString(8);
    throw new Error(
      `Cannot use the ${what} in ${quote(path)}: others may read the file, ` +
        `its mode is ${shown}; run chmod 600 on it`,
    );
  }
  return text.trim();
}
