/**
 * Master keys: what everything else of the vault is wrapped by, and their file in the
 * data folder.
 *
 * @module
 */

import { createHash, randomBytes } from "node:crypto";
import { parseBase64Key } from "../../shared/base64_key.ts";
import type { Logger } from "../../shared/logger.ts";
import { tighten } from "../../shared/sqlite/private_file.ts";
import { syncFolder, writeDurableFile } from "../blobs/durable_file.ts";
import { KEY_BYTES } from "./envelope.ts";

/** A master key. */
export interface MasterKey {
  /** Its id, made of the key, so that it never needs to be given. */
  readonly id: string;
  /** The key, 32 bytes. */
  readonly secret: Uint8Array;
}

/** What reading master keys comes to. */
export type MasterKeysOutcome =
  | { readonly kind: "ok"; readonly keys: readonly Uint8Array[] }
  /** Why they are none, without a word of them. */
  | { readonly kind: "invalid"; readonly reason: string };

const MAX_MASTER_KEYS = 16;
const KEY_ID_BYTES = 9;

/**
 * Reads master keys from a setting or a file: base64 of 32 bytes each, with
 * commas or line ends between them, the current one first. Lines that begin with
 * `#` count for nothing.
 */
export function parseMasterKeys(text: string): MasterKeysOutcome {
  const entries = text.replace(/^\uFEFF/, "").split(/\r?\n/)
    .filter((line) => !line.trimStart().startsWith("#"))
    .flatMap((line) => line.split(","))
    .map((entry) => entry.trim())
    .filter((entry) => entry !== "");
  if (entries.length === 0) return invalid("there is none");
  if (entries.length > MAX_MASTER_KEYS) {
    return invalid(
      `there are ${entries.length} of them, ${MAX_MASTER_KEYS} is the most`,
    );
  }
  const keys: Uint8Array[] = [];
  for (const [index, entry] of entries.entries()) {
    const key = parseBase64Key(entry);
    if (key === undefined) {
      return invalid(
        `key ${index + 1} is no base64 of ${KEY_BYTES} bytes; ` +
          `"openssl rand -base64 ${KEY_BYTES}" makes one`,
      );
    }
    keys.push(key);
  }
  const fault = masterKeysFault(keys);
  return fault === undefined ? { kind: "ok", keys } : invalid(fault);
}

/** What is wrong with keys; undefined when they can be used. */
function masterKeysFault(
  keys: readonly Uint8Array[],
): string | undefined {
  if (keys.length === 0) return "there is none";
  const ids = new Set<string>();
  for (const [index, key] of keys.entries()) {
    const name = `key ${index + 1}`;
    if (key.length !== KEY_BYTES) {
      return `${name} has ${key.length} bytes, not ${KEY_BYTES}`;
    }
    if (key.every((byte) => byte === key[0])) {
      return `${name} is one byte over and over`;
    }
    const id = idOf(key);
    if (ids.has(id)) return `${name} is there before it already`;
    ids.add(id);
  }
  return undefined;
}

/**
 * Keys with their ids.
 *
 * @throws {RangeError} when one of them is none
 */
export function masterKeysOf(
  keys: readonly Uint8Array[],
): readonly MasterKey[] {
  const fault = masterKeysFault(keys);
  if (fault !== undefined) {
    throw new RangeError(`Cannot use master keys: ${fault}`);
  }
  return keys.map((key) => ({ id: idOf(key), secret: key.slice() }));
}

/** A file's text with one new key. */
function newMasterKeyText(): string {
  const key = new Uint8Array(randomBytes(KEY_BYTES)).toBase64();
  return "# The key that wraps the keys of all memories. Keep a copy of it\n" +
    "# apart from the backups of the data: without it no memory opens.\n" +
    `${key}\n`;
}

function idOf(key: Uint8Array): string {
  const digest = createHash("sha256").update("tercet master key id")
    .update(key).digest().subarray(0, KEY_ID_BYTES);
  return new Uint8Array(digest).toBase64({ alphabet: "base64url" });
}

function invalid(state: string): MasterKeysOutcome {
  return { kind: "invalid", reason: `Cannot read master keys: ${state}` };
}

/** Options of {@linkcode readMasterKeyFile}. */
export interface MasterKeyFileOptions {
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
): Promise<readonly Uint8Array[]> {
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
