/**
 * The file that holds a service's master keys, where no setting does: one key, made
 * at the first start, for its owner alone.
 *
 * @module
 */

import { syncFolder, writeDurableFile } from "./durable_file.ts";
import type { Logger } from "./logger.ts";
import { KEY_BYTES, type MasterKey, parseMasterKeys } from "./master_keys.ts";
import { randomBytes } from "./random_bytes.ts";
import { tighten } from "./sqlite/private_file.ts";

/** A file's text with one new key. */
function newMasterKeyText(about: string): string {
  const key = randomBytes(KEY_BYTES).toBase64();
  const lines = about.split("\n").map((line) => `# ${line}\n`);
  return `${lines.join("")}${key}\n`;
}

/** Options of {@linkcode readMasterKeyFile}. */
interface MasterKeyFileOptions {
  /** Whether a key is made when there is no file. */
  readonly mayCreate: boolean;
  /** What the file says of its key, for who finds it; lines of a comment. */
  readonly about: string;
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
  const { mayCreate, about, logger } = options;
  const path = `${dataFolder}/${MASTER_KEY_FILE}`;
  let text = await readIfThere(path);
  if (text === undefined) {
    if (!mayCreate) {
      throw new Error(
        `Cannot open keys: there are some, but no file "${path}" to open ` +
          "them with; restore it from its copy",
      );
    }
    text = newMasterKeyText(about);
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
