/**
 * The keys of identities: asked of the key servers for several memories at once, and
 * kept as long as the session in which they were given.
 *
 * @module
 */

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

/** Key servers that can decrypt together what was encrypted for them. */
export interface KeyGroup {
  /** Names it: which servers, how many shares of each, how many are needed. */
  readonly name: string;
  /** The key servers, weighted by the shares that they have. */
  readonly keyServers: readonly KeyServer[];
  /** How many shares are needed. */
  readonly threshold: number;
}

/** An identity whose keys are wanted of a group. */
export interface WantedKey {
  /** The identity without the package in front. */
  readonly id: Uint8Array;
  /** The key servers. */
  readonly group: KeyGroup;
}

/** What keys are asked for with. */
interface KeyContext {
  /** The package. */
  readonly packageId: string;
  /** The account. */
  readonly account: LedgerAccount;
  /** The registry of accounts, where there is one. */
  readonly registry: SharedObject | undefined;
  /** The group that this client encrypts for, which comes first. */
  readonly own: KeyGroup;
}

/** Options of {@linkcode KeyRing}. */
interface KeyRingOptions {
  /** Speaks for the account. */
  readonly sessions: KeySessions;
  /** What the client works with. */
  readonly parts: ClientParts;
  /** Makes the requests. */
  readonly fetch: typeof globalThis.fetch;
  /** Milliseconds that a key server has for an answer. */
  readonly timeoutMs: number;
}

interface GivenKeys {
  readonly keys: readonly UserKeys[];
  /** When the session ends that they were given in. */
  readonly untilMs: number;
}

interface GroupWish {
  readonly group: KeyGroup;
  /** Identities by the names that their keys are kept under. */
  readonly ids: Map<string, Uint8Array>;
}

/** What key servers call a session that is not, or no longer, valid. */
const SESSION_REFUSED = /Certificate|Session|Expired/;
/** Keys that are kept; more of them are asked for again. */
const MAX_KEPT = 100;
/** A relayer could make up memories for any choice of key servers. */
const MAX_GROUPS = 8;

/**
 * The key servers of an encrypted object, as far as they are known; undefined when
 * they are too few to decrypt it.
 */
export function keyGroupOf(
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

/** The name that the keys of an identity have in what a ring gives. */
export function keyNameOf({ id, group }: WantedKey): string {
  return `${encodeHex(id)} by ${group.name}`;
}

/** Keeps keys. */
export class KeyRing {
  readonly #options: KeyRingOptions;
  readonly #kept = new Map<string, UserKeys>();
  #keptUntilMs = 0;

  /** Nothing is asked until keys are wanted. */
  constructor(options: KeyRingOptions) {
    this.#options = options;
  }

  /**
   * Keys by {@linkcode keyNameOf}; those that are kept are not asked for. Of a group
   * that does not give them they are missing.
   *
   * @throws {MemKeyServerError} When there are none at all.
   */
  async keysFor(
    wanted: readonly WantedKey[],
    context: KeyContext,
  ): Promise<ReadonlyMap<string, UserKeys>> {
    const { nowMs } = this.#options.parts.clock;
    if (nowMs() >= this.#keptUntilMs) this.clear();
    const found = new Map<string, UserKeys>();
    const wishes = new Map<string, GroupWish>();
    for (const want of wanted) {
      const name = keyNameOf(want);
      const kept = this.#kept.get(name);
      if (kept !== undefined) {
        found.set(name, kept);
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
    // At once, so that key servers that stall are waited for once.
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
        this.#keep(name, keys);
      }
      this.#keptUntilMs = outcome.untilMs;
    }
    if (error !== undefined && found.size === 0) throw error;
    return found;
  }

  /**
   * Forgets all keys. They are not overwritten: a memory may be decrypted with them at
   * this moment.
   */
  clear(): void {
    this.#kept.clear();
  }

  #keep(name: string, keys: UserKeys): void {
    if (this.#kept.size >= MAX_KEPT) this.clear();
    this.#kept.set(name, keys);
  }

  /**
   * Asks a group, with another session when this one is refused: the clock of this
   * machine may have been set back since it began.
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
      const outcome = await client.userKeys({
        packageId,
        ids: some,
        session,
        approval: writeApproval({
          packageId,
          account: { objectId, initialVersion },
          registry,
          ids: some,
        }),
        signal,
      });
      signal.throwIfAborted();
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
