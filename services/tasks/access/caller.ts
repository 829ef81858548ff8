/**
 * The caller of a request, and what it may do, once its credential was checked.
 *
 * @module
 */

import type { Actor } from "../domain/records.ts";
import type { Role, Scope, ScopeSet } from "./scope.ts";
import type { UserAdministrator } from "./user_rules.ts";

/** A program with an API key. */
interface ApiKeyCaller {
  /** Tells the kinds of callers apart. */
  readonly kind: "api_key";
  /** The tenant the key belongs to. */
  readonly tenantId: string;
  /** The key. */
  readonly keyId: string;
  /** The scopes that the key has. */
  readonly scopes: ScopeSet;
  /** Whether it sees the data and results of tasks. */
  readonly payloads: boolean;
  /** The user who made the key; absent for the first key of a tenant. */
  readonly madeBy?: string | undefined;
}

/** A person, by a token of the identity provider. */
interface UserCaller {
  /** Tells the kinds of callers apart. */
  readonly kind: "user";
  /** The tenant of the user. */
  readonly tenantId: string;
  /** The user. */
  readonly userId: string;
  /** The role, from the user's record and never from the token. */
  readonly role: Role;
  /** The scopes of the role. */
  readonly scopes: ScopeSet;
  /** Whether it sees the data and results of tasks. */
  readonly payloads: boolean;
}

/** A worker that asks for its tasks. */
interface WorkerCaller {
  /** Tells the kinds of callers apart. */
  readonly kind: "worker";
  /** The tenant of the worker. */
  readonly tenantId: string;
  /** The worker, and the only one, whose tasks it may take. */
  readonly workerId: string;
  /** The credential it used. */
  readonly credentialId: string;
  /** Whether leases may carry the worker's secrets. */
  readonly secrets: boolean;
}

/** The operator, who runs the service and belongs to no tenant. */
interface OperatorCaller {
  /** Tells the kinds of callers apart. */
  readonly kind: "operator";
}

/** The caller of a request. */
export type Caller = ApiKeyCaller | UserCaller | WorkerCaller | OperatorCaller;

const NO_SCOPES: ScopeSet = new Set();

/** The caller as histories and the audit trail name it. */
export function toActor(caller: Caller): Actor {
  switch (caller.kind) {
    case "api_key":
      return { type: "key", id: caller.keyId };
    case "user":
      return { type: "user", id: caller.userId };
    case "worker":
      return { type: "worker", id: caller.workerId };
    case "operator":
      return { type: "system", id: "operator" };
  }
}

/**
 * The scopes of a caller on the tenant's routes. Workers and the operator have
 * no scopes: workers may use the lease routes of one worker, see
 * {@linkcode mayLease}, and the operator has routes of its own.
 */
export function getScopes(caller: Caller): ScopeSet {
  return caller.kind === "api_key" || caller.kind === "user"
    ? caller.scopes
    : NO_SCOPES;
}

/** The scope that a caller lacks; `undefined` when it has the scope. */
export function scopeLackedBy(
  caller: Caller,
  needed: Scope,
): Scope | undefined {
  return getScopes(caller).has(needed) ? undefined : needed;
}

/** Tells whether a caller may take tasks of a worker and report on them. */
export function mayLease(caller: Caller, workerId: string): boolean {
  return caller.kind === "worker"
    ? caller.workerId === workerId
    : getScopes(caller).has("leases:write");
}

/**
 * Tells whether a caller sees the data and results of tasks. A worker sees
 * those of the tasks that it is given.
 */
export function seesPayloads(caller: Caller): boolean {
  switch (caller.kind) {
    case "api_key":
    case "user":
      return caller.payloads;
    case "worker":
      return true;
    case "operator":
      return false;
  }
}

/** The caller in the form that the rules about users take. */
export function toAdministrator(caller: Caller): UserAdministrator {
  const scopes = getScopes(caller);
  const userId = caller.kind === "user"
    ? caller.userId
    : caller.kind === "api_key"
    ? caller.madeBy
    : undefined;
  return { scopes, userId };
}
