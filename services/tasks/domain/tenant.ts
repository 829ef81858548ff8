/**
 * Tenants, and the people and programs that act for them, as the service keeps
 * them. Times are milliseconds since the epoch.
 *
 * @module
 */

/** Somebody who has an account, with a host name of their own. */
export interface Tenant {
  /** `ten_` and 26 characters. */
  readonly id: string;
  /** 1 at first, one more with each change. */
  readonly version: number;
  /** The label of its host name. */
  readonly domain: string;
  /** Whether it is served. `closing`: it was deleted, its domain stays reserved. */
  readonly status: "active" | "suspended" | "closing";
  /** The id of its plan. */
  readonly plan: string;
  /** The time zone of tasks that have none. */
  readonly timezone: string;
  /** When it was made. */
  readonly createdAtMs: number;
  /** The last change. */
  readonly updatedAtMs: number;
}

/** What somebody may do: each role may all that those before it may. */
export type UserRole = "viewer" | "member" | "admin" | "owner";

/** A person who acts for a tenant. */
export interface User {
  /** The tenant. */
  readonly tenantId: string;
  /** `usr_` and 26 characters. */
  readonly id: string;
  /** 1 at first, one more with each change. */
  readonly version: number;
  /** The address as it was written; unique in the tenant whatever the case. */
  readonly email: string;
  /** The person's name. */
  readonly name: string;
  /** What the person may do. */
  readonly role: UserRole;
  /** Whether the person may act, or has not done so yet. */
  readonly status: "invited" | "active" | "disabled";
  /** Whether the person sees what tasks carry. */
  readonly payloads: boolean;
  /** Who the person is at the identity provider: its issuer and subject. */
  readonly identity?: { readonly issuer: string; readonly subject: string };
  /** When the person was added. */
  readonly createdAtMs: number;
  /** The last change. */
  readonly updatedAtMs: number;
  /** When the person last acted, to the minute. */
  readonly lastSeenAtMs?: number;
}

/** A key for programs. */
export interface ApiKey {
  /** The tenant. */
  readonly tenantId: string;
  /** `dk_` and 16 characters, the beginning of the key itself. */
  readonly id: string;
  /** 1 at first, one more with each change. */
  readonly version: number;
  /** Its name for people. */
  readonly name: string;
  /** SHA-256 of the secret in hexadecimal. */
  readonly digest: string;
  /** What it may do by role; absent when scopes say it. */
  readonly role?: UserRole;
  /** What it may do one by one; absent when a role says it. */
  readonly scopes?: readonly string[];
  /** Networks it may come from, as CIDR; any when absent. */
  readonly networks?: readonly string[];
  /** Whether it sees what tasks carry. */
  readonly payloads: boolean;
  /** The user who made it; absent for the first key of a tenant. */
  readonly madeBy?: string;
  /** When it was made. */
  readonly createdAtMs: number;
  /** When it stops working. */
  readonly expiresAtMs?: number;
  /** When it stops working since another key was put in its place, if that is sooner. */
  readonly replacedUntilMs?: number;
  /** When it was last used, to the minute. */
  readonly lastUsedAtMs?: number;
}

/** What a worker logs in with. */
export interface WorkerCredential {
  /** The tenant. */
  readonly tenantId: string;
  /** `wk_` and 16 characters, the beginning of its secret. */
  readonly id: string;
  /** 1 at first, one more with each change. */
  readonly version: number;
  /** The worker it opens. */
  readonly workerId: string;
  /** Its name for people. */
  readonly name: string;
  /** SHA-256 of the secret in hexadecimal. */
  readonly digest: string;
  /** Whether its leases may carry the worker's secrets. */
  readonly secrets: boolean;
  /** When it was made. */
  readonly createdAtMs: number;
  /** When it stops working. */
  readonly expiresAtMs?: number;
  /** When it was last used, to the minute. */
  readonly lastUsedAtMs?: number;
}
