/**
 * Root keys: owners' keys are derived from them, and master keys wrap them.
 *
 * Each master key that ever was the current one has a root key of its own. A
 * new current master key gets a new root key, which seals from then on. It also
 * wraps all older root keys, so that the old master key can be removed after
 * one start.
 *
 * Several relayers may have the same root keys. One that starts with a new
 * master key makes a root key. The others learn it when they meet an envelope
 * of it, and by then need that master key, after their own.
 *
 * @module
 */

import { hkdfSync, randomBytes } from "node:crypto";
import { findMasterKey, type MasterKey } from "../../shared/master_keys.ts";
import { describeError } from "../../shared/settled.ts";
import { KEY_BYTES, openEnvelope, sealEnvelope } from "./envelope.ts";
import { readEnvelope } from "./envelope_head.ts";
import type { KeyRows, WrappedRoot } from "./key_rows.ts";

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
  readonly #rows: KeyRows;
  /** What opens root keys of later; empty where this process alone makes any. */
  readonly #masters: readonly MasterKey[];
  readonly #keys: RootKey[];
  readonly #current: RootKey;
  /** Reads root keys for all who miss one. */
  #learning: Promise<string | undefined> | undefined;

  private constructor(
    rows: KeyRows,
    parts: {
      readonly masters: readonly MasterKey[];
      readonly keys: RootKey[];
      readonly current: RootKey;
    },
  ) {
    this.#rows = rows;
    this.#masters = parts.masters;
    this.#keys = parts.keys;
    this.#current = parts.current;
  }

  /**
   * Opens the root keys; makes one for a new master key.
   *
   * @param masters the current one first; they stay the caller's
   * @throws {Error} when one cannot be opened
   */
  static async open(
    rows: KeyRows,
    masters: readonly MasterKey[],
  ): Promise<RootKeys> {
    const [currentMaster] = masters;
    if (currentMaster === undefined) {
      throw new RangeError("Cannot open the vault: there is no master key");
    }
    let keys: RootKey[] = [];
    const plan = (there: readonly WrappedRoot[]): readonly WrappedRoot[] => {
      for (const { secret } of keys.splice(0)) secret.fill(0);
      keys = openRoots(there, { masters, place: rows.place });
      const isNew = !keys.some(({ masterId }) => masterId === currentMaster.id);
      if (isNew) keys.push(newRoot(currentMaster));
      const needsWrapping = isNew ||
        there.some(({ wrapped }) => readMasterId(wrapped) !== currentMaster.id);
      return needsWrapping
        ? keys.map((key) => wrapRoot(key, currentMaster))
        : [];
    };
    try {
      // Nothing is written where nothing has to be.
      if (plan(await rows.roots()).length > 0) await rows.changeRoots(plan);
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
    const kept = rows.maxAgeMs === Infinity
      ? []
      : masters.map((key) => ({ ...key, secret: key.secret.slice() }));
    return new RootKeys(rows, { masters: kept, keys, current });
  }

  /** Whether there is a root key of this id. */
  has(rootId: string): boolean {
    return this.#keys.some(({ id }) => id === rootId);
  }

  /**
   * Looks for a root key that another relayer has made since.
   *
   * @returns undefined when it is there now; `none` when there is none of this
   * id; else why it does not open
   */
  async learn(
    rootId: string,
  ): Promise<
    undefined | { readonly kind: "none" } | {
      readonly kind: "locked";
      readonly reason: string;
    }
  > {
    if (this.#masters.length === 0) return { kind: "none" };
    for (let tries = 0; tries < 2; tries++) {
      // The second look has begun after this call, as the first may not have.
      const reason = await (this.#learning ??= this.#readNew().finally(() =>
        this.#learning = undefined
      ));
      if (this.has(rootId)) {
        return undefined;
      }
      if (reason !== undefined) {
        return { kind: "locked", reason };
      }
    }
    return { kind: "none" };
  }

  /** Opens root keys that were added; returns why one does not open. */
  async #readNew(): Promise<string | undefined> {
    const { place } = this.#rows;
    let reason: string | undefined;
    for (const root of await this.#rows.roots()) {
      if (this.has(root.id)) continue;
      try {
        this.#keys.push(openRoot(root, { masters: this.#masters, place }));
      } catch (error) {
        reason = describeError(error);
      }
    }
    return reason;
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
    for (const { secret } of this.#masters) secret.fill(0);
    for (const { secret } of this.#keys) secret.fill(0);
  }
}

/**
 * Demands that master keys open root keys.
 *
 * @throws {Error} when one does not open
 */
export function demandMasterKeys(
  roots: readonly WrappedRoot[],
  of: {
    /** The master keys. */
    readonly masters: readonly MasterKey[];
    /** Where the root keys are, for people. */
    readonly place: string;
  },
): void {
  for (const { secret } of openRoots(roots, of)) secret.fill(0);
}

/** Opens root keys, all of them or none. */
function openRoots(
  there: readonly WrappedRoot[],
  of: { readonly masters: readonly MasterKey[]; readonly place: string },
): RootKey[] {
  const keys: RootKey[] = [];
  try {
    for (const root of there) keys.push(openRoot(root, of));
    return keys;
  } catch (error) {
    for (const { secret } of keys) secret.fill(0);
    throw error;
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
  { masters, place }: {
    readonly masters: readonly MasterKey[];
    readonly place: string;
  },
): RootKey {
  const outcome = readEnvelope(wrapped);
  if (outcome.kind !== "ok" || outcome.head.kind !== "root_key") {
    throw new Error(
      `Cannot open the vault: the root key "${id}" in ${place} is ` +
        (outcome.kind === "unknown" ? "of a later program" : "damaged"),
    );
  }
  const { head } = outcome;
  const master = findMasterKey(masters, head.keyId);
  if (master === undefined) {
    throw new Error(
      `Cannot open the vault: ${place} needs the master key "${head.keyId}", ` +
        "which is not among those given; add it after the current one",
    );
  }
  const secret = openEnvelope(wrapped, head, {
    key: master.secret,
    context: [id, masterId],
  });
  if (secret?.length !== KEY_BYTES) {
    throw new Error(
      `Cannot open the vault: the root key "${id}" in ${place} is damaged`,
    );
  }
  return { id, masterId, secret };
}

function readMasterId(wrapped: Uint8Array): string | undefined {
  const outcome = readEnvelope(wrapped);
  return outcome.kind === "ok" ? outcome.head.keyId : undefined;
}
