/**
 * Makes, keeps and opens owners' keys that are with key servers. Each owner has
 * a key pair, whose private half is encrypted for a threshold of key servers.
 * The public half is kept here and seals new memories without a session. The
 * private half comes back only with a session, in which a delegate's signature
 * stands for the owner. An owner gets a new key after a delegate was removed,
 * and after 30 days. An older key is wrapped under the newer one once both are
 * open, so that key servers are asked for one key only.
 *
 * @module
 */

import { BcsWriter } from "../../../sdk/vault/bcs.ts";
import { readEncryptedObject } from "../../../sdk/vault/encrypted_object.ts";
import type { Clock } from "../../shared/clock.ts";
import { describeError } from "../../shared/settled.ts";
import { SharedCalls } from "../concurrency/shared_calls.ts";
import { FreshEntries } from "./fresh_entries.ts";
import {
  buildIdentity,
  type DatedKey,
  datedKey,
  formatAudience,
  isIdentityOf,
  type KeptOwnerKey,
  ownerKeyId,
} from "./kept_owner_key.ts";
import {
  newOwnerKeyPair,
  type OwnerKeyPair,
  toOwnerKeyPair,
} from "./memory_key.ts";
import { OpenedOwnerKeys, unwrapOlder } from "./opened_owner_keys.ts";
import { askKeyServers, type KeyServerParts } from "./owner_key_request.ts";
import { OwnerSessions } from "./owner_sessions.ts";
import type { OpenFailure } from "./vault.ts";

/** The store of owners' keys. */
interface OwnerKeyStore {
  /** For how many milliseconds keys that were read may be used. */
  readonly maxAgeMs: number;
  /** An owner's keys, in any order. */
  ownerKeys(owner: string): Promise<readonly KeptOwnerKey[]>;
  /**
   * Adds a key, or sets the link of an existing one; durable when it resolves.
   */
  putOwnerKey(owner: string, key: KeptOwnerKey): Promise<void>;
}

/** Options of {@linkcode OwnerKeys}. */
interface OwnerKeysOptions extends KeyServerParts {
  /** Object ids of the key servers that keys are encrypted for. */
  readonly keyServerIds: readonly string[];
  /** How many of these key servers are needed to open a key. */
  readonly threshold: number;
  /** Keeps keys. */
  readonly store: OwnerKeyStore;
  /** Tells the time. */
  readonly clock: Clock;
  /**
   * Most opened keys, and most sessions, that are kept in memory.
   *
   * @default {4096}
   */
  readonly maxOwners?: number | undefined;
}

/** The part of an owner's key that seals new memories. */
type OwnerPublicKey = Pick<
  KeptOwnerKey,
  "id" | "encrypted" | "publicKey"
>;

/** The outcome of opening an owner's key. */
type OwnerKeyOutcome =
  | {
    readonly kind: "ok";
    /** The key's id. */
    readonly id: string;
    /** The key; it is the caller's own copy, to be overwritten after use. */
    readonly pair: OwnerKeyPair;
  }
  | { readonly kind: "failed"; readonly why: OpenFailure };

/** How long an owner's key seals new memories before a new one replaces it. */
const MAX_AGE_MS = 30 * 86_400_000;
const MAX_OWNERS = 4_096;

/** Makes, keeps and opens owners' keys. */
export class OwnerKeys {
  /** The sessions that speak for owners. */
  readonly sessions: OwnerSessions;
  readonly #options: OwnerKeysOptions;
  readonly #opened: OpenedOwnerKeys;
  /** Stored keys by owner, the newest first. */
  readonly #kept: FreshEntries<readonly DatedKey[]>;
  readonly #making = new SharedCalls<OwnerPublicKey>();
  readonly #opening = new SharedCalls<OpenFailure | undefined>();

  /** Starts without any opened key. */
  constructor(options: OwnerKeysOptions) {
    this.#options = options;
    const { packageId, clock, maxOwners = MAX_OWNERS } = options;
    this.sessions = new OwnerSessions({ packageId, clock, maxOwners });
    this.#opened = new OpenedOwnerKeys(maxOwners, clock);
    this.#kept = new FreshEntries({
      maxEntries: maxOwners,
      maxAgeMs: () => options.store.maxAgeMs,
      clock,
    });
  }

  /** Overwrites all keys and sessions. */
  stop(): void {
    this.#options.opening.stop();
    this.#opened.clear();
    this.#kept.clear();
    this.sessions.clear();
  }

  /**
   * Returns the key that seals an owner's new memories. Makes a new one if the
   * owner has none. It also does so if a delegate lost access, the key servers
   * changed or too much time passed since the newest was made. No key server is
   * asked.
   *
   * @throws {Error} When the owner has no account, or the account cannot be
   * read and the owner has no key.
   */
  async current(owner: string): Promise<OwnerPublicKey> {
    const found = await this.#options.findAccount(owner);
    const [newest] = await this.#loadKeys(owner);
    // Memories are sealed while the ledger is away, too.
    if (found.kind === "unavailable" && newest !== undefined) return newest;
    if (found.kind !== "ok") {
      throw new Error(
        found.kind === "missing"
          ? "Cannot seal: the owner has no account"
          : "Cannot seal: the ledger does not answer",
      );
    }
    const { accessCounter } = found.account;
    // A key that was encrypted for former key servers seals no new memories.
    if (
      newest !== undefined && newest.accessCounter === accessCounter &&
      newest.audience === this.#audience &&
      !this.#isToBeReplaced(owner, newest)
    ) return newest;
    return await this.#making.run(
      `${owner} ${accessCounter}`,
      () => this.#make(owner, { accessCounter, newest }),
    );
  }

  get #audience(): string {
    const { packageId, keyServerIds, threshold } = this.#options;
    return formatAudience({ packageId, keyServerIds, threshold });
  }

  /** Opens an owner's encrypted key; asks the key servers unless it is open. */
  async open(owner: string, encrypted: Uint8Array): Promise<OwnerKeyOutcome> {
    const id = ownerKeyId(encrypted);
    const known = this.#opened.copy(owner, id);
    if (known !== undefined) return { kind: "ok", id, pair: known };
    const why = await this.#opening.run(
      `${owner} ${id}`,
      () => this.#open(owner, { id, encrypted }),
    );
    if (why !== undefined) return failed(why);
    const pair = this.#opened.copy(owner, id);
    // Evicted already: this takes thousands of other owners within one turn.
    return pair === undefined ? failed("unavailable") : {
      kind: "ok",
      ...{ id, pair },
    };
  }

  /**
   * Stores a key that has opened one of the owner's memories, unless it is
   * stored, as after memories were restored here. Call it only for a key that a
   * memory was opened with: everybody can encrypt a key for an owner.
   */
  async adopt(owner: string, id: string): Promise<void> {
    const kept = await this.#loadKeys(owner);
    if (kept.some((key) => key.id === id)) return;
    const opened = this.#opened.get(owner, id);
    if (opened === undefined) return;
    const { encrypted, publicKey } = opened;
    await this.#tryPut(owner, { id, encrypted, publicKey });
  }

  /** Tells whether a key is too old, and open so that it can be linked. */
  #isToBeReplaced(owner: string, { id, madeAtMs }: DatedKey): boolean {
    const ageMs = this.#options.clock.nowMs() - madeAtMs;
    // A negative age counts as old: a clock that was set back prolongs no key.
    const isYoung = ageMs >= 0 && ageMs < MAX_AGE_MS;
    return !isYoung && this.#opened.get(owner, id) !== undefined;
  }

  async #make(
    owner: string,
    { accessCounter, newest }: {
      readonly accessCounter: bigint | undefined;
      readonly newest: DatedKey | undefined;
    },
  ): Promise<OwnerPublicKey> {
    const { packageId, opening, clock } = this.#options;
    const madeAtMs = Math.max(0, Math.floor(clock.nowMs()));
    const { secret, publicKey } = newOwnerKeyPair();
    const encrypted = await opening.encrypt({
      packageId,
      id: buildIdentity(owner, accessCounter),
      data: secret,
      aad: new BcsWriter().u64(BigInt(madeAtMs)).toBytes(),
    });
    const id = ownerKeyId(encrypted);
    const key = { id, encrypted, publicKey };
    await this.#put(owner, key);
    this.#opened.keep(owner, { id, encrypted, secret, publicKey });
    if (newest !== undefined) await this.#link(owner, newest);
    return key;
  }

  /** Opens a key; returns undefined, or why it does not open. */
  async #open(
    owner: string,
    { id, encrypted }: Pick<KeptOwnerKey, "id" | "encrypted">,
  ): Promise<OpenFailure | undefined> {
    const kept = await this.#loadKeys(owner);
    const key = kept.find((one) => one.id === id);
    if (key?.link !== undefined) {
      const { newerId, wrapped } = key.link;
      const newer = kept.find((one) => one.id === newerId);
      if (newer !== undefined) {
        const outcome = await this.open(owner, newer.encrypted);
        if (outcome.kind === "failed") return outcome.why;
        const secret = unwrapOlder(wrapped, { owner, id, newer: outcome.pair });
        outcome.pair.secret.fill(0);
        if (secret !== undefined) {
          const pair = toOwnerKeyPair(secret);
          this.#opened.keep(owner, { id, encrypted, ...pair });
          return undefined;
        }
      }
    }
    const read = readEncryptedObject(encrypted);
    if (read.kind === "invalid") return "damaged";
    const { object } = read;
    const isOwn = object.packageId === this.#options.packageId &&
      isIdentityOf(owner, object.id);
    if (!isOwn) return "key_gone";
    const secret = await askKeyServers(owner, {
      ...this.#options,
      ...{ encrypted, identity: object.id, sessions: this.sessions },
    });
    if (typeof secret === "string") return secret;
    this.#opened.keep(owner, { id, encrypted, ...toOwnerKeyPair(secret) });
    if (key !== undefined) await this.#link(owner, key);
    return undefined;
  }

  /** Wraps an older key under the newest one, where both are open. */
  async #link(owner: string, older: DatedKey): Promise<void> {
    const [newest] = await this.#loadKeys(owner);
    if (newest === undefined || newest.id === older.id) return;
    if (older.link?.newerId === newest.id) return;
    const newerId = newest.id;
    const wrapped = this.#opened.wrap(owner, { id: older.id, newerId });
    if (wrapped === undefined) return;
    await this.#tryPut(owner, { ...older, link: { newerId, wrapped } });
  }

  /** Stores a key but only logs a failure: the key just saves work later. */
  async #tryPut(owner: string, key: KeptOwnerKey): Promise<void> {
    try {
      await this.#put(owner, key);
    } catch (error) {
      this.#options.logger.warn("Cannot keep an owner's key", {
        error: describeError(error),
      });
    }
  }

  async #put(owner: string, key: KeptOwnerKey): Promise<void> {
    try {
      await this.#options.store.putOwnerKey(owner, key);
    } finally {
      this.#kept.drop(owner);
    }
  }

  async #loadKeys(owner: string): Promise<readonly DatedKey[]> {
    const known = this.#kept.get(owner);
    if (known !== undefined) return known;
    return await this.#kept.read(owner, async (reading) => {
      const kept = await this.#options.store.ownerKeys(owner);
      const keys = kept.flatMap(datedKey).sort((left, right) =>
        Number((right.accessCounter ?? 0n) - (left.accessCounter ?? 0n)) ||
        right.madeAtMs - left.madeAtMs
      );
      // One was put meanwhile, which these may lack.
      if (reading.isDropped) return await this.#loadKeys(owner);
      this.#kept.keep(reading, keys);
      return keys;
    });
  }
}

function failed(why: OpenFailure): OwnerKeyOutcome {
  return { kind: "failed", why };
}
