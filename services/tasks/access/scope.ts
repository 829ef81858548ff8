/**
 * Roles and scopes: the roles of users and keys, from the weakest to the
 * strongest, and the scopes that each role has.
 *
 * @module
 */

import { nearest } from "../../shared/did_you_mean.ts";
import { quote } from "../../shared/quote.ts";

/** All roles; each may do what those before it may. */
export const ROLES = ["viewer", "member", "admin", "owner"] as const;

/** The role of a user or key in its tenant. */
export type Role = typeof ROLES[number];

/** Tells whether `role` includes everything that `needed` may do. */
export function allows(role: Role, needed: Role): boolean {
  return ROLES.indexOf(role) >= ROLES.indexOf(needed);
}

/**
 * Every scope with the least role that implies it. The order is that in which
 * scopes are shown.
 */
const LEAST_ROLE = {
  "tasks:read": "viewer",
  "tasks:write": "member",
  "workers:read": "viewer",
  "workers:write": "admin",
  "leases:write": "admin",
  "secrets:read": "admin",
  "secrets:write": "admin",
  "users:read": "viewer",
  "users:write": "admin",
  "keys:read": "admin",
  "keys:write": "admin",
  "account:read": "viewer",
  "account:write": "owner",
  "audit:read": "admin",
  "webhooks:read": "admin",
  "webhooks:write": "admin",
} as const satisfies Readonly<Record<string, Role>>;

/** One thing a caller may do: a resource, and to read or to write it. */
export type Scope = keyof typeof LEAST_ROLE;

/** The scopes that a caller has. */
export type ScopeSet = ReadonlySet<Scope>;

/** All scopes, in the order they are shown in. */
export const SCOPES: readonly Scope[] = Object.keys(LEAST_ROLE) as Scope[];

/** The outcome of reading a list of scopes. */
type ScopesOutcome =
  | {
    readonly kind: "ok";
    /**
     * The scopes that the list grants, with wildcards such as `workers:*`
     * expanded.
     */
    readonly scopes: ScopeSet;
    /**
     * The list as it is stored and shown: without duplicates, in the usual
     * order.
     */
    readonly names: readonly string[];
  }
  | {
    readonly kind: "invalid";
    /** The place of the wrong item in the list; absent for the whole list. */
    readonly index?: number;
    /** What is wrong, as a message for the client. */
    readonly reason: string;
  };

/** All scopes of each resource, by the resource's wildcard. */
const BY_WILDCARD: ReadonlyMap<string, readonly Scope[]> = Map.groupBy(
  SCOPES,
  (scope) => `${scope.slice(0, scope.indexOf(":"))}:*`,
);

/** All names of scopes that a key can be given, the wildcards last. */
export const SCOPE_NAMES: readonly string[] = [
  ...SCOPES,
  ...BY_WILDCARD.keys(),
];

const BY_ROLE: Readonly<Record<Role, ScopeSet>> = {
  viewer: impliedBy("viewer"),
  member: impliedBy("member"),
  admin: impliedBy("admin"),
  owner: impliedBy("owner"),
};

/**
 * Reads a list of scopes as a client sends it. `workers:*` stands for all
 * scopes of workers. There is no wildcard for everything; a key with a role
 * serves for that.
 */
export function parseScopes(list: readonly string[]): ScopesOutcome {
  if (list.length === 0) {
    return {
      kind: "invalid",
      reason: "Cannot use scopes: the list is empty",
    };
  }
  const names = new Set<string>();
  for (const [index, name] of list.entries()) {
    if (!SCOPE_NAMES.includes(name)) {
      return { kind: "invalid", index, reason: unknownScope(name) };
    }
    names.add(name);
  }
  return {
    kind: "ok",
    scopes: new Set([...names].flatMap(scopesNamed)),
    names: SCOPE_NAMES.filter((name) => names.has(name)),
  };
}

/**
 * The scopes of a key, by its role or by its list. Names that only an earlier
 * version knew are skipped.
 */
export function scopesOfKey(
  { role, scopes = [] }: {
    /** The key's role; absent when it has a list of scopes. */
    readonly role?: Role | undefined;
    /** The names of the key's scopes; absent when it has a role. */
    readonly scopes?: readonly string[] | undefined;
  },
): ScopeSet {
  return role === undefined
    ? new Set(scopes.flatMap(scopesNamed))
    : scopesOfRole(role);
}

/** The scopes of a role. */
export function scopesOfRole(role: Role): ScopeSet {
  return BY_ROLE[role];
}

/**
 * The first needed scope that is missing, for the answer that names it;
 * `undefined` when all are there.
 */
export function missingScope(
  scopes: ScopeSet,
  needed: Scope | Iterable<Scope>,
): Scope | undefined {
  const wanted = typeof needed === "string" ? [needed] : needed;
  for (const scope of wanted) {
    if (!scopes.has(scope)) return scope;
  }
  return undefined;
}

function scopesNamed(name: string): readonly Scope[] {
  return BY_WILDCARD.get(name) ?? SCOPES.filter((scope) => scope === name);
}

function unknownScope(name: string): string {
  const guess = nearest(name, SCOPE_NAMES);
  const hint = guess === undefined
    ? `known are ${SCOPE_NAMES.join(", ")}`
    : `did you mean ${quote(guess)}?`;
  return `Cannot use scope ${quote(name)}: it does not exist, ${hint}`;
}

function impliedBy(role: Role): ScopeSet {
  return new Set(SCOPES.filter((scope) => allows(role, LEAST_ROLE[scope])));
}
