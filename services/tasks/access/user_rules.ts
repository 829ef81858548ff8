/**
 * The rules about who may grant which role, and who may change or remove which
 * user.
 *
 * @module
 */

import { quote } from "../../shared/quote.ts";
import type { User } from "../domain/records.ts";
import {
  allows,
  missingScope,
  type Role,
  type ScopeSet,
  scopesOfRole,
} from "./scope.ts";

/** The caller who changes users. */
export interface UserAdministrator {
  /** The scopes of the caller. */
  readonly scopes: ScopeSet;
  /**
   * The user behind the credential: the user who is signed in, or who made the
   * API key. Absent for other callers.
   */
  readonly userId?: string | undefined;
}

/** A change of a user; what is absent stays. */
type UserChange =
  | { readonly kind: "remove" }
  | {
    readonly kind: "update";
    readonly role?: Role | undefined;
    readonly status?: User["status"] | undefined;
  };

/** Whether a change of a user is allowed. */
type UserPermission =
  | { readonly kind: "ok" }
  | {
    readonly kind: "forbidden" | "last_owner";
    /** Why not, as a message for the client. */
    readonly reason: string;
  };

const OK: UserPermission = { kind: "ok" };

/**
 * Tells whether a caller may grant a role: one that has no scope that the
 * caller lacks. So admins grant up to admin, and a key with `users:write` and
 * little else cannot make itself a more powerful user.
 */
export function mayGrantRole(
  actor: UserAdministrator,
  role: Role,
): UserPermission {
  if (!actor.scopes.has("users:write")) {
    return forbidden(
      `Cannot give role ${quote(role)}: scope "users:write" is missing`,
    );
  }
  const missing = missingScope(actor.scopes, scopesOfRole(role));
  if (missing === undefined) return OK;
  return forbidden(
    `Cannot give role ${quote(role)}: it includes scope ${quote(missing)}, ` +
      "which you do not have",
  );
}

/** Options of {@linkcode mayChangeUser}. */
interface MayChangeUserOptions {
  /** The user before the change. */
  readonly user: Pick<User, "id" | "role" | "status">;
  /** The change to be made. */
  readonly change: UserChange;
  /** How many active owners the tenant has, the user included. */
  readonly activeOwners: number;
}

/**
 * Tells whether a caller may change or remove a user. The caller may not change
 * a user with more scopes nor raise its own role, and the last active owner
 * must stay one.
 */
export function mayChangeUser(
  actor: UserAdministrator,
  options: MayChangeUserOptions,
): UserPermission {
  const { user, change } = options;
  const overUser = mayGrantRole(actor, user.role);
  if (overUser.kind !== "ok") {
    return forbidden(
      `Cannot change user ${quote(user.id)}: the user's role is ${
        quote(user.role)
      }, ` +
        "and you may not give that role",
    );
  }
  const role = change.kind === "update" ? change.role : undefined;
  if (role !== undefined) {
    const isOwn = actor.userId === user.id;
    if (isOwn && role !== user.role && allows(role, user.role)) {
      return forbidden(
        `Cannot raise own role to ${quote(role)}: another user has to do it`,
      );
    }
    const overRole = mayGrantRole(actor, role);
    if (overRole.kind !== "ok") return overRole;
  }
  return keepsAnOwner(options);
}

/** Tells whether a tenant keeps an active owner through a change. */
function keepsAnOwner(options: MayChangeUserOptions): UserPermission {
  const { user, change, activeOwners } = options;
  if (!isActiveOwner(user) || activeOwners > 1) return OK;
  const staysOwner = change.kind === "update" && isActiveOwner({
    role: change.role ?? user.role,
    status: change.status ?? user.status,
  });
  if (staysOwner) return OK;
  const what = change.kind === "remove" ? "remove" : "lower";
  return {
    kind: "last_owner",
    reason: `Cannot ${what} user ${quote(user.id)}: it is the last active ` +
      "owner, make another user an owner first",
  };
}

/** Tells whether a user is an owner who may act. */
export function isActiveOwner(
  { role, status }: Pick<User, "role" | "status">,
): boolean {
  return role === "owner" && status === "active";
}

function forbidden(reason: string): UserPermission {
  return { kind: "forbidden", reason };
}
