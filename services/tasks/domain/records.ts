/**
 * Records beside tasks: who acts, tenants, users, API keys, worker credentials,
 * plans and workers. Times are milliseconds since the epoch.
 *
 * @module
 */

/** Who caused a change, as history and the audit log keep it. */
export interface Actor {
  /** A person, an API key, a worker, or the service itself. */
  readonly type: "user" | "key" | "worker" | "system";
  /** The id of that; `system` is its own. */
  readonly id: string;
}

/** The service itself as the one who acts. */
export const SYSTEM_ACTOR: Actor = { type: "system", id: "system" };

/** An account with a host name of its own. */
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

/** A role: each one allows all that the roles before it do. */
type UserRole = "viewer" | "member" | "admin" | "owner";

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
  readonly lastSeenAtMs?: number | undefined;
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
  readonly role?: UserRole | undefined;
  /** What it may do one by one; absent when a role says it. */
  readonly scopes?: readonly string[] | undefined;
  /** Networks it may come from, as CIDR; any when absent. */
  readonly networks?: readonly string[] | undefined;
  /** Whether it sees what tasks carry. */
  readonly payloads: boolean;
  /** The user who made it; absent for the first key of a tenant. */
  readonly madeBy?: string | undefined;
  /** When it was made. */
  readonly createdAtMs: number;
  /** When it stops working. */
  readonly expiresAtMs?: number | undefined;
  /**
   * When it stops working since another key was put in its place, if that is
   * sooner.
   */
  readonly replacedUntilMs?: number | undefined;
  /** When it was last used, to the minute. */
  readonly lastUsedAtMs?: number | undefined;
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
  readonly expiresAtMs?: number | undefined;
  /** When it was last used, to the minute. */
  readonly lastUsedAtMs?: number | undefined;
}

/** A plan. */
export interface Plan {
  /** Its id, such as `free`. */
  readonly id: string;
  /** Its name for people. */
  readonly name: string;
  /** Its limits. */
  readonly limits: PlanLimits;
  /** What it has beside that, as words. */
  readonly features: readonly string[];
}

/** The limits of a plan; null where there is none. */
export interface PlanLimits {
  /**
   * Requests in a second, on average. Ten tasks of a batch or a bulk action, or
   * 10 ms of the service's time, count as one.
   */
  readonly requestsPerSecond: number | null;
  /** Tasks that are not final. */
  readonly activeTasks: number | null;
  /** Attempts that are started in a calendar month of UTC. */
  readonly executionsPerMonth: number | null;
  /** Workers. */
  readonly workers: number | null;
  /** Users. */
  readonly users: number | null;
  /** API keys. */
  readonly keys: number | null;
  /** Webhooks. */
  readonly webhooks: number | null;
  /** Bytes of a task's data as JSON text. */
  readonly payloadBytes: number;
  /** Tasks of one batch. */
  readonly batchSize: number;
  /** How far ahead a date may lie, in milliseconds. */
  readonly maxDelayMs: number | null;
  /** The shortest spacing of a schedule, in milliseconds. */
  readonly minIntervalMs: number;
  /** Tasks of a worker under way at once. */
  readonly concurrency: number | null;
  /** How long a task is kept after its end, in milliseconds. */
  readonly retentionMs: number | null;
  /**
   * Records of a task's history, at least {@linkcode MIN_HISTORY_PER_TASK}; the
   * oldest of more are folded away.
   */
  readonly historyPerTask: number | null;
  /** Event streams at once. */
  readonly sseConnections: number | null;
}

/** What a plan costs. */
export interface Price {
  /** The plan's id. */
  readonly plan: string;
  /** ISO 4217, in capitals. */
  readonly currency: string;
  /** What it is paid for. */
  readonly interval: "month" | "year";
  /** In the currency's minor unit, whole. */
  readonly unitAmount: number;
  /** What is paid by use. */
  readonly metered: readonly {
    /** What is counted. */
    readonly unit: string;
    /** How many of it cost the amount. */
    readonly per: number;
    /** In the currency's minor unit, whole. */
    readonly unitAmount: number;
  }[];
  /** The first day it holds, as `YYYY-MM-DD`. */
  readonly effectiveFrom: string;
}

/** The smallest bound on a task's history, which most tasks never reach. */
export const MIN_HISTORY_PER_TASK = 10;

const DAY_MS = 86_400_000;

/** The plan of installations that set no plans: bounded by sense alone. */
export const UNLIMITED_PLAN: Plan = {
  id: "unlimited",
  name: "Unlimited",
  limits: {
    requestsPerSecond: null,
    activeTasks: null,
    executionsPerMonth: null,
    workers: null,
    users: null,
    keys: null,
    webhooks: null,
    payloadBytes: 1_048_576,
    batchSize: 1_000,
    maxDelayMs: null,
    minIntervalMs: 1_000,
    concurrency: null,
    retentionMs: 30 * DAY_MS,
    historyPerTask: 10_000,
    sseConnections: null,
  },
  features: [],
};

/** A worker's definition. Live facts, such as when it was seen, are elsewhere. */
export interface WorkerDefinition {
  /** The tenant it belongs to. */
  readonly tenantId: string;
  /** `wrk_` and 26 characters. */
  readonly id: string;
  /** 1 at first, one more with each change. */
  readonly version: number;
  /** Its name as written; unique in the tenant whatever the case. */
  readonly name: string;
  /** Whether the service calls it or it asks for tasks. */
  readonly kind: "push" | "pull";
  /** Where to call it; may hold `{{secrets.NAME}}`. */
  readonly url?: string | undefined;
  /** The method of the call. */
  readonly method: "POST" | "PUT" | "PATCH";
  /** Headers of the call; values may hold `{{secrets.NAME}}`. */
  readonly headers: Readonly<Record<string, string>>;
  /** The jobs it has, by name; any job when absent. */
  readonly jobs?: Readonly<Record<string, WorkerJob>> | undefined;
  /** Most tasks under way at once; 0 for no bound but the plan's. */
  readonly concurrency: number;
  /** Limits beside concurrency. */
  readonly limits?: WorkerLimits | undefined;
  /** How long an attempt may take. */
  readonly timeoutMs: number;
  /** How long a lease lasts unless asked otherwise. */
  readonly leaseMs: number;
  /**
   * The retry policy of tasks without one, as the client wrote it; absent means
   * the service's.
   */
  readonly retry?: unknown | undefined;
  /** Lost attempts in a row after which the next one counts as a failure. */
  readonly maxLost: number;
  /** Whether it is given nothing. */
  readonly isPaused: boolean;
  /** Since when it is paused. */
  readonly pausedAtMs?: number | undefined;
  /** Who paused it, as `type:id`. */
  readonly pausedBy?: string | undefined;
  /** Sealed signing secrets of push calls, the current one first. */
  readonly signing: readonly SigningSecret[];
  /** Sealed ed25519 private key, when calls are signed with it as well. */
  readonly asymmetric?:
    | { readonly sealed: string; readonly publicKey: string }
    | undefined;
  /** Whether it belongs to the service itself, out of the tenant's sight. */
  readonly isInternal?: boolean | undefined;
  /** When it was made. */
  readonly createdAtMs: number;
  /** The last change. */
  readonly updatedAtMs: number;
}

/** What one job of a worker has of its own. */
export interface WorkerJob {
  /** Where to call instead of the worker's address. */
  readonly url?: string | undefined;
  /** How long an attempt may take. */
  readonly timeoutMs?: number | undefined;
  /** The retry policy of tasks without one, as the client wrote it. */
  readonly retry?: unknown | undefined;
}

/** Limits of a worker beside its concurrency. */
export interface WorkerLimits {
  /** Most starts in a period. */
  readonly rate?: {
    /** How many. */
    readonly count: number;
    /** Length of the period. */
    readonly periodMs: number;
    /** Whether the whole worker or each group has this much. */
    readonly per: "worker" | "group";
  } | undefined;
  /** Most tasks of a group under way at once. */
  readonly groupConcurrency?: number | undefined;
}

/** A sealed secret that push calls are signed with. */
export interface SigningSecret {
  /** The sealed `whsec_` text. */
  readonly sealed: string;
  /** Number of the secret, part of what the seal is bound to. */
  readonly number: number;
  /** When it stops being used; absent for the current one. */
  readonly expiresAtMs?: number | undefined;
}

/** Tasks under way. */
export interface RunningCounts {
  /** All of the worker. */
  readonly all: number;
  /** By group, those without one left out. */
  readonly groups: ReadonlyMap<string, number>;
}
