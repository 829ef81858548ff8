/**
 * Reads all configuration files of one directory, within bounds of their size.
 *
 * @module
 */

import { describeError } from "../../shared/settled.ts";
import { Buffer } from "node:buffer";
import { createHash } from "node:crypto";
import { join } from "node:path";
import { quote } from "../../shared/quote.ts";
import { readBounded } from "../../shared/watch/file_reads.ts";

/** A configuration file as it lies on disk. */
export interface RawConfigFile {
  /** The file's name within the directory. */
  readonly name: string;
  /** Its content. */
  readonly bytes: Uint8Array;
}

/** Which files are read, and the bounds of a read. */
interface ConfigDirectoryOptions {
  /** True to skip files whose name begins with a dot. */
  readonly ignoreDotFiles: boolean;
  /** The largest file that is read, in bytes. */
  readonly maxFileBytes: number;
  /** The most files that are read. */
  readonly maxFiles: number;
  /** The most bytes that all files may have together. */
  readonly maxTotalBytes: number;
  /** What an operator can do when the directory does not exist. */
  readonly whenMissing?: string | undefined;
}

/** The bounds of a read, by the service and by `ratelimit check`. */
export const CONFIG_BOUNDS = {
  maxFileBytes: 4_194_304,
  maxFiles: 10_000,
  maxTotalBytes: 67_108_864,
} as const;

/** A file that looks like configuration and is not read, such as `a.yml`. */
export interface IgnoredFile {
  /** Its name within the directory. */
  readonly name: string;
  /** Why, and what to do about it. */
  readonly why: string;
}

/** The result of one read of the directory. */
export type DirectoryRead =
  | {
    readonly kind: "read";
    /** The files in the byte order of their names. */
    readonly files: readonly RawConfigFile[];
    /** A hash of all names and bytes. */
    readonly fingerprint: string;
    /** The latest change of a file or of the directory, by the file system. */
    readonly changedMs: number;
    /** Files that look like configuration and are not read. */
    readonly ignored: readonly IgnoredFile[];
  }
  /**
   * A file was listed and could not be found: the directory changes, read
   * again.
   */
  | { readonly kind: "changing"; readonly reason: string }
  /** The directory cannot be read as it is. */
  | { readonly kind: "unreadable"; readonly reason: string };

/**
 * Reads the files `*.yaml` directly in `directory`, following links. Nothing
 * below a directory in it is read, so the hidden directories in a mounted
 * Kubernetes ConfigMap are not read a second time.
 */
export async function readConfigDirectory(
  directory: string,
  options: ConfigDirectoryOptions,
): Promise<DirectoryRead> {
  try {
    return await readAll(directory, options);
  } catch (error) {
    const why = error instanceof Deno.errors.NotFound
      ? ["it does not exist", options.whenMissing].filter(Boolean).join("; ")
      : error instanceof Deno.errors.NotADirectory
      ? "it is not a directory"
      : describeError(error);
    return unreadable("directory", directory, why);
  }
}

async function readAll(
  directory: string,
  options: ConfigDirectoryOptions,
): Promise<DirectoryRead> {
  const { mtime } = await Deno.stat(directory);
  let changedMs = mtime?.getTime() ?? 0;
  const listed = await list(directory, options);
  if (listed === undefined) {
    const why = `it has more than ${options.maxFiles} files`;
    return unreadable("directory", directory, why);
  }
  const files: RawConfigFile[] = [];
  const hash = createHash("sha256");
  const ignored = [...listed.ignored];
  let leftBytes = options.maxTotalBytes;
  for (const name of listed.names) {
    const read = await readBounded(join(directory, name), options.maxFileBytes);
    switch (read.kind) {
      case "not_a_file":
        ignored.push({ name, why: NOT_A_FILE });
        continue;
      case "missing":
        return { kind: "changing", reason: reasonFor("file", name, GONE) };
      case "too_large": {
        const why = `it is larger than ${options.maxFileBytes} bytes`;
        return unreadable("file", name, why);
      }
      case "failed":
        return unreadable("file", name, String(read.error));
      case "read":
        leftBytes -= read.bytes.byteLength;
        changedMs = Math.max(changedMs, read.changedMs);
        files.push({ name, bytes: read.bytes });
        // The length keeps a name and a content from running into each other.
        hash.update(`${JSON.stringify(name)} ${read.bytes.byteLength}\n`);
        hash.update(read.bytes);
    }
    if (leftBytes < 0) {
      const why = `its files have more than ${options.maxTotalBytes} bytes`;
      return unreadable("directory", directory, why);
    }
  }
  const fingerprint = hash.digest("hex");
  return { kind: "read", files, fingerprint, changedMs, ignored };
}

const GONE = "it is listed but is not there, or is a link that leads nowhere";
const NOT_A_FILE =
  "it is not a regular file; put a file or a link to one in its place";
const MISNAMED =
  'only names ending in ".yaml" are read; rename it to have it read';

/** Lists the files to read; undefined when there are too many. */
async function list(
  directory: string,
  options: ConfigDirectoryOptions,
): Promise<{ names: string[]; ignored: IgnoredFile[] } | undefined> {
  const names: string[] = [];
  const ignored: IgnoredFile[] = [];
  for await (const entry of Deno.readDir(directory)) {
    const { name } = entry;
    if (options.ignoreDotFiles && name.startsWith(".")) continue;
    if (entry.isDirectory) {
      if (name.endsWith(".yaml")) ignored.push({ name, why: NOT_A_FILE });
    } else if (name.endsWith(".yaml")) {
      names.push(name);
      if (names.length > options.maxFiles) return undefined;
    } else if (/\.ya?ml$/i.test(name) && ignored.length < options.maxFiles) {
      ignored.push({ name, why: MISNAMED });
    }
  }
  return { names: sortedByBytes(names), ignored };
}

/** Sorts by UTF-8, which differs from the order of strings above U+FFFF. */
function sortedByBytes(names: readonly string[]): string[] {
  return names
    .map((name) => ({ name, bytes: Buffer.from(name) }))
    .sort((a, b) => a.bytes.compare(b.bytes))
    .map(({ name }) => name);
}

function unreadable(
  what: "directory" | "file",
  name: string,
  why: string,
): DirectoryRead {
  return { kind: "unreadable", reason: reasonFor(what, name, why) };
}

function reasonFor(
  what: "directory" | "file",
  name: string,
  why: string,
): string {
  return `Cannot read configuration ${what} ${quote(name)}: ${why}`;
}
