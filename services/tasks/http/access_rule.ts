/**
 * Who may call a route.
 *
 * @module
 */

import type { Role, Scope } from "../access/scope.ts";

/** What a caller needs. */
export type Access =
  /** Anybody may. */
  | { readonly kind: "public" }
  /** A user or key of the tenant. */
  | {
    readonly kind: "member";
    /** The least role that implies the scope. */
    readonly role: Role;
    /** The scope a caller needs. */
    readonly scope: Scope;
  }
  /** The worker's credential, or a user or key that may lease. */
  | { readonly kind: "worker" }
  /** Whoever has the token of the lease. */
  | { readonly kind: "lease" }
  /** Who runs the service. */
  | { readonly kind: "operator" };
