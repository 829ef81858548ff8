/**
 * The master keys: what every tenant's own key is wrapped with.
 *
 * @module
 */

import { createSecretKey, hkdfSync, type KeyObject } from "node:crypto";
import { parseBase64Key } from "../../shared/base64_key.ts";
import { quote } from "../../shared/quote.ts";

/** A key to seal with and the id that sealed text names it by. */
export interface SealingKey {
  /** Its id; no secret. */
  readonly id: string;
  /** The 256 bits, in a form that no log and no JSON shows. */
  readonly secret: KeyObject;
}

/** What reading master keys comes to. */
export type MasterKeysOutcome =
  | { readonly kind: "ok"; readonly masterKeys: MasterKeys }
  | {
    readonly kind: "invalid";
    /** What is wrong, as a message for the operator; holds no part of a key. */
    readonly reason: string;
  };

/** A key that proves, and the id of the master key that gives it. */
export interface ProofKey {
  /** The id; no secret. */
  readonly id: string;
  /** The 256 bits. */
  readonly key: Uint8Array;
}

/** What makes a key that proves another one than all that seal. */
const PROOF_USE = "tercet tasks proofs";

/** Bytes of a key of AES-256. */
export const KEY_BYTES = 32;

/** Keys that a ring holds at most. */
export const MAX_MASTER_KEYS = 32;

/** Shorter than any key in base64, so that a key in the id's place is no id. */
const KEY_ID = /^[A-Za-z0-9][A-Za-z0-9._-]{0,31}$/;

/** A ring of keys: one that seals, and older ones that still open. */
export class MasterKeys {
  /** The key that seals from now on. */
  readonly current: SealingKey;
  readonly #keys: ReadonlyMap<string, SealingKey>;

  /** A ring whose current key is `current`; `older` ones only open. */
  constructor(current: SealingKey, older: readonly SealingKey[] = []) {
    this.current = current;
    this.#keys = new Map([...older, current].map((key) => [key.id, key]));
  }

  /** The key with this id, `undefined` when the ring has none. */
  find(id: string): SealingKey | undefined {
    return this.#keys.get(id);
  }

  /**
   * What each key gives to prove with that nothing was taken out of the database,
   * the current one first.
   */
  proofKeys(): readonly ProofKey[] {
    return this.ids().flatMap((id) => {
      const secret = this.find(id)?.secret;
      if (secret === undefined) return [];
      const key = hkdfSync("sha256", secret, "", PROOF_USE, KEY_BYTES);
      return [{ id, key: new Uint8Array(key) }];
    });
  }

  /** Ids of all keys, the current one first. */
  ids(): string[] {
    const older = [...this.#keys.keys()].filter((id) => id !== this.current.id);
    return [this.current.id, ...older];
  }
}

/**
 * Reads master keys as a setting holds them: `<key id>:<base64 of 32 bytes>`,
 * several with commas between them, the first being the current one.
 */
export function parseMasterKeys(text: string): MasterKeysOutcome {
  const entries = text.split(",").map((entry, index) => ({
    place: `entry ${index + 1}`,
    text: entry.trim(),
  }));
  return build(text.trim() === "" ? [] : entries);
}

/**
 * Reads master keys as a file holds them: one `<key id>:<base64 of 32 bytes>` a
 * line, the first being the current one. Empty lines and those that begin with
 * `#` count for nothing.
 */
export function parseMasterKeyFile(content: string): MasterKeysOutcome {
  const lines = content.replace(/^\uFEFF/, "").split(/\r?\n/);
  const entries = lines.map((line, index) => ({
    place: `line ${index + 1}`,
    text: line.trim(),
  })).filter(({ text }) => text !== "" && !text.startsWith("#"));
  return build(entries);
}

/** One key as it is written, and where. */
interface Entry {
  readonly place: string;
  readonly text: string;
}

function build(entries: readonly Entry[]): MasterKeysOutcome {
  if (entries.length > MAX_MASTER_KEYS) {
    return invalid(
      `there are ${entries.length} of them, ${MAX_MASTER_KEYS} is the most`,
    );
  }
  const keys: SealingKey[] = [];
  for (const entry of entries) {
    const key = readEntry(entry);
    if (typeof key === "string") return invalid(key);
    const twin = keys.find(({ id, secret }) =>
      id === key.id || secret.equals(key.secret)
    );
    if (twin !== undefined) {
      return invalid(
        twin.id === key.id
          ? `${entry.place} has the id ${quote(key.id)} of a key before it`
          : `${entry.place} is the key ${quote(twin.id)} once more`,
      );
    }
    keys.push(key);
  }
  const [current, ...older] = keys;
  if (current === undefined) {
    return invalid(
      "there is none; write one as <key id>:<base64 of 32 random bytes>",
    );
  }
  return { kind: "ok", masterKeys: new MasterKeys(current, older) };
}

/** Reads a key, or tells what is wrong with it. */
function readEntry({ place, text }: Entry): SealingKey | string {
  const colon = text.indexOf(":");
  if (colon === -1) {
    return `${place} has no ":" between a key id and the key in base64`;
  }
  const id = text.slice(0, colon).trim();
  // What stands in the id's place may be the key by mistake, so it isn't quoted.
  if (!KEY_ID.test(id)) {
    return `${place} has no key id before the ":" (1 to 32 letters, digits, ` +
      `".", "_" and "-")`;
  }
  const bytes = parseBase64Key(text.slice(colon + 1).trim());
  if (bytes === undefined) {
    return `the key ${quote(id)} is no base64 of ${KEY_BYTES} bytes; ` +
      `"openssl rand -base64 ${KEY_BYTES}" makes one`;
  }
  if (bytes.every((byte) => byte === bytes[0])) {
    return `the key ${quote(id)} is one byte over and over; ` +
      `"openssl rand -base64 ${KEY_BYTES}" makes a random one`;
  }
  return { id, secret: createSecretKey(bytes) };
}

function invalid(state: string): MasterKeysOutcome {
  return { kind: "invalid", reason: `Cannot read master keys: ${state}` };
}
