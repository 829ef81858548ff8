/**
 * Finds the master keys that the settings name.
 *
 * @module
 */

import {
  type MasterKeys,
  parseMasterKeyFile,
  parseMasterKeys,
} from "./master_keys.ts";

/** Where master keys may be. */
export interface MasterKeySource {
  /** Keys in a setting; empty when they are elsewhere. */
  readonly keys: string;
  /** A file with keys; empty for the default one, `none` for no keys. */
  readonly file: string;
  /** Where a key is made when nothing else is said. */
  readonly defaultFile: string;
  /** Reads a text file; undefined when it is not there. */
  readonly read: (path: string) => Promise<string | undefined>;
  /**
   * Writes a new file that its owner alone may read, durably; rejects when it is
   * there.
   * @default no key is made: it is a problem when there is none
   */
  readonly create?: (path: string, text: string) => Promise<void>;
  /** Gives that many random bytes, fit for keys. */
  readonly randomBytes: (length: number) => Uint8Array;
}

/** What opening them comes to. */
export type OpenKeysOutcome =
  | { readonly kind: "ok"; readonly masterKeys: MasterKeys }
  /** None are wanted: there are no secrets then. */
  | { readonly kind: "none" }
  | { readonly kind: "invalid"; readonly problem: string };

/** Opens the master keys; makes one when none is named and it may. */
export async function openMasterKeys(
  source: MasterKeySource,
): Promise<OpenKeysOutcome> {
  const { keys, file, defaultFile, read, create } = source;
  if (keys !== "") return outcomeOf(parseMasterKeys(keys), "MASTER_KEYS");
  if (file === "none") return { kind: "none" };
  const path = file === "" ? defaultFile : file;
  const text = await read(path);
  if (text !== undefined) return outcomeOf(parseMasterKeyFile(text), path);
  if (file !== "") {
    return {
      kind: "invalid",
      problem: `Cannot read master keys: there is no file "${path}"; ` +
        "MASTER_KEYS_FILE names it",
    };
  }
  if (create === undefined) {
    return {
      kind: "invalid",
      problem: `Cannot read master keys: there is no file "${path}", and ` +
        "neither MASTER_KEYS nor MASTER_KEYS_FILE is set",
    };
  }
  const made = newMasterKeyFile(source.randomBytes);
  await create(path, made);
  return outcomeOf(parseMasterKeyFile(made), path);
}

/** The text of a file with one new key. */
function newMasterKeyFile(
  randomBytes: (length: number) => Uint8Array,
): string {
  const id = `k${Array.from(randomBytes(4), hex).join("")}`;
  const key = btoa(String.fromCharCode(...randomBytes(32)));
  return "# The key that the tenants' secrets are sealed with. Keep a copy of\n" +
    "# it apart from the backups of the data: without it secrets are lost.\n" +
    `${id}:${key}\n`;
}

function hex(byte: number): string {
  return byte.toString(16).padStart(2, "0");
}

function outcomeOf(
  parsed: ReturnType<typeof parseMasterKeys>,
  where: string,
): OpenKeysOutcome {
  return parsed.kind === "ok"
    ? { kind: "ok", masterKeys: parsed.masterKeys }
    : { kind: "invalid", problem: `${parsed.reason} (${where})` };
}
