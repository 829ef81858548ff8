/**
 * The data folder of a service: makes it and checks that it can be written to.
 *
 * @module
 */

import { quote } from "./quote.ts";
import { describeError } from "./settled.ts";

/** What {@linkcode openDataFolder} names when it fails. */
interface DataFolderOptions {
  /** The service, such as `relayer`. */
  readonly service: string;
  /**
   * Whether it must be possible to write there, which is tried with a file that
   * is removed at once.
   *
   * @default {true}
   */
  readonly mustBeWritable?: boolean;
}

/**
 * Makes the data folder where it is not there; only its owner can look into it.
 *
 * @throws {Error} when it cannot be made or written to: names the service, the
 * folder, the reason and the setting
 */
export async function openDataFolder(
  path: string,
  { service, mustBeWritable = true }: DataFolderOptions,
): Promise<void> {
  await orExplain(`make the data folder ${quote(path)} of ${service}`, () => {
    return Deno.mkdir(path, { recursive: true, mode: 0o700 });
  });
  if (mustBeWritable) await demandWritable(path, { service });
}

/**
 * Tries to write to a data folder; leaves nothing behind.
 *
 * @throws {Error} when that fails: names the service, the folder, the reason
 * and the setting
 */
export async function demandWritable(
  path: string,
  { service }: Pick<DataFolderOptions, "service">,
): Promise<void> {
  const act = `write to the data folder ${quote(path)} of ${service}`;
  await orExplain(act, async () => {
    const probe = `${path}/writable.${crypto.randomUUID()}`;
    try {
      // Write some bytes: on a full disk an empty file can still be created.
      await writeProbe(probe);
    } finally {
      await removeIfThere(probe);
    }
  });
}

const PROBE = new Uint8Array(4_096);

async function writeProbe(path: string): Promise<void> {
  // `Deno.writeFile()` loads streams first, for 7 ms.
  using file = await Deno.open(path, {
    write: true,
    createNew: true,
    mode: 0o600,
  });
  for (let written = 0; written < PROBE.length;) {
    written += await file.write(PROBE.subarray(written));
  }
}

async function removeIfThere(path: string): Promise<void> {
  try {
    await Deno.remove(path);
  } catch (error) {
    // The error that kept the file from being made is the one to report.
    if (
      !(error instanceof Deno.errors.NotFound) && !isNoWriting(error)
    ) throw error;
  }
}

function isNoWriting(error: unknown): boolean {
  const { NotCapable, PermissionDenied, NotADirectory } = Deno.errors;
  return error instanceof NotCapable || error instanceof PermissionDenied ||
    error instanceof NotADirectory || findErrorCode(error) === "EROFS";
}

async function orExplain(
  act: string,
  attempt: () => Promise<void>,
): Promise<void> {
  try {
    await attempt();
  } catch (cause) {
    throw new Error(`Cannot ${act}: ${folderFault(cause)}`, { cause });
  }
}

const ELSEWHERE = "set DATA_DIR to a folder that it may write to";

/** Why a folder can't be made or written to, and what to do. */
export function folderFault(cause: unknown): string {
  const { NotCapable, PermissionDenied, AlreadyExists, NotADirectory } =
    Deno.errors;
  if (cause instanceof NotCapable) {
    return "the program was started without the permission to write there; " +
      ELSEWHERE;
  }
  if (cause instanceof PermissionDenied) {
    return `this user may not write there; give it the right, or ${ELSEWHERE}`;
  }
  if (cause instanceof AlreadyExists) {
    return `there is a file of that name; ${ELSEWHERE}`;
  }
  if (cause instanceof NotADirectory) {
    return `a part of its path is a file; ${ELSEWHERE}`;
  }
  switch (findErrorCode(cause)) {
    case "EROFS":
      return `the file system is read-only; ${ELSEWHERE}`;
    case "ENOSPC":
    case "EDQUOT":
      return "there is no space left; make room on its disk, or set DATA_DIR " +
        "to a folder on another one";
    default:
      return `${describeError(cause)}; ${ELSEWHERE}`;
  }
}

function findErrorCode(error: unknown): unknown {
  return error instanceof Error && "code" in error ? error.code : undefined;
}
