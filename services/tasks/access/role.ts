/**
 * Roles of users and keys, from the one that may least to the one that may
 * most.
 *
 * @module
 */

/** All roles; each may do what those before it may. */
export const ROLES = ["viewer", "member", "admin", "owner"] as const;

/** What a user is in its tenant. */
export type Role = typeof ROLES[number];

/** Reads a role; `undefined` when there is none of that name. */
export function parseRole(text: string): Role | undefined {
  return ROLES.find((role) => role === text);
}

/** Tells whether `role` may do what `needed` may. */
export function allows(role: Role, needed: Role): boolean {
  return ROLES.indexOf(role) >= ROLES.indexOf(needed);
}
