/**
 * Master keys: what everything else of the vault is wrapped by.
 *
 * @module
 */

import { createHash, randomBytes } from "node:crypto";
import { parseBase64Key } from "../../shared/base64_key.ts";
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
export function masterKeysFault(
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
export function newMasterKeyText(): string {
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
