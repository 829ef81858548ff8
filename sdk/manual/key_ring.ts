/**
 * Caches the decryption keys of identities. Keys of several memories are
 * requested together, and kept until the session in which they were given ends.
 *
 * @module
 */

import { throwIfEnded } from "../memory/life.ts";
import { runWithin } from "../memory/client_clock.ts";
import type { ClientParts } from "../memory/client_parts.ts";
import { encodeHex } from "../memory/encodings.ts";
import {
  MAX_APPROVALS,
  type SharedObject,
  writeApproval,
} from "../vault/approval.ts";
import type { EncryptedObject } from "../vault/encrypted_object.ts";
import {
  type KeyServer,
  KeyServerClient,
  type UserKeys,
} from "../vault/key_server_client.ts";
import type { LedgerAccount } from "../vault/ledger_reader.ts";
import type { SessionKey } from "../vault/session_key.ts";
import type { KeySessions } from "./key_sessions.ts";
import { MemKeyServerError } from "./manual_errors.ts";

/**
 * A set of key servers that together can decrypt an object that was encrypted
 * for them.
 */
export interface KeyGroup {
  /**
   * A unique name made of the key servers, their numbers of shares and the
   * threshold.
   */
  readonly name: string;
  /** The key servers, weighted by the shares that they have. */
  readonly keyServers: readonly KeyServer[];
  /** How many shares are needed. */
  readonly threshold: number;
}

/** An identity, and the key servers that are to give its keys. */
export interface WantedKey {
  /** The identity without the package in front. */
  readonly id: Uint8Array;
  /** The key servers. */
  readonly group: KeyGroup;
}

/** The account and package that keys are requested for. */
interface KeyContext {
  /** The package. */
  readonly packageId: string;
  /** The account. */
  readonly account: LedgerAccount;
  /** The registry of accounts; undefined where the contract has none. */
  readonly registry: SharedObject | undefined;
  /** The key servers that this client encrypts for; they are asked first. */
  readonly own: KeyGroup;
}

/** Options of {@linkcode KeyRing}. */
interface KeyRingOptions {
  /** Makes the session that is allowed to request keys for the account. */
  readonly sessions: KeySessions;
  /** What the client works with. */
  readonly parts: ClientParts;
  /** Makes the requests. */
  readonly fetch: typeof globalThis.fetch;
  /** Timeout of a request to a key server, in milliseconds. */
  readonly timeoutMs: number;
}

interface GivenKeys {
  readonly keys: readonly UserKeys[];
  /** When the session in which the keys were given ends. */
  readonly untilMs: number;
}

interface KeptKeys {
  readonly keys: UserKeys;
  /** When the session in which the keys were given ends. */
  readonly untilMs: number;
}

interface GroupWish {
  readonly group: KeyGroup;
  /** The identities, by the names under which their keys are cached. */
  readonly ids: Map<string, Uint8Array>;
}

/**
 * Matches the error that key servers answer when a session is not valid, or no
 * longer valid.
 */
const SESSION_REFUSED = /Certificate|Session|Expired/;
/**
 * The most keys that are cached. When the cache is full it is emptied, and the
 * keys are requested again.
 */
const MAX_KEPT = 100;
/**
 * The most sets of key servers that are asked for one call. A relayer could
 * invent memories for any number of such sets, and make the client ask all of
 * them.
 */
const MAX_GROUPS = 8;

/**
 * Returns those key servers of an encrypted object that are known; undefined
 * when they have too few shares to decrypt the object.
 */
export function findKeyGroup(
  { services, threshold }: Pick<EncryptedObject, "threshold"> & {
    readonly services: readonly { readonly objectId: string }[];
  },
  keyServers: readonly KeyServer[],
): KeyGroup | undefined {
  const known = keyServers.flatMap((server) => {
    const weight = services.filter(({ objectId }) =>
      objectId === server.objectId
    ).length;
    return weight === 0 ? [] : [{ ...server, weight }];
  });
  const total = known.reduce((sum, { weight }) => sum + weight, 0);
  if (total < threshold) return undefined;
  const members = known.map(({ objectId, weight }) => `${objectId}*${weight}`);
  return {
    name: `${threshold} of ${members.join(" ")}`,
    keyServers: known,
    threshold,
  };
}

/**
 * The name under which {@linkcode KeyRing.keysFor} returns the keys of an
 * identity.
 */
export function formatKeyName({ id, group }: WantedKey): string {
  return `${encodeHex(id)} by ${group.name}`;
}

/** Requests keys and caches them. */
export class KeyRing {
  readonly #options: KeyRingOptions;
  readonly #kept = new Map<string, KeptKeys>();

  /** Creates an empty cache; the first request is made when keys are needed. */
  constructor(options: KeyRingOptions) {
    this.#options = options;
  }

  /**
   * Returns keys by {@linkcode formatKeyName}; only keys that are not cached are
   * requested. Keys that their key servers do not give are missing from the
   * result.
   *
   * @throws {MemKeyServerError} When keys are missing and the result would be
   * empty.
   */
  async keysFor(
    wanted: readonly WantedKey[],
    context: KeyContext,
  ): Promise<ReadonlyMap<string, UserKeys>> {
    const { clock } = this.#options.parts;
    this.#removeEnded(clock.nowMs());
    const found = new Map<string, UserKeys>();
    const wishes = new Map<string, GroupWish>();
    for (const want of wanted) {
      const name = formatKeyName(want);
      const kept = this.#kept.get(name);
      if (kept !== undefined) {
        found.set(name, kept.keys);
        continue;
      }
      const { group, id } = want;
      const wish = wishes.get(group.name) ?? { group, ids: new Map() };
      wish.ids.set(name, id);
      wishes.set(group.name, wish);
    }
    const isOwn = ({ group }: GroupWish) => group.name === context.own.name;
    const ordered = [...wishes.values()]
      .sort((left, right) => Number(isOwn(right)) - Number(isOwn(left)));
    let error: MemKeyServerError | undefined;
    // All sets are asked at the same time, so that the timeouts of key servers
    // that do not answer run in parallel.
    const outcomes = await Promise.all(
      ordered.slice(0, MAX_GROUPS).map(async ({ group, ids }) => {
        const asked = [...ids.values()];
        const outcome = await this.#askFor(asked, { context, group });
        return { ids, outcome };
      }),
    );
    for (const { ids, outcome } of outcomes) {
      if (outcome instanceof MemKeyServerError) {
        error ??= outcome;
        continue;
      }
      for (const [at, name] of [...ids.keys()].entries()) {
        const keys = outcome.keys[at];
        if (keys === undefined) continue;
        found.set(name, keys);
        this.#keep(name, { keys, untilMs: outcome.untilMs });
      }
    }
    if (error !== undefined && found.size === 0) throw error;
    return found;
  }

  /**
   * Removes all keys from the cache. Their bytes are not overwritten, because a
   * memory may be being decrypted with them.
   */
  clear(): void {
    this.#kept.clear();
  }

  #keep(name: string, kept: KeptKeys): void {
    if (this.#kept.size >= MAX_KEPT) this.clear();
    this.#kept.set(name, kept);
  }

  #removeEnded(nowMs: number): void {
    for (const [name, { untilMs }] of this.#kept) {
      if (nowMs >= untilMs) this.#kept.delete(name);
    }
  }

  /**
   * Requests keys, and does so again in a new session when the key servers
   * refuse the session: it may have ended without notice, because the clock of
   * this machine was set back.
   */
  async #askFor(
    ids: readonly Uint8Array[],
    asked: { readonly context: KeyContext; readonly group: KeyGroup },
  ): Promise<GivenKeys | MemKeyServerError> {
    const { sessions } = this.#options;
    const { packageId } = asked.context;
    const session = await sessions.current(packageId);
    const outcome = await this.#ask(ids, { ...asked, session });
    if (!(outcome instanceof MemKeyServerError)) return outcome;
    const isRefused = outcome.failures.some(({ kind, reason }) =>
      kind === "refused" && SESSION_REFUSED.test(reason)
    );
    if (!isRefused) return outcome;
    return await this.#ask(ids, {
      ...asked,
      session: await sessions.current(packageId, session),
    });
  }

  async #ask(
    ids: readonly Uint8Array[],
    { context, group, session }: {
      readonly context: KeyContext;
      readonly group: KeyGroup;
      readonly session: SessionKey;
    },
  ): Promise<GivenKeys | MemKeyServerError> {
    const { packageId, account, registry } = context;
    const { accountId: objectId, initialVersion } = account;
    const { keyServers, threshold } = group;
    const { fetch, timeoutMs, parts: { signal } } = this.#options;
    const client = new KeyServerClient({
      ...{ keyServers, threshold, fetch, timeoutMs },
    });
    const keys: UserKeys[] = [];
    for (let from = 0; from < ids.length; from += MAX_APPROVALS) {
      const some = ids.slice(from, from + MAX_APPROVALS);
      const approval = writeApproval({
        packageId,
        account: { objectId, initialVersion },
        registry,
        ids: some,
      });
      const outcome = await runWithin(
        (signal) =>
          client.userKeys({ packageId, ids: some, session, approval, signal }),
        { signals: [signal] },
      );
      throwIfEnded(signal);
      if (outcome.kind !== "ok") {
        const { failures } = outcome;
        return new MemKeyServerError({
          isPassing: outcome.kind === "unavailable",
          answered: keyServers.length - failures.length,
          total: keyServers.length,
          threshold,
          failures,
        });
      }
      keys.push(...outcome.keys);
    }
    return { keys, untilMs: session.endsAtMs };
  }
}
