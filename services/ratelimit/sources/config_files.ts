/**
 * Configuration files as text, and one look at a directory for commands that
 * don't watch it.
 *
 * @module
 */

import { quote } from "../../shared/quote.ts";
import { NEVER_PAUSING, type Pausing } from "../../shared/slices.ts";
import {
  CONFIG_BOUNDS,
  type RawConfigFile,
  readConfigDirectory,
} from "./config_directory.ts";

/** One configuration file. */
interface ConfigFile {
  /** The file's name within the configuration directory. */
  readonly name: string;
  /** Its whole text. */
  readonly text: string;
}

/** What was found when looking for configuration files. */
export type ConfigFilesOutcome =
  | {
    readonly kind: "files";
    /** The files in the byte order of their names; may be none. */
    readonly files: readonly ConfigFile[];
    /** A hash of all names and bytes. */
    readonly fingerprint: string;
  }
  | {
    readonly kind: "unreadable";
    /** Why, naming the file or directory. */
    readonly reason: string;
  };

/**
 * Turns bytes into text, a file at a time between other work; one file that is
 * not UTF-8 spoils the lot.
 */
export async function decodeFiles(
  files: readonly RawConfigFile[],
  { fingerprint, pausing }: {
    /** A hash of all names and bytes. */
    readonly fingerprint: string;
    /** Lets other work run. */
    readonly pausing: Pausing;
  },
): Promise<ConfigFilesOutcome> {
  const decoder = new TextDecoder("utf-8", { fatal: true });
  const decoded: ConfigFile[] = [];
  for (const { name, bytes } of files) {
    try {
      await pausing.pause();
      decoded.push({ name, text: decoder.decode(bytes) });
    } catch {
      const reason = `Cannot read configuration file ${
        quote(name)
      }: it is not valid UTF-8`;
      return { kind: "unreadable", reason };
    }
  }
  return { kind: "files", files: decoded, fingerprint };
}

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
