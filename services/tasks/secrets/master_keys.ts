/**
 * The master keys, which wrap the tenants' keys: reads them from a setting or a
 * file, and makes a first one.
 *
 * @module
 */

import { quote } from "../../shared/quote.ts";
import { describeError, settle } from "../../shared/settled.ts";
import { createSecretKey, type KeyObject } from "node:crypto";
import {
  KEY_BYTES,
  type MasterKey,
  parseMasterKeys,
} from "../../shared/master_keys.ts";

/** A key for sealing, and the id by which sealed text names it. */
export class SealingKey {
  /** Another id by which sealed text may name the key. */
  readonly id: string;
  /** Another id that sealed text may name it by. */
  readonly fingerprint: string | undefined;
  readonly #bytes: Uint8Array;
  #secret: KeyObject | undefined;

  /** A key of these 256 bits. */
  constructor(
    bytes: Uint8Array,
    { id, fingerprint }: {
      readonly id: string;
      readonly fingerprint?: string | undefined;
    },
  ) {
    this.#bytes = bytes;
    this.id = id;
    this.fingerprint = fingerprint;
  }

  /** The 256 bits, in a form that no log and no JSON shows. */
  get secret(): KeyObject {
    // The object is made on first use, since that loads the code it needs.
    return this.#secret ??= createSecretKey(this.#bytes);
  }
}

/** A ring of keys: one that seals, and older ones that still open. */
export class MasterKeys {
  /** The key that seals from now on. */
  readonly current: SealingKey;
  readonly #keys: readonly SealingKey[];

  /** A ring whose current key is `current`; `older` ones only open. */
  constructor(current: SealingKey, older: readonly SealingKey[] = []) {
    this.current = current;
    this.#keys = [current, ...older];
  }

  /**
   * Finds the key that sealed text names, by its id or else by its fingerprint.
   */
  find(id: string): SealingKey | undefined {
    return this.#keys.find((key) => key.id === id) ??
      this.#keys.find(({ fingerprint }) => fingerprint === id);
  }

  /** Texts that are equal for equal keys, and from which no key follows. */
  fingerprints(): string[] {
    return this.#keys.map(({ id, fingerprint }) => fingerprint ?? id);
  }

  /** Ids of all keys, the current one first. */
  ids(): string[] {
    return this.#keys.map(({ id }) => id);
  }
}

/** Where the master keys are configured. */
interface MasterKeySource {
  /** The keys in a setting; empty when the setting has none. */
  readonly keys: string;
  /**
   * The file that has the keys; empty for the default file, `none` for no keys.
   */
  readonly file: string;
  /**
   * The file where a key is looked for, or made, when nothing is configured.
   */
  readonly defaultFile: string;
  /** Reads a text file; undefined when it is not there. */
  readonly read: (path: string) => Promise<string | undefined>;
  /**
   * Durably writes a new file that only its owner may read; rejects when the
   * file exists.
   * @default no key is made: a missing file is a problem
   */
  readonly create?: (path: string, text: string) => Promise<void>;
  /** Returns that many random bytes, which must be fit for keys. */
  readonly randomBytes: (length: number) => Uint8Array;
}

/** The outcome of opening the master keys. */
export type OpenKeysOutcome =
  | { readonly kind: "ok"; readonly masterKeys: MasterKeys }
  /** The setting says `none`: the service keeps no secrets. */
  | { readonly kind: "none" }
  | { readonly kind: "invalid"; readonly problem: string };

/**
 * Opens the master keys. Makes a first key when none is configured and `create`
 * is given.
 */
export async function openMasterKeys(
  source: MasterKeySource,
): Promise<OpenKeysOutcome> {
  const { keys, file, defaultFile, read, create } = source;
  if (keys !== "") return readRing(keys, "MASTER_KEYS");
  if (file === "none") return { kind: "none" };
  const path = file === "" ? defaultFile : file;
  const found = await settle(() => read(path));
  if (found.kind === "failed") {
    const from = file === "" ? "" : " (MASTER_KEYS_FILE)";
    return {
      kind: "invalid",
      problem: `Cannot read master keys: ${quote(path)}${from}: ` +
        describeError(found.error),
    };
  }
  const { value: text } = found;
  if (text !== undefined) return readRing(text, path);
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
  return readRing(made, path);
}

/** The text of a file with one new key. */
function newMasterKeyFile(
  randomBytes: (length: number) => Uint8Array,
): string {
  const id = `k${new Uint8Array(randomBytes(4)).toHex()}`;
  const key = new Uint8Array(randomBytes(KEY_BYTES)).toBase64();
  return "# The key that the tenants' secrets are sealed with. Keep a copy of\n" +
    "# it apart from the backups of the data: without it secrets are lost.\n" +
    `${id}:${key}\n`;
}

function readRing(text: string, where: string): OpenKeysOutcome {
  const parsed = parseMasterKeys(text);
  if (parsed.kind === "invalid") {
    return { kind: "invalid", problem: `${parsed.reason} (${where})` };
  }
  const [current, ...older] = parsed.keys;
  const masterKeys = new MasterKeys(
    toSealingKey(current),
    older.map(toSealingKey),
  );
  return { kind: "ok", masterKeys };
}

function toSealingKey({ secret, ...names }: MasterKey): SealingKey {
  return new SealingKey(secret, names);
}
