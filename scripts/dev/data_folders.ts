/**
 * Creates the folders in which services in development keep their data.
 *
 * @module
 */

import { toMessage } from "../terminal.ts";

/** A data folder, and the environment variable that selects another one. */
export interface DataFolder {
  /** The name of the environment variable. */
  readonly variable: string;
  /** The path when the variable is not set. */
  readonly path: string;
}

/**
 * Creates all data folders up front, so that one that cannot be created is
 * reported once and not by each service.
 *
 * @param read Returns the value of an environment variable.
 * @throws {Error} When a folder cannot be created: says which one, and how to
 * choose others.
 */
export async function makeDataFolders(
  folders: readonly DataFolder[],
  read: (name: string) => string | undefined,
): Promise<void> {
  for (const { variable, path } of folders) {
    const folder = read(variable) || path;
    try {
      await Deno.mkdir(folder, { recursive: true, mode: 0o700 });
    } catch (cause) {
      const names = folders.map(({ variable }) => variable).join(", ");
      throw new Error(
        `Cannot make the data folder "${folder}": ${
          toMessage(cause)
        }; copy the ` +
          `checkout to where you may write, or name other folders in ${names}`,
        { cause },
      );
    }
  }
}
