/**
 * Makes the folders that services in development keep their data in.
 *
 * @module
 */

import { messageOf } from "../terminal.ts";

/** A folder for data, and the variable that names another one. */
export interface DataFolder {
  /** The variable. */
  readonly variable: string;
  /** The folder when the variable is not set. */
  readonly path: string;
}

/**
 * Makes all folders, so that the first one that cannot be made is told once and not by
 * each service.
 *
 * @param read gives variables
 * @throws {Error} When one cannot be made: says which, and how to name others.
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
          messageOf(cause)
        }; copy the ` +
          `checkout to where you may write, or name other folders in ${names}`,
        { cause },
      );
    }
  }
}
