/**
 * Roles of users and keys, from the one that may least to the one that may most,
 * and the scopes that each implies.
 *
 * @module
 */

import { nearest } from "../../shared/did_you_mean.ts";
import { quote } from "../../shared/quote.ts";

/** All roles; each may do what those before it may. */
export const ROLES = ["viewer", "member", "admin", "owner"] as const;

/** What a user is in its tenant. */
export type Role = typeof ROLES[number];

/** Tells whether `role` may do what `needed` may. */
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
} as const satisfies Readonly<Record<string, Role>>;

/** One thing a caller may do: a resource, and to read or to write it. */
export type Scope = keyof typeof LEAST_ROLE;

/** What a caller may do. */
export type ScopeSet = ReadonlySet<Scope>;

/** All scopes, in the order they are shown in. */
export const SCOPES: readonly Scope[] = Object.keys(LEAST_ROLE) as Scope[];

/** The outcome of reading a list of scopes. */
type ScopesOutcome =
  | {
    readonly kind: "ok";
    /** What the list allows, with `workers:*` and its like spelt out. */
    readonly scopes: ScopeSet;
    /** The list as it is kept and shown: no doubles, in the usual order. */
    readonly names: readonly string[];
  }
  | {
    readonly kind: "invalid";
    /** The place of the wrong item in the list; absent for the whole list. */
    readonly index?: number;
    /** What is wrong, as a message for the client. */
    readonly reason: string;
  };

/** Each resource with all scopes that there are for it. */
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
 * Reads a list of scopes as a client writes it. `workers:*` stands for all
 * scopes of that resource; there is no wildcard for everything, a role is.
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
 * What a key may do, by its role or its scopes. Names that only an earlier version
 * knew are skipped.
 */
export function scopesOfKey(
  { role, scopes = [] }: {
    /** Its role; absent when it has scopes. */
    readonly role?: Role | undefined;
    /** The names of its scopes; absent when it has a role. */
    readonly scopes?: readonly string[] | undefined;
  },
): ScopeSet {
  return role === undefined
    ? new Set(scopes.flatMap(scopesNamed))
    : scopesOfRole(role);
}

/** What a role may do. */
export function scopesOfRole(role: Role): ScopeSet {
  return BY_ROLE[role];
}

/**
 * The first scope that is needed and not there, for the answer that names it;
 * `undefined` when nothing is missing.
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
