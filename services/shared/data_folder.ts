/**
 * The folder that a service keeps its data in.
 *
 * @module
 */

import { quote } from "./quote.ts";
import { describeError } from "./settled.ts";

/** What {@linkcode openDataFolder} names when it fails. */
export interface DataFolderOptions {
  /** The service, such as `relayer`. */
  readonly service: string;
}

/**
 * Makes the data folder where it is not there; only its owner can look into it.
 *
 * @throws {Error} when it cannot be made: names the service, the folder, the
 * reason and the setting
 */
export async function openDataFolder(
  path: string,
  { service }: DataFolderOptions,
): Promise<void> {
  try {
    await Deno.mkdir(path, { recursive: true, mode: 0o700 });
  } catch (cause) {
    throw new Error(
      `Cannot make the data folder ${quote(path)} of ${service}: ` +
        `${reasonOf(cause)}; set DATA_DIR to a folder that it may write to`,
      { cause },
    );
  }
}

/** The runtime's own words name its flags, which an executable does not have. */
function reasonOf(cause: unknown): string {
  if (cause instanceof Deno.errors.NotCapable) {
    return "the program was started without the permission to write there";
  }
  if (cause instanceof Deno.errors.PermissionDenied) {
    return "this user may not write there";
  }
  if (cause instanceof Deno.errors.AlreadyExists) {
    return "there is a file of that name";
  }
  return describeError(cause);
}
