/**
 * The file of the master keys in the data folder; all other keys of the vault are
 * wrapped by them.
 *
 * @module
 */

import { randomBytes } from "node:crypto";
import type { Logger } from "../../shared/logger.ts";
import {
  KEY_BYTES,
  type MasterKey,
  parseMasterKeys,
} from "../../shared/master_keys.ts";
import { tighten } from "../../shared/sqlite/private_file.ts";
import { syncFolder, writeDurableFile } from "../blobs/durable_file.ts";

/** A file's text with one new key. */
function newMasterKeyText(): string {
  const key = new Uint8Array(randomBytes(KEY_BYTES)).toBase64();
  return "# The key that wraps the keys of all memories. Keep a copy of it\n" +
    "# apart from the backups of the data: without it no memory opens.\n" +
    `${key}\n`;
}

/** Options of {@linkcode readMasterKeyFile}. */
interface MasterKeyFileOptions {
  /** Whether a key is made when there is no file. */
  readonly mayCreate: boolean;
  /** Hears of a new file, and of one that others could read. */
  readonly logger: Logger;
}

/** The name of the file. */
const MASTER_KEY_FILE = "master.key";

/** The bits of a file's mode that let others than its owner at it. */
const OTHERS = 0o077;

/**
 * The master keys of a data folder, the current one first; makes one at the first
 * start.
 *
 * @throws {Error} when there is no file though there are keys that need it, or
 * when it holds no keys
 */
export async function readMasterKeyFile(
  dataFolder: string,
  options: MasterKeyFileOptions,
): Promise<readonly MasterKey[]> {
  const { mayCreate, logger } = options;
  const path = `${dataFolder}/${MASTER_KEY_FILE}`;
  let text = await readIfThere(path);
  if (text === undefined) {
    if (!mayCreate) {
      throw new Error(
        `Cannot open the vault: there are keys, but no file "${path}" to ` +
          "open them with; restore it from its copy",
      );
    }
    text = newMasterKeyText();
    await writeDurably(dataFolder, text);
    logger.info("made a master key; keep a copy of it", { file: path });
  }
  const outcome = parseMasterKeys(text);
  if (outcome.kind === "invalid") {
    throw new Error(`${outcome.reason} in the file "${path}"`);
  }
  const { mode } = await Deno.stat(path);
  if (mode !== null && (mode & OTHERS) !== 0) {
    logger.warn("the file of the master keys could be read by others", {
      file: path,
      mode: (mode & 0o777).toString(8),
    });
    tighten(path);
  }
  return outcome.keys;
}

async function readIfThere(path: string): Promise<string | undefined> {
  try {
    return await Deno.readTextFile(path);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
    throw error;
  }
}

/** A crash leaves the whole file or none. */
async function writeDurably(dataFolder: string, text: string): Promise<void> {
  const path = `${dataFolder}/${MASTER_KEY_FILE}`;
  const draft = `${path}.new`;
  await writeDurableFile(draft, new TextEncoder().encode(text));
  await Deno.rename(draft, path);
  await syncFolder(dataFolder);
}
