/**
 * Looks up the credentials that callers present (API keys, worker credentials
 * and users) in the tenant's records, and computes when keys expire.
 *
 * @module
 */

import { type Network, parseNetwork } from "../../shared/ip_network.ts";
import { andThen, type MaybePromise } from "../../shared/settled.ts";
import type { CredentialStore, UserRecord } from "../access/authenticator.ts";
import type { KeyCredential } from "../access/credential.ts";
import type { TokenSubject } from "../access/jwt.ts";
import { scopesOfKey } from "../access/scope.ts";
import type { ApiKey, User } from "../domain/records.ts";
import { sha256 } from "../store/digest.ts";
import type { Write } from "../store/store.ts";
import type { EngineParts } from "./parts.ts";
import { serviceWrite } from "./record_writes.ts";

/**
 * How often a sign-in is tried when other changes of the user are written
 * first.
 */
const MAX_TRIES = 30;

/** A user after signing in, and the writes that record the sign-in. */
interface Entry {
  readonly next: User;
  readonly writes: readonly Write[];
}

/** The id of the record that ties a subject to a user. */
export function identityRecordId(issuer: string, subject: string): string {
  return `identity:${sha256(JSON.stringify([issuer, subject]))}`;
}

/**
 * Looks up credentials for the authenticator, by cached records that are four
 * seconds old at most. A key that is found unchanged stays the same object, so
 * what was made of it is found as well. Which user a subject is tied to is read
 * from the store each time.
 */
export class CredentialRecords implements CredentialStore {
  /** API keys. */
  readonly apiKeys: CredentialStore["apiKeys"];
  /** The credentials of workers. */
  readonly workers: CredentialStore["workers"];
  readonly #parts: Pick<EngineParts, "repositories" | "store" | "clock">;
  /** What was made of each key, for as long as the key is cached. */
  readonly #made = new WeakMap<ApiKey, KeyCredential>();

  /** Takes the repositories and the store. */
  constructor(parts: Pick<EngineParts, "repositories" | "store" | "clock">) {
    this.#parts = parts;
    const { keys, credentials } = parts.repositories;
    this.apiKeys = {
      find: (tenantId, id) => andThen(keys.get(tenantId, id), this.#credential),
      recall: (tenantId, id) => this.#credential(keys.recall(tenantId, id)),
    };
    this.workers = {
      find: (tenantId, id) => credentials.get(tenantId, id),
      recall: (tenantId, id) => credentials.recall(tenantId, id),
    };
  }

  /** Finds a user by the id. */
  user(tenantId: string, id: string): MaybePromise<UserRecord | undefined> {
    return this.#parts.repositories.users.get(tenantId, id);
  }

  readonly #credential = (
    key: ApiKey | undefined,
  ): KeyCredential | undefined => {
    if (key === undefined) return undefined;
    let made = this.#made.get(key);
    if (made === undefined) {
      made = toCredential(key);
      this.#made.set(key, made);
    }
    return made;
  };

  /**
   * Finds the user that a token names: the user tied to the token's subject, or
   * else the user with the token's verified address who is tied to no subject
   * yet; that user is tied to the subject now. A user who signs in is no longer
   * invited.
   *
   * @throws {Error} when the store fails, or other changes of the user were
   * written first too often
   */
  async findUser(
    tenantId: string,
    subject: TokenSubject,
  ): Promise<UserRecord | undefined> {
    for (let tries = 0; tries < MAX_TRIES; tries++) {
      const found = await this.#look(tenantId, subject);
      if (found === undefined || found.entry === undefined) return found?.user;
      const { next, writes } = found.entry;
      const [result] = await this.#parts.store.commit([{ writes }]);
      if (result?.kind === "ok") return next;
      // Another change was written first and has to be considered: the user may
      // be tied to another subject by now.
    }
    throw new Error(
      "Cannot log the user in: others keep changing the record",
    );
  }

  /** Finds the user, and the writes of their sign-in. */
  async #look(
    tenantId: string,
    { issuer, subject, verifiedEmail: email }: TokenSubject,
  ): Promise<{ readonly user: User; readonly entry?: Entry } | undefined> {
    const { repositories, store } = this.#parts;
    const recordId = identityRecordId(issuer, subject);
    const identity = await store.record("service", tenantId, recordId);
    if (identity !== undefined) {
      const user = await repositories.users.get(tenantId, identity.text);
      if (user?.status !== "invited") return user && { user };
      // The user signed in before and was invited again.
      return { user, entry: this.#entry(user) };
    }
    // Only ASCII addresses are accepted: the lower case of some other letters
    // is an ASCII letter, so such an address would name another user.
    if (email === undefined || !/^[\x21-\x7e]+$/.test(email)) return undefined;
    const user = await repositories.users.byAlias(
      tenantId,
      email.toLowerCase(),
    );
    if (user === undefined || user.identity !== undefined) return undefined;
    if (user.status === "disabled") return { user };
    const entry = this.#entry({ ...user, identity: { issuer, subject } });
    const tie = serviceWrite({ tenantId, id: recordId }, user.id);
    return { user, entry: { ...entry, writes: [...entry.writes, tie] } };
  }

  /** The first sign-in of a user, which makes the user active. */
  #entry(user: User): Entry {
    const nowMs = this.#parts.clock.nowMs();
    const next: User = {
      ...user,
      version: user.version + 1,
      status: "active",
      updatedAtMs: nowMs,
      lastSeenAtMs: nowMs,
    };
    return {
      next,
      writes: [this.#parts.repositories.users.update(user, next)],
    };
  }
}

function toCredential(key: ApiKey): KeyCredential {
  return {
    id: key.id,
    digest: key.digest,
    networks: parseNetworks(key.networks ?? []),
    scopes: scopesOfKey(key),
    payloads: key.payloads,
    madeBy: key.madeBy,
    expiresAtMs: endOfKey(key),
  };
}

function parseNetworks(texts: readonly string[]): readonly Network[] {
  return texts.flatMap((text) => {
    const outcome = parseNetwork(text);
    return outcome.kind === "ok" ? [outcome.network] : [];
  });
}

/** The fields of a key that limit its lifetime. */
type EndingKey = Pick<ApiKey, "expiresAtMs" | "replacedUntilMs">;

/** When a key stops working; undefined means never. */
export function endOfKey(
  { expiresAtMs, replacedUntilMs }: EndingKey,
): number | undefined {
  const endMs = Math.min(expiresAtMs ?? Infinity, replacedUntilMs ?? Infinity);
  return endMs === Infinity ? undefined : endMs;
}

/** Tells whether a key has stopped working. */
export function hasEnded(key: EndingKey, nowMs: number): boolean {
  return (endOfKey(key) ?? Infinity) <= nowMs;
}
