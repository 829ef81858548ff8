/**
 * Owners' keys behind key servers. Each owner has a random key, encrypted for a
 * threshold of key servers; the keys of its memories follow from it. To make one takes
 * the key servers' public keys alone; to get one back takes a session, in which a
 * delegate's signature stands for the owner. An owner has a new key as soon as a
 * delegate was removed, and after some time.
 *
 * @module
 */

import { createHash } from "node:crypto";
import { writeApproval } from "../../../sdk/vault/approval.ts";
import { BcsReader, BcsWriter } from "../../../sdk/vault/bcs.ts";
import {
  readEncryptedObject,
  type SealedData,
} from "../../../sdk/vault/encrypted_object.ts";
import type {
  KeyServerClient,
  UserKeys,
} from "../../../sdk/vault/key_server_client.ts";
import {
  checkCertificate,
  readSessionHeader,
  SessionKey,
} from "../../../sdk/vault/session_key.ts";
import {
  decryptWithKeys,
  encryptForIdentity,
} from "../../../sdk/vault/threshold_encryption.ts";
import { BoundedMap } from "../../shared/bounded_map.ts";
import type { Clock } from "../../shared/clock.ts";
import type { Logger } from "../../shared/logger.ts";
import { KEY_BYTES } from "./envelope.ts";
import type { OpenFailure } from "./vault.ts";

/** What key servers decide by. */
export interface OwnerAccount {
  /** The account's object. */
  readonly accountId: string;
  /** The version in which it became shared. */
  readonly initialVersion: bigint;
  /** How often access was taken away from a delegate. */
  readonly accessCounter: bigint;
}

/** Options of {@linkcode OwnerKeys}. */
export interface OwnerKeysOptions {
  /** The package whose function decides who gets keys. */
  readonly packageId: string;
  /** Asks the key servers. */
  readonly keyServers: KeyServerClient;
  /** How many of them are needed. */
  readonly threshold: number;
  /** Finds an owner's account; undefined when there is none. */
  readonly accountOf: (owner: string) => Promise<OwnerAccount | undefined>;
  /** Tells the time. */
  readonly clock: Clock;
  /** Hears of key servers that give no keys. */
  readonly logger: Logger;
  /**
   * Milliseconds that an owner's key seals new memories.
   *
   * @default 30 days
   */
  readonly maxAgeMs?: number | undefined;
  /**
   * Most owners' keys, and most sessions, that are kept.
   *
   * @default {4096}
   */
  readonly maxOwners?: number | undefined;
}

/** An owner's key; it is the caller's own copy, to be overwritten after use. */
export interface OwnerKey {
  /** The key, 32 bytes. */
  readonly key: Uint8Array;
  /** It encrypted for the key servers. */
  readonly encrypted: Uint8Array;
  /** The SHA-256 of that, in hexadecimal digits. */
  readonly id: string;
}

/** The outcome of opening an owner's key. */
export type OwnerKeyOutcome =
  | ({ readonly kind: "ok" } & OwnerKey)
  | { readonly kind: "failed"; readonly why: OpenFailure };

/** The outcome of taking a session. */
export type SessionOutcome =
  | { readonly kind: "ok" }
  | { readonly kind: "invalid" | "expired"; readonly reason: string };

/** A session, and what the key servers gave it. */
interface OwnerSession {
  readonly session: SessionKey;
  /** Keys by the identity in hexadecimal digits. */
  readonly userKeys: BoundedMap<string, UserKeys>;
}

/** The key that seals an owner's new memories. */
interface CurrentKey {
  readonly id: string;
  readonly accessCounter: bigint;
  readonly madeAtMs: number;
}

/** An opened key. */
interface KnownKey extends Pick<CurrentKey, "accessCounter" | "madeAtMs"> {
  readonly key: Uint8Array;
  readonly encrypted: Uint8Array;
}

const MAX_AGE_MS = 30 * 86_400_000;
const MAX_OWNERS = 4_096;
const MAX_IDENTITIES = 8;
const OWNER_BYTES = 32;
const COUNTER_BYTES = 8;

/** Makes owners' keys, and has them opened. */
export class OwnerKeys {
  readonly #options: OwnerKeysOptions;
  readonly #keys: BoundedMap<string, KnownKey>;
  readonly #current: BoundedMap<string, CurrentKey>;
  readonly #sessions: BoundedMap<string, OwnerSession>;
  /** What is under way, so that one owner's requests at a time cost one. */
  readonly #making = new Map<string, Promise<CurrentKey>>();
  readonly #opening = new Map<string, Promise<OpenFailure | undefined>>();

  /** Keys of owners; none is known. */
  constructor(options: OwnerKeysOptions) {
    this.#options = options;
    const { maxOwners: maxEntries = MAX_OWNERS } = options;
    this.#keys = new BoundedMap({
      maxEntries,
      onLeave: ({ key }) => void key.fill(0),
    });
    this.#current = new BoundedMap({ maxEntries });
    this.#sessions = new BoundedMap({
      maxEntries,
      onLeave: ({ session }) => session.wipe(),
    });
  }

  /** Overwrites all keys and sessions. */
  clear(): void {
    this.#keys.clear();
    this.#current.clear();
    this.#sessions.clear();
  }

  /**
   * Takes a session for an owner, until it ends.
   *
   * @param header The header field `x-seal-session`.
   * @param options.address The address of the delegate that has signed the request.
   */
  async takeSession(
    owner: string,
    header: string,
    { address }: { readonly address: string },
  ): Promise<SessionOutcome> {
    const exported = readSessionHeader(header);
    if (exported === undefined) return invalid("it is no session");
    if (exported.address !== address) {
      return invalid("it is of another address than the request");
    }
    const { packageId, clock } = this.#options;
    if (exported.packageId !== packageId || exported.mvrName !== undefined) {
      return invalid("it is for another package");
    }
    const session = await SessionKey.import(exported);
    if (session === undefined) return invalid("it has no key");
    const check = await checkCertificate(session.certificate, {
      packageName: packageId,
      nowMs: clock.nowMs(),
    });
    if (check.kind !== "ok") {
      session.wipe();
      return {
        kind: check.kind,
        reason: `Cannot take session: ${check.reason}`,
      };
    }
    const known = this.#sessionOf(owner);
    // Of two sessions of one address the longer one has the keys already.
    if (
      known?.session.address === session.address &&
      known.session.endsAtMs >= session.endsAtMs
    ) {
      session.wipe();
      return { kind: "ok" };
    }
    this.#sessions.set(owner, {
      session,
      userKeys: new BoundedMap({ maxEntries: MAX_IDENTITIES }),
    });
    return { kind: "ok" };
  }

  /**
   * The key that seals an owner's new memories; a new one where none is known, access
   * was taken away since, or it is too old. No key server is asked.
   *
   * @throws {Error} When the owner has no account.
   */
  async current(owner: string): Promise<OwnerKey> {
    const account = await this.#options.accountOf(owner);
    if (account === undefined) {
      throw new Error("Cannot seal: the owner has no account");
    }
    const { accessCounter } = account;
    const known = this.#current.get(owner);
    const key = known === undefined ? undefined : this.#copyOf(owner, known.id);
    if (
      known !== undefined && key !== undefined &&
      known.accessCounter === accessCounter && this.#isYoung(known)
    ) return key;
    const name = `${owner} ${accessCounter}`;
    const { id } = await sharedBy(this.#making, {
      name,
      work: () => this.#make(owner, accessCounter),
    });
    // It can only have left when thousands of other owners came within this turn.
    const made = this.#copyOf(owner, id);
    if (made === undefined) throw new Error("Cannot seal: keys leave too fast");
    return made;
  }

  /** Opens an owner's encrypted key; asks the key servers where it is not known. */
  async open(owner: string, encrypted: Uint8Array): Promise<OwnerKeyOutcome> {
    const id = digestOf(encrypted);
    const known = this.#copyOf(owner, id);
    if (known !== undefined) return { kind: "ok", ...known };
    const why = await sharedBy(this.#opening, {
      name: `${owner} ${id}`,
      work: () => this.#open(owner, encrypted),
    });
    if (why !== undefined) return { kind: "failed", why };
    const opened = this.#copyOf(owner, id);
    return opened === undefined
      ? { kind: "failed", why: "unavailable" }
      : { kind: "ok", ...opened };
  }

  /**
   * Seals new memories with a key that has opened one of the owner's, where none else
   * does: so that a restart leaves an owner with no more keys than it had. Only for a
   * key that a memory was opened with: everybody can encrypt one for an owner.
   */
  adopt(owner: string, id: string): void {
    const current = this.#current.get(owner);
    if (
      current !== undefined && this.#keys.has(nameOf(owner, current.id))
    ) return;
    const known = this.#keys.get(nameOf(owner, id));
    if (known === undefined) return;
    const { accessCounter, madeAtMs } = known;
    this.#current.set(owner, { id, accessCounter, madeAtMs });
  }

  async #make(owner: string, accessCounter: bigint): Promise<CurrentKey> {
    const { packageId, keyServers, threshold, clock } = this.#options;
    const madeAtMs = Math.max(0, Math.floor(clock.nowMs()));
    const key = crypto.getRandomValues(new Uint8Array(KEY_BYTES));
    const encrypted = await encryptForIdentity({
      keyServers: keyServers.weighted,
      threshold,
      packageId,
      id: identityOf(owner, accessCounter),
      data: key,
      aad: new BcsWriter().u64(BigInt(madeAtMs)).toBytes(),
    });
    const id = digestOf(encrypted);
    const parts = { accessCounter, madeAtMs };
    this.#keys.set(nameOf(owner, id), { key, encrypted, ...parts });
    this.#current.set(owner, { id, ...parts });
    return { id, ...parts };
  }

  /** Opens a key into the cache; gives why it cannot. */
  async #open(
    owner: string,
    encrypted: Uint8Array,
  ): Promise<OpenFailure | undefined> {
    const read = readEncryptedObject(encrypted);
    if (read.kind === "invalid") return "damaged";
    const { object, object: { id } } = read;
    const { packageId } = this.#options;
    const accessCounter = counterOf(owner, id);
    if (object.packageId !== packageId || accessCounter === undefined) {
      return "key_gone";
    }
    const asked = await this.#userKeys(owner, id);
    if (typeof asked === "string") return asked;
    const outcome = await decryptWithKeys(object, { userKeys: asked });
    if (outcome.kind === "locked") return "key_servers_away";
    if (outcome.kind === "invalid" || outcome.data.length !== KEY_BYTES) {
      return "damaged";
    }
    this.#keys.set(nameOf(owner, digestOf(encrypted)), {
      key: outcome.data,
      encrypted: encrypted.slice(),
      accessCounter,
      madeAtMs: madeAtOf(object.ciphertext),
    });
    return undefined;
  }

  /** The keys of an identity, from the key servers where the session has none. */
  async #userKeys(
    owner: string,
    id: Uint8Array,
  ): Promise<UserKeys | OpenFailure> {
    const entry = this.#sessionOf(owner);
    if (entry === undefined) return "session_required";
    const name = id.toHex();
    const known = entry.userKeys.get(name);
    if (known !== undefined) return known;
    const { packageId, keyServers, accountOf, logger } = this.#options;
    const account = await accountOf(owner);
    if (account === undefined) return "refused";
    const outcome = await keyServers.userKeys({
      packageId,
      ids: [id],
      session: entry.session,
      approval: writeApproval({
        packageId,
        account: {
          objectId: account.accountId,
          initialVersion: account.initialVersion,
        },
        ids: [id],
      }),
    });
    if (outcome.kind !== "ok") {
      logger.warn("Cannot open an owner's key: too few key servers give keys", {
        outcome: outcome.kind,
        failures: outcome.failures.map(({ objectId, reason }) =>
          `${objectId}: ${reason}`
        ).join("; "),
      });
      return outcome.kind === "refused" ? "refused" : "key_servers_away";
    }
    const [keys] = outcome.keys;
    if (keys === undefined) return "key_servers_away";
    entry.userKeys.set(name, keys);
    return keys;
  }

  /** The owner's session, as long as it lasts. */
  #sessionOf(owner: string): OwnerSession | undefined {
    const entry = this.#sessions.get(owner);
    if (entry === undefined) return undefined;
    if (!entry.session.isEnding(this.#options.clock.nowMs())) return entry;
    this.#sessions.delete(owner);
    return undefined;
  }

  #copyOf(owner: string, id: string): OwnerKey | undefined {
    const known = this.#keys.get(nameOf(owner, id));
    if (known === undefined) return undefined;
    return { key: known.key.slice(), encrypted: known.encrypted, id };
  }

  #isYoung({ madeAtMs }: CurrentKey): boolean {
    const { clock, maxAgeMs = MAX_AGE_MS } = this.#options;
    const ageMs = clock.nowMs() - madeAtMs;
    // A clock that was set back makes no key young for longer.
    return ageMs >= 0 && ageMs < maxAgeMs;
  }
}

/** The owner's address and how often access was taken away, as key servers read it. */
function identityOf(owner: string, accessCounter: bigint): Uint8Array {
  return new BcsWriter().address(owner).u64(accessCounter).toBytes();
}

/** The counter of an owner's identity; undefined when it is another's. */
function counterOf(owner: string, id: Uint8Array): bigint | undefined {
  if (id.length !== OWNER_BYTES + COUNTER_BYTES) return undefined;
  const reader = new BcsReader(id);
  return reader.address() === owner ? reader.u64() : undefined;
}

/** When a key was made, as it says of itself; 0 when it does not. */
function madeAtOf(sealed: SealedData): number {
  const aad = sealed.kind === "plain" ? undefined : sealed.aad;
  return aad?.length === COUNTER_BYTES ? Number(new BcsReader(aad).u64()) : 0;
}

function nameOf(owner: string, id: string): string {
  return `${id} ${owner}`;
}

function digestOf(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}

function invalid(state: string): SessionOutcome {
  return { kind: "invalid", reason: `Cannot take session: ${state}` };
}

/** Does what is asked for by several at a time once. */
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
