/**
 * Makes, keeps and opens owners' keys that are with key servers. Each owner has
 * a key pair, whose private half is encrypted for a threshold of key servers.
 * The public half is kept here and seals new memories, so that no session is
 * needed for that; getting the private half back takes a session, in which a
 * delegate's signature stands for the owner. An owner gets a new key after a
 * delegate was removed, and after 30 days. An older key is wrapped under the
 * newer one once both are open, so that key servers are asked for one key only.
 *
 * @module
 */

import { createHash, hkdfSync } from "node:crypto";
import { writeApproval } from "../../../sdk/vault/approval.ts";
import { BcsReader, BcsWriter } from "../../../sdk/vault/bcs.ts";
import {
  readEncryptedObject,
  type SealedData,
} from "../../../sdk/vault/encrypted_object.ts";
import { BoundedMap } from "../../shared/bounded_map.ts";
import type { Clock } from "../../shared/clock.ts";
import type { Logger } from "../../shared/logger.ts";
import { describeError } from "../../shared/settled.ts";
import { KEY_BYTES, openEnvelope, sealEnvelope } from "./envelope.ts";
import { readEnvelope } from "./envelope_head.ts";
import type { KeyOpening } from "./key_opening.ts";
import {
  newOwnerKeyPair,
  type OwnerKeyPair,
  toOwnerKeyPair,
} from "./memory_key.ts";
import { FreshEntries } from "./fresh_entries.ts";
import { OwnerSessions } from "./owner_sessions.ts";
import type { OpenFailure } from "./vault.ts";

/** The account on the ledger by which key servers decide who gets keys. */
interface OwnerAccount {
  /** The object id of the account. */
  readonly accountId: string;
  /** The version in which it became shared. */
  readonly initialVersion: bigint;
  /**
   * How often access was taken away from a delegate; undefined where the contract does
   * not count that.
   */
  readonly accessCounter: bigint | undefined;
}

/** The outcome of looking an owner's account up. */
export type OwnerAccountOutcome =
  | { readonly kind: "ok"; readonly account: OwnerAccount }
  | { readonly kind: "missing" }
  | { readonly kind: "unavailable" };

/** An owner's key as it is stored. */
export interface KeptOwnerKey {
  /** The SHA-256 of `encrypted`, in hexadecimal digits. */
  readonly id: string;
  /** Its private half, encrypted for the key servers. */
  readonly encrypted: Uint8Array;
  /** Its public half, 32 bytes. */
  readonly publicKey: Uint8Array;
  /** The id of a newer key, and the private half wrapped under that key. */
  readonly link?:
    | { readonly newerId: string; readonly wrapped: Uint8Array }
    | undefined;
}

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
interface OwnerKeysOptions {
  /** The package whose function decides who gets keys. */
  readonly packageId: string;
  /** Encrypts and opens keys; stopped with {@linkcode OwnerKeys}. */
  readonly opening: KeyOpening;
  /** Object ids of the key servers that keys are encrypted for. */
  readonly keyServerIds: readonly string[];
  /** How many of these key servers are needed to open a key. */
  readonly threshold: number;
  /** Keeps keys. */
  readonly store: OwnerKeyStore;
  /** Finds an owner's account. */
  readonly findAccount: (owner: string) => Promise<OwnerAccountOutcome>;
  /** Tells the time. */
  readonly clock: Clock;
  /** Logs keys that cannot be opened or stored. */
  readonly logger: Logger;
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

/** An owner's key, with data read from its encrypted private half. */
interface DatedKey extends KeptOwnerKey {
  readonly accessCounter: bigint | undefined;
  readonly madeAtMs: number;
  /** The package, the key servers and how many of them are needed, as a text. */
  readonly audience: string;
}

/** An opened key. */
interface OpenedKey extends OwnerKeyPair {
  readonly encrypted: Uint8Array;
  /** When the key stops counting as open, in milliseconds since the epoch. */
  readonly endsAtMs: number;
}

/** How long an owner's key seals new memories before a new one replaces it. */
const MAX_AGE_MS = 30 * 86_400_000;
const MAX_OWNERS = 4_096;
/** How long a key stays open: as long as the longest session. */
const KEPT_OPEN_MS = 30 * 60_000;
const OWNER_BYTES = 32;
const COUNTER_BYTES = 8;
const NO_SALT = new Uint8Array();

/** Makes, keeps and opens owners' keys. */
export class OwnerKeys {
  /** The sessions that speak for owners. */
  readonly sessions: OwnerSessions;
  readonly #options: OwnerKeysOptions;
  readonly #opened: BoundedMap<string, OpenedKey>;
  /** Stored keys by owner, the newest first. */
  readonly #kept: FreshEntries<readonly DatedKey[]>;
  /** Work that is under way: concurrent requests for the same key share it. */
  readonly #making = new Map<string, Promise<OwnerPublicKey>>();
  readonly #opening = new Map<string, Promise<OpenFailure | undefined>>();

  /** Starts without any opened key. */
  constructor(options: OwnerKeysOptions) {
    this.#options = options;
    const { packageId, clock, maxOwners = MAX_OWNERS } = options;
    this.sessions = new OwnerSessions({ packageId, clock, maxOwners });
    this.#opened = new BoundedMap({
      maxEntries: maxOwners,
      onLeave: ({ secret }) => void secret.fill(0),
    });
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
   * owner has no key, or if since the newest was made a delegate lost access,
   * the key servers changed, or too much time passed. No key server is asked.
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
    return await sharedBy(this.#making, {
      name: `${owner} ${accessCounter}`,
      work: () => this.#make(owner, { accessCounter, newest }),
    });
  }

  get #audience(): string {
    const { packageId, keyServerIds, threshold } = this.#options;
    return formatAudience({ packageId, keyServerIds, threshold });
  }

  /** Opens an owner's encrypted key; asks the key servers unless it is open. */
  async open(owner: string, encrypted: Uint8Array): Promise<OwnerKeyOutcome> {
    const id = hashBytes(encrypted);
    const known = this.#copyKeyPair(owner, id);
    if (known !== undefined) return { kind: "ok", id, pair: known };
    const why = await sharedBy(this.#opening, {
      name: `${owner} ${id}`,
      work: () => this.#open(owner, { id, encrypted }),
    });
    if (why !== undefined) return failed(why);
    const pair = this.#copyKeyPair(owner, id);
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
    const opened = this.#opened.get(formatName(owner, id));
    if (opened === undefined) return;
    const { encrypted, publicKey } = opened;
    await this.#tryPut(owner, { id, encrypted, publicKey });
  }

  /** Tells whether a key is too old, and open so that it can be linked. */
  #isToBeReplaced(owner: string, { id, madeAtMs }: DatedKey): boolean {
    const ageMs = this.#options.clock.nowMs() - madeAtMs;
    // A negative age counts as old: a clock that was set back prolongs no key.
    const isYoung = ageMs >= 0 && ageMs < MAX_AGE_MS;
    return !isYoung && this.#isOpen(owner, id);
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
    const id = hashBytes(encrypted);
    const key = { id, encrypted, publicKey };
    await this.#put(owner, key);
    this.#keepOpen(owner, { id, encrypted, secret, publicKey });
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
        const secret = unwrapped(wrapped, { owner, id, newer: outcome.pair });
        outcome.pair.secret.fill(0);
        if (secret !== undefined) {
          const pair = toOwnerKeyPair(secret);
          return this.#keepOpen(owner, { id, encrypted, ...pair });
        }
      }
    }
    const read = readEncryptedObject(encrypted);
    if (read.kind === "invalid") return "damaged";
    const { object } = read;
    const isOwn = object.packageId === this.#options.packageId &&
      isIdentityOf(owner, object.id);
    if (!isOwn) return "key_gone";
    const secret = await this.#ask(owner, { encrypted, identity: object.id });
    if (typeof secret === "string") return secret;
    this.#keepOpen(owner, { id, encrypted, ...toOwnerKeyPair(secret) });
    if (key !== undefined) await this.#link(owner, key);
    return undefined;
  }

  /**
   * Opens a key with the key servers; returns its private half, or the failure.
   */
  async #ask(
    owner: string,
    { encrypted, identity: id }: {
      readonly encrypted: Uint8Array;
      readonly identity: Uint8Array;
    },
  ): Promise<Uint8Array | OpenFailure> {
    const { packageId, opening, findAccount, logger } = this.#options;
    if (this.sessions.of(owner) === undefined) return "session_required";
    const found = await findAccount(owner);
    if (found.kind === "unavailable") return "unavailable";
    if (found.kind === "missing") return "refused";
    // Read again: a newer session may have come, which overwrites the earlier
    // one.
    const entry = this.sessions.of(owner);
    if (entry === undefined) return "session_required";
    const { accountId: objectId, initialVersion } = found.account;
    const name = id.toHex();
    const outcome = await opening.open({
      ...{ encrypted, packageId, id },
      session: entry.session.export(),
      approval: writeApproval({
        packageId,
        account: { objectId, initialVersion },
        ids: [id],
      }),
      userKeys: entry.userKeys.get(name),
    });
    switch (outcome.kind) {
      case "ok": {
        entry.userKeys.set(name, outcome.userKeys);
        return outcome.data.length === KEY_BYTES ? outcome.data : "damaged";
      }
      case "damaged":
        logger.warn("Cannot open an owner's key", { reason: outcome.reason });
        return "damaged";
      case "refused":
      case "unavailable":
        logger.warn(
          "Cannot open an owner's key: too few key servers return keys",
          {
            outcome: outcome.kind,
            failures: outcome.failures.map(({ objectId, reason }) =>
              `${objectId}: ${reason}`
            ).join("; "),
          },
        );
        return outcome.kind === "refused" ? "refused" : "key_servers_away";
    }
  }

  /** Wraps an older key under the newest one, where both are open. */
  async #link(owner: string, older: DatedKey): Promise<void> {
    const [newest] = await this.#loadKeys(owner);
    if (newest === undefined || newest.id === older.id) return;
    if (older.link?.newerId === newest.id) return;
    const newer = this.#copyKeyPair(owner, newest.id);
    const pair = this.#copyKeyPair(owner, older.id);
    if (newer !== undefined && pair !== undefined) {
      const wrapped = wrap(pair.secret, { owner, id: older.id, newer });
      const link = { newerId: newest.id, wrapped };
      await this.#tryPut(owner, { ...older, link });
    }
    newer?.secret.fill(0);
    pair?.secret.fill(0);
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

  #keepOpen(
    owner: string,
    { id, ...key }: OwnerKeyPair & Pick<KeptOwnerKey, "id" | "encrypted">,
  ): undefined {
    const endsAtMs = this.#options.clock.nowMs() + KEPT_OPEN_MS;
    this.#opened.set(formatName(owner, id), { ...key, endsAtMs });
  }

  #isOpen(owner: string, id: string): boolean {
    const name = formatName(owner, id);
    const known = this.#opened.get(name);
    if (known === undefined) return false;
    const leftMs = known.endsAtMs - this.#options.clock.nowMs();
    if (leftMs > 0 && leftMs <= KEPT_OPEN_MS) return true;
    this.#opened.delete(name);
    return false;
  }

  #copyKeyPair(owner: string, id: string): OwnerKeyPair | undefined {
    if (!this.#isOpen(owner, id)) return undefined;
    const known = this.#opened.get(formatName(owner, id));
    if (known === undefined) return undefined;
    return { secret: known.secret.slice(), publicKey: known.publicKey };
  }
}

/**
 * The identity in the key servers' encoding: owner's address, access counter.
 */
function buildIdentity(
  owner: string,
  accessCounter: bigint | undefined,
): Uint8Array {
  const writer = new BcsWriter().address(owner);
  return (accessCounter === undefined ? writer : writer.u64(accessCounter))
    .toBytes();
}

function isIdentityOf(owner: string, id: Uint8Array): boolean {
  return (id.length === OWNER_BYTES ||
    id.length === OWNER_BYTES + COUNTER_BYTES) &&
    new BcsReader(id).address() === owner;
}

/** Reads a stored key's encrypted half; an empty array if it is malformed. */
function datedKey(key: KeptOwnerKey): readonly DatedKey[] {
  const read = readEncryptedObject(key.encrypted);
  if (read.kind === "invalid") return [];
  const { id, ciphertext, packageId, services, threshold } = read.object;
  const keyServerIds = services.map(({ objectId }) => objectId);
  const audience = formatAudience({ packageId, keyServerIds, threshold });
  const reader = new BcsReader(id.subarray(OWNER_BYTES));
  const accessCounter = id.length === OWNER_BYTES ? undefined : reader.u64();
  const madeAtMs = readMadeAt(ciphertext);
  return [{ ...key, accessCounter, madeAtMs, audience }];
}

function formatAudience(
  { packageId, keyServerIds, threshold }: {
    readonly packageId: string;
    readonly keyServerIds: readonly string[];
    readonly threshold: number;
  },
): string {
  return [packageId, threshold, ...keyServerIds.toSorted()].join(" ");
}

/**
 * When a key was made according to its additional data; 0 if that is absent.
 */
function readMadeAt(sealed: SealedData): number {
  const aad = sealed.kind === "plain" ? undefined : sealed.aad;
  return aad?.length === COUNTER_BYTES ? Number(new BcsReader(aad).u64()) : 0;
}

/**
 * Names the wrapped key (`owner`, `id`) and the key that wraps it (`newer`).
 */
interface Wrapping {
  readonly owner: string;
  readonly id: string;
  readonly newer: OwnerKeyPair;
}

function wrap(secret: Uint8Array, wrapping: Wrapping): Uint8Array {
  const { owner, id } = wrapping;
  const key = wrappingKey(wrapping);
  const context = ["owner key", owner];
  const options = { kind: "data_key", keyId: id, key, context } as const;
  return sealEnvelope(secret, options);
}

/**
 * Unwraps a key; undefined when the bytes were changed or are another key's.
 */
function unwrapped(
  bytes: Uint8Array,
  wrapping: Wrapping,
): Uint8Array | undefined {
  const read = readEnvelope(bytes);
  if (read.kind !== "ok" || read.head.keyId !== wrapping.id) return undefined;
  const secret = openEnvelope(bytes, read.head, {
    key: wrappingKey(wrapping),
    context: ["owner key", wrapping.owner],
  });
  return secret?.length === KEY_BYTES ? secret : undefined;
}

/** Derives the wrapping key by HKDF-SHA256 (RFC 5869). */
function wrappingKey({ owner, id, newer }: Wrapping): Uint8Array {
  const info = `owner key\0${owner}\0${id}`;
  const key = hkdfSync("sha256", newer.secret, NO_SALT, info, KEY_BYTES);
  return new Uint8Array(key);
}

function formatName(owner: string, id: string): string {
  return `${id} ${owner}`;
}

function hashBytes(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}

function failed(why: OpenFailure): OwnerKeyOutcome {
  return { kind: "failed", why };
}

/** Runs work of a name once at a time; concurrent callers share its promise. */
function sharedBy<T>(
  running: Map<string, Promise<T>>,
  { name, work }: { readonly name: string; readonly work: () => Promise<T> },
): Promise<T> {
  const known = running.get(name);
  if (known !== undefined) return known;
  const promise = work().finally(() => running.delete(name));
  running.set(name, promise);
  return promise;
}
