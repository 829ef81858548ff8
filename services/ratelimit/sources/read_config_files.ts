/**
 * One look at a configuration directory, for commands that don't watch it.
 *
 * @module
 */

import { readConfigDirectory } from "./config_directory.ts";
import { type ConfigFilesOutcome, decodeFiles } from "./config_files.ts";

const NO_BOUND = Number.MAX_SAFE_INTEGER;

/** Reads all `*.yaml` files directly in `directory`. */
export async function readConfigFiles(
  directory: string,
): Promise<ConfigFilesOutcome> {
  const read = await readConfigDirectory(directory, {
    ignoreDotFiles: false,
    maxFileBytes: NO_BOUND,
    maxFiles: NO_BOUND,
    maxTotalBytes: NO_BOUND,
  });
  return read.kind === "read"
    ? decodeFiles(read.files, read.fingerprint)
    : { kind: "unreadable", reason: read.reason };
}
