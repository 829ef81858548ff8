/**
 * Finds the credentials that callers present in the records of their tenant.
 *
 * @module
 */

import type { CredentialStore, UserRecord } from "../access/authenticator.ts";
import type {
  ApiKey as KnownKey,
  WorkerCredential as KnownCredential,
} from "../access/credential.ts";
import type { TokenSubject } from "../access/jwt_claims.ts";
import { type Network, parseNetwork } from "../access/network.ts";
import { parseScopes, type ScopeSet, scopesOfRole } from "../access/scope.ts";
import type { ApiKey, User } from "../domain/tenant.ts";
import { sha256 } from "../engine/digest.ts";
import type { EngineParts } from "../engine/parts.ts";

/** The kind under which it is kept who a user is at the identity provider. */
const IDENTITY = "service";

/** The id of the record that ties a subject to a user. */
export function identityRecordId(issuer: string, subject: string): string {
  return `identity:${sha256(JSON.stringify([issuer, subject]))}`;
}

/** Looks up credentials for the authenticator. */
export class CredentialRecords implements CredentialStore {
  readonly #parts: Pick<EngineParts, "books" | "store" | "clock">;

  /** Looks in the books. */
  constructor(parts: Pick<EngineParts, "books" | "store" | "clock">) {
    this.#parts = parts;
  }

  /** An API key, by its id. */
  async findApiKey(
    tenantId: string,
    id: string,
  ): Promise<KnownKey | undefined> {
    const key = await this.#parts.books.keys.get(tenantId, id);
    if (key === undefined) return undefined;
    return {
      id: key.id,
      digest: key.digest,
      networks: networksOf(key.networks ?? []),
      scopes: scopesOf(key),
      payloads: key.payloads,
      ...(key.madeBy === undefined ? {} : { madeBy: key.madeBy }),
      ...(key.expiresAtMs === undefined
        ? {}
        : { expiresAtMs: key.expiresAtMs }),
    };
  }

  /** A worker's credential, by its id. */
  async findWorkerCredential(
    tenantId: string,
    id: string,
  ): Promise<KnownCredential | undefined> {
    const found = await this.#parts.books.credentials.get(tenantId, id);
    if (found === undefined) return undefined;
    const { digest, workerId, secrets, expiresAtMs } = found;
    return {
      id: found.id,
      digest,
      workerId,
      secrets,
      networks: [],
      ...(expiresAtMs === undefined ? {} : { expiresAtMs }),
    };
  }

  /**
   * The user that a token names: who was tied to its subject, else who has its
   * verified address and is tied to no subject yet; that user is tied to it now.
   */
  async findUser(
    tenantId: string,
    subject: TokenSubject,
  ): Promise<UserRecord | undefined> {
    const { books, store } = this.#parts;
    const id = identityRecordId(subject.issuer, subject.subject);
    const identity = await store.record(IDENTITY, tenantId, id);
    if (identity !== undefined) {
      return await books.users.get(tenantId, identity.text);
    }
    const email = subject.verifiedEmail;
    // Addresses here are ASCII; other letters may have an ASCII one as their
    // lower case, and would name somebody else.
    if (email === undefined || !/^[\x21-\x7e]+$/.test(email)) return undefined;
    const user = await books.users.byAlias(
      tenantId,
      email.toLowerCase(),
    );
    if (user === undefined || user.identity !== undefined) return undefined;
    if (user.status === "disabled") return user;
    return await this.#tie(user, { subject, recordId: id });
  }

  async #tie(
    user: User,
    to: { readonly subject: TokenSubject; readonly recordId: string },
  ): Promise<UserRecord | undefined> {
    const { books, store, clock } = this.#parts;
    const { issuer, subject } = to.subject;
    const nowMs = clock.nowMs();
    const next: User = {
      ...user,
      version: user.version + 1,
      status: "active",
      identity: { issuer, subject },
      updatedAtMs: nowMs,
      lastSeenAtMs: nowMs,
    };
    const [result] = await store.commit([{
      writes: [
        books.users.changing(user, next),
        {
          kind: "record",
          recordKind: IDENTITY,
          tenantId: user.tenantId,
          id: to.recordId,
          expectedVersion: 0,
          next: {
            kind: IDENTITY,
            tenantId: user.tenantId,
            id: to.recordId,
            version: 1,
            text: user.id,
          },
        },
      ],
    }]);
    // Somebody else did the same at this moment: what they wrote counts.
    if (result?.kind !== "ok") {
      return await books.users.get(user.tenantId, user.id);
    }
    return next;
  }
}

function scopesOf(key: ApiKey): ScopeSet {
  if (key.role !== undefined) return scopesOfRole(key.role);
  const outcome = parseScopes(key.scopes ?? []);
  return outcome.kind === "ok" ? outcome.scopes : new Set();
}

function networksOf(texts: readonly string[]): readonly Network[] {
  return texts.flatMap((text) => {
    const outcome = parseNetwork(text);
    return outcome.kind === "ok" ? [outcome.network] : [];
  });
}
