/**
 * Authenticates requests: tells from the credential of a request who the caller
 * is.
 *
 * A credential that another instance revokes, or a user whom it disables, gets
 * in for a second at most, and for four seconds where notices between instances
 * are lost: the store behind {@linkcode CredentialStore.apiKeys} and its
 * neighbors reads a record again that is older. No caller gets in by what is
 * remembered here alone: that a secret matches a digest, that a token is valid,
 * and whom it named.
 *
 * @module
 */

import type { Clock } from "../../shared/clock.ts";
import { BoundedMap } from "../../shared/bounded_map.ts";
import { andThen, type MaybePromise } from "../../shared/settled.ts";
import { PresentedCredentials } from "./authorization.ts";
import type { Caller } from "./caller.ts";
import {
  checkCredential,
  type Credential,
  type CredentialOutcome,
  INVALID,
  type KeyCredential,
} from "./credential.ts";
import type { CredentialToken } from "./credential_token.ts";
import type { HeaderValues } from "./host.ts";
import type { JwtOutcome, JwtVerifier, TokenSubject } from "./jwt.ts";
import { scopesOfRole } from "./scope.ts";
import type { Session, User, WorkerCredential } from "../domain/records.ts";

/** What authentication needs of a user. */
export type UserRecord = Pick<User, "id" | "role" | "status" | "payloads">;

/** Credentials of one kind. */
interface Credentials<C extends Credential> {
  /**
   * A credential of a tenant, by its id with the prefix; at once when it is in
   * memory.
   */
  find(tenantId: string, id: string): MaybePromise<C | undefined>;
  /** A credential that is in memory. */
  recall(tenantId: string, id: string): C | undefined;
}

/** The records that authentication reads; each call is about one tenant. */
export interface CredentialStore {
  /** API keys. */
  readonly apiKeys: Credentials<KeyCredential>;
  /** The credentials of workers. */
  readonly workers: Credentials<WorkerCredential>;
  /** Finds a user by the id. */
  user(tenantId: string, id: string): MaybePromise<UserRecord | undefined>;
  /**
   * Finds the user that a token names: by issuer and subject, or, on the user's
   * first login, by the verified email address. Issuer and subject are then
   * stored with the user.
   */
  findUser(
    tenantId: string,
    subject: TokenSubject,
  ): Promise<UserRecord | undefined>;
}

/** Options of {@linkcode Authenticator}. */
interface AuthenticatorOptions {
  /** Where credentials are looked up. */
  readonly store: CredentialStore;
  /** Verifies tokens of the identity provider; absent when there is none. */
  readonly tokens?: Pick<JwtVerifier, "verify" | "recall"> | undefined;
  /** Tells the time. */
  readonly clock: Clock;
}

/** The parts of a request that authenticate its caller. */
export interface AuthenticationRequest {
  /** The `Authorization` header. */
  readonly authorization: HeaderValues;
  /**
   * The headers object that the `Authorization` header came in. The header of
   * the same object is not parsed a second time.
   *
   * @default the header is always parsed
   */
  readonly head?: object;
  /** The tenant that the host names. */
  readonly tenant: {
    /** Its id. */
    readonly id: string;
    /** Its domain. */
    readonly domain: string;
  };
  /** Where the request came from; `undefined` when that is not known. */
  readonly clientAddress: string | undefined;
}

/** The caller of a request, or why the request is refused. */
export type AuthenticationOutcome =
  | { readonly kind: "ok"; readonly caller: Caller }
  | {
    readonly kind: "refused";
    /** The problem code to answer with. */
    readonly code:
      | "missing_credentials"
      | "invalid_credentials"
      | "token_expired"
      | "bad_header"
      | "forbidden";
    /** Why, as a message for the client; holds nothing secret. */
    readonly reason: string;
  }
  | {
    /** The identity provider's keys are not available now. */
    readonly kind: "unavailable";
    /** After how many milliseconds the client should try again. */
    readonly retryAfterMs: number;
  };

/** Most users that are remembered as authenticated. */
const MAX_USERS = 10_000;

/** Authenticates the callers of tenants. */
export class Authenticator {
  readonly #options: AuthenticatorOptions;
  readonly #presented = new PresentedCredentials();
  /** Users who were authenticated by a token, by tenant, issuer and subject. */
  readonly #users = new BoundedMap<string, true>({
    maxEntries: MAX_USERS,
  });

  /** An authenticator over a store. */
  constructor(options: AuthenticatorOptions) {
    this.#options = options;
  }

  /**
   * Authenticates the caller of a tenant. Credentials are looked up in that
   * tenant alone, so a credential of another tenant gets the same answer as an
   * invented one.
   *
   * @returns A value at once where everything is in memory, otherwise a
   * promise.
   */
  authenticate(
    request: AuthenticationRequest,
  ): MaybePromise<AuthenticationOutcome> {
    const authorization = this.#presented.read(request);
    const { tokens, store } = this.#options;
    switch (authorization.kind) {
      case "missing":
        return MISSING;
      case "malformed": {
        const { code, reason } = authorization;
        return { kind: "refused", code, reason };
      }
      case "api_key":
        return this.#byCredential(request, {
          token: authorization.token,
          among: store.apiKeys,
          toCaller: callerOfKey,
        });
      case "worker": {
        const { token, tenant = request.tenant.domain } = authorization;
        return tenant === request.tenant.domain
          ? this.#byCredential(request, {
            token,
            among: store.workers,
            toCaller: callerOfWorker,
          })
          : INVALID;
      }
      case "jwt": {
        if (tokens === undefined) return INVALID;
        return andThen(
          tokens.verify(authorization.token),
          (outcome) => this.#user(outcome, request),
        );
      }
    }
  }

  /**
   * Whether the credential of a request is remembered as valid for the tenant.
   * The answer comes from memory and may be out of date, so it decides nothing
   * but whose turn the request takes.
   */
  recalls(request: AuthenticationRequest): boolean {
    const authorization = this.#presented.read(request);
    const tenantId = request.tenant.id;
    switch (authorization.kind) {
      case "missing":
      case "malformed":
        return false;
      case "api_key":
      case "worker": {
        const { kind, token } = authorization;
        const { apiKeys, workers } = this.#options.store;
        const among = kind === "api_key" ? apiKeys : workers;
        const known = among.recall(tenantId, token.id);
        return known !== undefined &&
          this.#check(known, token, request).kind === "ok";
      }
      case "jwt": {
        const subject = this.#options.tokens?.recall(authorization.token);
        return subject !== undefined &&
          this.#users.get(userKey(tenantId, subject)) === true;
      }
    }
  }

  /**
   * The caller of a session, by the credential that the session was opened
   * with; undefined when that may not be used now, or not from there.
   */
  ofSession(
    { tenantId, credential: { kind, id } }: Session,
    clientAddress: string | undefined,
  ): MaybePromise<Caller | undefined> {
    if (kind === "user") {
      return andThen(
        this.#options.store.user(tenantId, id),
        (user) =>
          user === undefined || user.status === "disabled"
            ? undefined
            : callerOfUser(user, tenantId),
      );
    }
    return andThen(
      this.#options.store.apiKeys.find(tenantId, id),
      (key) => {
        const checked = checkCredential(key, {
          matches: (stored) => stored !== undefined,
          nowMs: this.#options.clock.nowMs(),
          clientAddress,
        });
        return key !== undefined && checked.kind === "ok"
          ? callerOfKey(key, tenantId)
          : undefined;
      },
    );
  }

  #check(
    credential: Credential | undefined,
    token: CredentialToken,
    { clientAddress }: AuthenticationRequest,
  ): CredentialOutcome {
    return checkCredential(credential, {
      matches: (stored) => this.#presented.matches(token, stored),
      nowMs: this.#options.clock.nowMs(),
      clientAddress,
    });
  }

  #byCredential<C extends Credential>(
    request: AuthenticationRequest,
    { token, among, toCaller }: {
      readonly token: CredentialToken;
      readonly among: Credentials<C>;
      readonly toCaller: (credential: C, tenantId: string) => Caller;
    },
  ): MaybePromise<AuthenticationOutcome> {
    const { id: tenantId } = request.tenant;
    return andThen(among.find(tenantId, token.id), (credential) => {
      const checked = this.#check(credential, token, request);
      if (checked.kind !== "ok") return checked;
      if (credential === undefined) return INVALID;
      return { kind: "ok", caller: toCaller(credential, tenantId) };
    });
  }

  #user(
    outcome: JwtOutcome,
    request: AuthenticationRequest,
  ): MaybePromise<AuthenticationOutcome> {
    if (outcome.kind !== "ok") return outcome;
    const tenantId = request.tenant.id;
    const found = this.#options.store.findUser(tenantId, outcome.subject);
    return andThen(found, (user) => {
      if (user === undefined || user.status === "disabled") {
        // The next requests of this user take turns with unauthenticated ones.
        this.#users.delete(userKey(tenantId, outcome.subject));
        return INVALID;
      }
      this.#users.set(userKey(tenantId, outcome.subject), true);
      return { kind: "ok", caller: callerOfUser(user, tenantId) };
    });
  }
}

function callerOfKey(
  { id: keyId, scopes, payloads, madeBy }: KeyCredential,
  tenantId: string,
): Caller {
  return { kind: "api_key", tenantId, keyId, scopes, payloads, madeBy };
}

function callerOfUser(
  { id: userId, role, payloads }: UserRecord,
  tenantId: string,
): Caller {
  const scopes = scopesOfRole(role);
  return { kind: "user", tenantId, userId, role, scopes, payloads };
}

function callerOfWorker(
  { id: credentialId, workerId, secrets }: WorkerCredential,
  tenantId: string,
): Caller {
  return { kind: "worker", tenantId, workerId, credentialId, secrets };
}

function userKey(tenantId: string, { issuer, subject }: TokenSubject): string {
  return JSON.stringify([tenantId, issuer, subject]);
}

const MISSING: AuthenticationOutcome = {
  kind: "refused",
  code: "missing_credentials",
  reason: 'Cannot authenticate: missing bearer token; send "Authorization: ' +
    'Bearer <token>"',
};
