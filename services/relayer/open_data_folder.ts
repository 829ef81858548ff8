/**
 * The folder that everything is kept in.
 *
 * @module
 */

import { describeError } from "../shared/settled.ts";

/**
 * Makes the data folder where it is not there; only its owner can look into it.
 *
 * @throws {Error} when it cannot be made: the message says where and why
 */
export async function openDataFolder(path: string): Promise<void> {
  try {
    await Deno.mkdir(path, { recursive: true, mode: 0o700 });
  } catch (error) {
    throw new Error(
      `Cannot use the data folder "${path}" (DATA_DIR): ` +
        describeError(error),
      { cause: error },
    );
  }
}
