/**
 * Root keys: owners' keys are derived from them, and master keys wrap them.
 *
 * Each master key that ever was the current one has a root key of its own. A
 * new current master key gets a new root key, which seals from then on, and all
 * older root keys are wrapped by the new master key, so that the old master key
 * can be removed after one start.
 *
 * @module
 */

import { hkdfSync, randomBytes } from "node:crypto";
import { findMasterKey, type MasterKey } from "../../shared/master_keys.ts";
import {
  KEY_BYTES,
  openEnvelope,
  readEnvelope,
  sealEnvelope,
} from "./envelope.ts";
import type { KeyDatabase, WrappedRoot } from "./key_database.ts";

/** What a derived key is for. */
export type KeyPurpose = "data key" | "index" | "digest";

/** A root key. */
interface RootKey {
  readonly id: string;
  readonly masterId: string;
  readonly secret: Uint8Array;
}

const ROOT_ID_BYTES = 9;
const SALT = "tercet relayer vault 1";

/** The root keys of a vault, opened. */
export class RootKeys {
  readonly #keys: readonly RootKey[];
  readonly #current: RootKey;

  private constructor(keys: readonly RootKey[], current: RootKey) {
    this.#keys = keys;
    this.#current = current;
  }

  /**
   * Opens the root keys of a database; makes one for a new master key.
   *
   * @param masters the current one first
   * @throws {Error} when one cannot be opened
   */
  static async open(
    database: KeyDatabase,
    masters: readonly MasterKey[],
  ): Promise<RootKeys> {
    const [currentMaster] = masters;
    if (currentMaster === undefined) {
      throw new RangeError("Cannot open the vault: there is no master key");
    }
    const there = database.roots();
    const keys: RootKey[] = [];
    try {
      for (const root of there) keys.push(openRoot(root, masters));
      const isNew = !keys.some(({ masterId }) => masterId === currentMaster.id);
      if (isNew) keys.push(newRoot(currentMaster));
      const needsWrapping = isNew ||
        there.some(({ wrapped }) => readMasterId(wrapped) !== currentMaster.id);
      if (needsWrapping) {
        await database.putRoots(
          keys.map((key) => wrapRoot(key, currentMaster)),
        );
      }
    } catch (error) {
      for (const { secret } of keys) secret.fill(0);
      throw error;
    }
    const current = keys.findLast(({ masterId }) =>
      masterId === currentMaster.id
    );
    if (current === undefined) {
      throw new Error("Cannot open the vault: it has no root key");
    }
    return new RootKeys(keys, current);
  }

  /** The id of the root key that seals. */
  get currentId(): string {
    return this.#current.id;
  }

  /** The id of the first root key of all, which never changes. */
  get firstId(): string {
    return this.#keys[0]?.id ?? this.#current.id;
  }

  /**
   * Derives an owner's key (HKDF-SHA256, RFC 5869); undefined when there is no
   * such root key.
   */
  derive(
    rootId: string,
    purpose: KeyPurpose,
    owner: string,
  ): Uint8Array | undefined {
    const root = this.#keys.find(({ id }) => id === rootId);
    if (root === undefined) return undefined;
    const info = `${purpose}\0${owner}`;
    return new Uint8Array(
      hkdfSync("sha256", root.secret, SALT, info, KEY_BYTES),
    );
  }

  /** Overwrites all root keys. */
  wipe(): void {
    for (const { secret } of this.#keys) secret.fill(0);
  }
}

function newRoot(master: MasterKey): RootKey {
  const id = new Uint8Array(randomBytes(ROOT_ID_BYTES))
    .toBase64({ alphabet: "base64url" });
  // Made in place: the source of a copy would not be overwritten.
  const secret = crypto.getRandomValues(new Uint8Array(KEY_BYTES));
  return { id, masterId: master.id, secret };
}

function wrapRoot(
  { id, masterId, secret }: RootKey,
  master: MasterKey,
): WrappedRoot {
  const wrapped = sealEnvelope(secret, {
    kind: "root_key",
    keyId: master.id,
    key: master.secret,
    context: [id, masterId],
  });
  return { id, masterId, wrapped };
}

function openRoot(
  { id, masterId, wrapped }: WrappedRoot,
  masters: readonly MasterKey[],
): RootKey {
  const outcome = readEnvelope(wrapped);
  if (outcome.kind !== "ok" || outcome.head.kind !== "root_key") {
    throw new Error(
      `Cannot open the vault: the root key "${id}" in "keys.db" is ` +
        (outcome.kind === "unknown" ? "of a later program" : "damaged"),
    );
  }
  const { head } = outcome;
  const master = findMasterKey(masters, head.keyId);
  if (master === undefined) {
    throw new Error(
      `Cannot open the vault: "keys.db" needs the master key "${head.keyId}", ` +
        "which is not among those given; add it after the current one",
    );
  }
  const secret = openEnvelope(wrapped, head, {
    key: master.secret,
    context: [id, masterId],
  });
  if (secret?.length !== KEY_BYTES) {
    throw new Error(
      `Cannot open the vault: the root key "${id}" in "keys.db" is damaged`,
    );
  }
  return { id, masterId, secret };
}

function readMasterId(wrapped: Uint8Array): string | undefined {
  const outcome = readEnvelope(wrapped);
  return outcome.kind === "ok" ? outcome.head.keyId : undefined;
}
