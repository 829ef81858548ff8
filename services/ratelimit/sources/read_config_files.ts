/**
 * One look at a configuration directory, for commands that don't watch it.
 *
 * @module
 */

import { NEVER_PAUSING } from "../../shared/slices.ts";
import { CONFIG_BOUNDS, readConfigDirectory } from "./config_directory.ts";
import { type ConfigFilesOutcome, decodeFiles } from "./config_files.ts";

/** Reads all `*.yaml` files directly in `directory`. */
export async function readConfigFiles(
  directory: string,
): Promise<ConfigFilesOutcome> {
  const read = await readConfigDirectory(directory, {
    ...CONFIG_BOUNDS,
    ignoreDotFiles: false,
  });
  return read.kind === "read"
    ? await decodeFiles(read.files, {
      fingerprint: read.fingerprint,
      pausing: NEVER_PAUSING,
    })
    : { kind: "unreadable", reason: read.reason };
}
