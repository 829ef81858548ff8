/**
 * Master keys as settings and files hold them: keys of 256 bits that wrap all
 * other keys of a service.
 *
 * Each is base64 of 32 bytes, with or without an id of the operator's before
 * it: `<key id>:<base64>`. Commas or line ends stand between them, the current
 * key is the first, and lines that begin with `#` do not count.
 *
 * Without the setting, keys come from a file in the data folder that only its
 * owner may read; it is made with one key at the first start.
 *
 * @module
 */

import { sha256 } from "@noble/hashes/sha2.js";
import { syncFolder, tighten, writeDurableFile } from "./data_file.ts";
import type { Logger } from "./logger.ts";
import { readIfThere } from "./missing_file.ts";
import { quote } from "./quote.ts";
import { randomBytes } from "./random_bytes.ts";

/** A master key. */
export interface MasterKey {
  /** The id it was given, or its fingerprint. */
  readonly id: string;
  /**
   * An id computed from the key. Text that was sealed before the key was given
   * an id names it by this.
   */
  readonly fingerprint: string;
  /** The key, 32 bytes. */
  readonly secret: Uint8Array<ArrayBuffer>;
}

/** The outcome of reading master keys. */
type MasterKeysOutcome =
  | {
    readonly kind: "ok";
    /** The keys, at least one; the current one is the first. */
    readonly keys: readonly [MasterKey, ...MasterKey[]];
  }
  | {
    readonly kind: "invalid";
    /** What is wrong, as a message for the operator; holds no part of a key. */
    readonly reason: string;
  };

/** Bytes of a key of AES-256. */
export const KEY_BYTES = 32;

/** Most keys that are read. */
const MAX_MASTER_KEYS = 32;

const FINGERPRINT_BYTES = 9;
const FINGERPRINT_USE = new TextEncoder().encode("tercet master key id");

const BASE64_OF_KEY = /^[A-Za-z0-9+/_-]{43}=?$/;

/** Shorter than a base64 key, so that a key written as an id is refused. */
const KEY_ID = /^[A-Za-z0-9][A-Za-z0-9._-]{0,31}$/;

/** Reads the master keys of a setting or a file. */
export function parseMasterKeys(text: string): MasterKeysOutcome {
  const entries = parseEntries(text);
  if (entries.length > MAX_MASTER_KEYS) {
    return invalid(
      `there are ${entries.length} of them, ${MAX_MASTER_KEYS} is the most`,
    );
  }
  const keys: MasterKey[] = [];
  for (const entry of entries) {
    const key = parseEntry(entry);
    if (typeof key === "string") return invalid(key);
    for (const { id, fingerprint } of keys) {
      if (fingerprint === key.fingerprint) {
        return invalid(`${entry.place} is the key ${quote(id)} once more`);
      }
      if (id === key.id) {
        return invalid(
          `${entry.place} has the id ${quote(id)} of a key before it`,
        );
      }
    }
    keys.push(key);
  }
  const [current, ...older] = keys;
  return current === undefined
    ? invalid(
      "there is none; write one as base64 of 32 random bytes, or as " +
        "<key id>:<base64>",
    )
    : { kind: "ok", keys: [current, ...older] };
}

/**
 * A master key of these bytes, which are copied.
 *
 * @throws {RangeError} when they are not 32
 */
export function createMasterKey(bytes: Uint8Array, id?: string): MasterKey {
  if (bytes.length !== KEY_BYTES) {
    throw new RangeError(
      `Cannot use master key: it has ${bytes.length} bytes, not ${KEY_BYTES}`,
    );
  }
  const fingerprint = sha256.create().update(FINGERPRINT_USE).update(bytes)
    .digest().slice(0, FINGERPRINT_BYTES)
    .toBase64({ alphabet: "base64url" });
  return { id: id ?? fingerprint, fingerprint, secret: bytes.slice() };
}

/**
 * Finds the key that sealed text names: by its id, or else by its fingerprint.
 */
export function findMasterKey<
  Key extends Pick<MasterKey, "id" | "fingerprint">,
>(
  keys: readonly Key[],
  id: string,
): Key | undefined {
  return keys.find((key) => key.id === id) ??
    keys.find(({ fingerprint }) => fingerprint === id);
}

/** A key as it is written, and where. */
interface Entry {
  readonly place: string;
  readonly text: string;
}

function parseEntries(text: string): readonly Entry[] {
  const lines = text.replace(/^\uFEFF/, "").split(/\r?\n/)
    .map((line, index) => ({ number: index + 1, line }))
    .filter(({ line }) => !line.trimStart().startsWith("#"));
  return lines.flatMap(({ number, line }) =>
    line.split(",").map((entry, index) => ({
      place: /\n/.test(text) ? `line ${number}` : `entry ${index + 1}`,
      text: entry.trim(),
    }))
  ).filter((entry) => entry.text !== "");
}

/** Reads a key, or tells what is wrong with it. */
function parseEntry({ place, text }: Entry): MasterKey | string {
  const colon = text.indexOf(":");
  const id = colon === -1 ? undefined : text.slice(0, colon).trim();
  // The text in the id's place may be the key by mistake, so it isn't
  // quoted.
  if (id !== undefined && !KEY_ID.test(id)) {
    return `${place} has no key id before the ":" (1 to 32 letters, digits, ` +
      `".", "_" and "-")`;
  }
  const name = id === undefined ? place : `the key ${quote(id)}`;
  const bytes = parseBase64Key(text.slice(colon + 1).trim());
  if (bytes === undefined) {
    return `${name} is not base64 of ${KEY_BYTES} bytes; "openssl rand ` +
      `-base64 ${KEY_BYTES}" makes one`;
  }
  if (bytes.every((byte) => byte === bytes[0])) {
    return `${name} is one byte over and over; ` +
      `"openssl rand -base64 ${KEY_BYTES}" makes a random one`;
  }
  return createMasterKey(bytes, id);
}

/**
 * Reads base64 of 32 bytes, in the usual alphabet or that of URLs (RFC 4648),
 * with or without its padding; `undefined` when it is anything else.
 */
function parseBase64Key(text: string): Uint8Array<ArrayBuffer> | undefined {
  if (!BASE64_OF_KEY.test(text)) return undefined;
  const standard = text.replaceAll("-", "+").replaceAll("_", "/");
  try {
    return Uint8Array.fromBase64(`${standard.replace(/=$/, "")}=`, {
      lastChunkHandling: "strict",
    });
  } catch (error) {
    // Bits beyond the last byte: a mistyped key rather than another spelling.
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

function invalid(state: string): MasterKeysOutcome {
  return { kind: "invalid", reason: `Cannot read master keys: ${state}` };
}

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
  /** Explains the key to those who find the file; written as a comment. */
  readonly about: string;
  /** Logs a new file, and one that others could read. */
  readonly logger: Logger;
}

/** The name of the file. */
const MASTER_KEY_FILE = "master.key";

/** The bits of a file's mode that let others than its owner at it. */
const OTHERS = 0o077;

/**
 * Reads the master keys of a data folder, the current one first; makes one at
 * the first start.
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
    logger.info("created a master key; keep a copy of it", { file: path });
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

/** Writes the file so that a crash leaves the whole file or none. */
async function writeDurably(dataFolder: string, text: string): Promise<void> {
  const path = `${dataFolder}/${MASTER_KEY_FILE}`;
  const draft = `${path}.new`;
  await writeDurableFile(draft, new TextEncoder().encode(text));
  await Deno.rename(draft, path);
  await syncFolder(dataFolder);
}
