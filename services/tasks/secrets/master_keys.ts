/**
 * The ring of master keys that wrap the tenants' keys, and where it comes from.
 *
 * @module
 */

import { quote } from "../../shared/quote.ts";
import { describeError, settle } from "../../shared/settled.ts";
import { hkdf } from "@noble/hashes/hkdf.js";
import { sha256 } from "@noble/hashes/sha2.js";
import { createSecretKey, type KeyObject } from "node:crypto";
import {
  KEY_BYTES,
  type MasterKey,
  parseMasterKeys,
} from "../../shared/master_keys.ts";

/** A key to seal with and the id that sealed text names it by. */
export class SealingKey {
  /** Its id; no secret. */
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
    // Made when it is used: what it takes is loaded by its first use.
    return this.#secret ??= createSecretKey(this.#bytes);
  }

  /** A key for another use; from it this one can't be told. */
  derive(use: string): Uint8Array {
    const info = new TextEncoder().encode(use);
    return hkdf(sha256, this.#bytes, undefined, info, KEY_BYTES);
  }
}

/** A key that proves, and the id of the master key that gives it. */
export interface ProofKey {
  /** The id; no secret. */
  readonly id: string;
  /** The 256 bits. */
  readonly key: Uint8Array;
}

/** What makes a key that proves another one than all that seal. */
const PROOF_USE = "tercet tasks proofs";

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

  /** The key that sealed text names by its id, or else by its fingerprint. */
  find(id: string): SealingKey | undefined {
    return this.#keys.find((key) => key.id === id) ??
      this.#keys.find(({ fingerprint }) => fingerprint === id);
  }

  /**
   * What each key gives to prove with that nothing was taken out of the database,
   * the current one first.
   */
  proofKeys(): readonly ProofKey[] {
    return this.#keys.flatMap((sealing) => {
      const { id, fingerprint } = sealing;
      const key = sealing.derive(PROOF_USE);
      return [...new Set([id, fingerprint ?? id])]
        .map((name) => ({ id: name, key }));
    });
  }

  /** Ids of all keys, the current one first. */
  ids(): string[] {
    return this.#keys.map(({ id }) => id);
  }
}

/** Where master keys may be. */
interface MasterKeySource {
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

/** The outcome of opening the master keys. */
export type OpenKeysOutcome =
  | { readonly kind: "ok"; readonly masterKeys: MasterKeys }
  /** The setting says `none`: there are no secrets then. */
  | { readonly kind: "none" }
  | { readonly kind: "invalid"; readonly problem: string };

/** Opens the master keys; makes one when none is named and it may. */
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
    sealingKeyOf(current),
    older.map(sealingKeyOf),
  );
  return { kind: "ok", masterKeys };
}

function sealingKeyOf({ secret, ...names }: MasterKey): SealingKey {
  return new SealingKey(secret, names);
}
