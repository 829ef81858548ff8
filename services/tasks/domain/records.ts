/**
 * The records that are stored besides tasks: actors, tenants, users, API keys,
 * worker credentials, plans and workers. Times are milliseconds since the
 * epoch.
 *
 * @module
 */

import type { AlertRule } from "./alert_rule.ts";

/** Who caused a change, as history and the audit log keep it. */
export interface Actor {
  /**
   * A person, an API key, a worker, a role of the database that has enqueued a
   * task, or the service itself.
   */
  readonly type: "user" | "key" | "worker" | "role" | "system";
  /**
   * The id of the user, key or worker; the name of the role; `system` for the
   * service.
   */
  readonly id: string;
}

/** The actor that stands for the service itself. */
export const SYSTEM_ACTOR: Actor = { type: "system", id: "system" };

/** An account with a host name of its own. */
export interface Tenant {
  /** `ten_` and 26 characters. */
  readonly id: string;
  /** 1 at first, one more with each change. */
  readonly version: number;
  /** The label of its host name. */
  readonly domain: string;
  /**
   * Whether the service answers its requests. `closing`: it was deleted, and
   * its domain stays reserved.
   */
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
  /** Whether the person may act. `invited`: the person has not acted yet. */
  readonly status: "invited" | "active" | "disabled";
  /** Whether the person sees the data and results of tasks. */
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
  /** The role that decides what the key may do; absent when it has scopes. */
  readonly role?: UserRole | undefined;
  /** The single permissions of the key; absent when it has a role. */
  readonly scopes?: readonly string[] | undefined;
  /** The networks that its requests may come from, as CIDR; any when absent. */
  readonly networks?: readonly string[] | undefined;
  /** Whether the key sees the data and results of tasks. */
  readonly payloads: boolean;
  /** The user who made it; absent for the first key of a tenant. */
  readonly madeBy?: string | undefined;
  /** When it was made. */
  readonly createdAtMs: number;
  /** When it stops working. */
  readonly expiresAtMs?: number | undefined;
  /**
   * When the key stops working because another key replaced it, if that is
   * sooner than `expiresAtMs`.
   */
  readonly replacedUntilMs?: number | undefined;
  /** When it was last used, to the minute. */
  readonly lastUsedAtMs?: number | undefined;
}

/** The time in which a person uses the console without signing in again. */
export interface Session {
  /** The tenant; empty for a session of the operator. */
  readonly tenantId: string;
  /** `session:` and the SHA-256 of the cookie in hexadecimal. */
  readonly id: string;
  /** Always 1. */
  readonly version: number;
  /** What the person signed in with, whose rights the session has. */
  readonly credential: {
    /** An API key, a user by the identity provider, or the operator's token. */
    readonly kind: "key" | "user" | "operator";
    /** The id of the key or user; the begin of the digest of the token. */
    readonly id: string;
  };
  /** When it began. */
  readonly createdAtMs: number;
  /** When it ends at the latest. */
  readonly endsAtMs: number;
}

/** What a worker logs in with. */
export interface WorkerCredential {
  /** The tenant. */
  readonly tenantId: string;
  /** `wk_` and 16 characters, the beginning of its secret. */
  readonly id: string;
  /** 1 at first, one more with each change. */
  readonly version: number;
  /** The worker that the credential logs in as. */
  readonly workerId: string;
  /** Its name for people. */
  readonly name: string;
  /** SHA-256 of the secret in hexadecimal. */
  readonly digest: string;
  /** Whether leases taken with the credential carry the worker's secrets. */
  readonly secrets: boolean;
  /** When it was made. */
  readonly createdAtMs: number;
  /** When it stops working. */
  readonly expiresAtMs?: number | undefined;
  /** When it was last used, to the minute. */
  readonly lastUsedAtMs?: number | undefined;
}

/** A plan: the limits and features that a tenant gets. */
export interface Plan {
  /** Its id, such as `free`. */
  readonly id: string;
  /** Its name for people. */
  readonly name: string;
  /** Its limits. */
  readonly limits: PlanLimits;
  /** What it includes besides its limits, in words. */
  readonly features: readonly string[];
}

/** The limits of a plan; null means no limit. */
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
  /** Bytes of a task's data as JSON text. */
  readonly payloadBytes: number;
  /** Tasks of one batch. */
  readonly batchSize: number;
  /** How far ahead a date may lie, in milliseconds. */
  readonly maxDelayMs: number | null;
  /** The shortest spacing of a schedule, in milliseconds. */
  readonly minIntervalMs: number;
  /** Tasks of one worker that run at once. */
  readonly concurrency: number | null;
  /** How long a task is kept after its end, in milliseconds. */
  readonly retentionMs: number | null;
  /** How long entries of the audit log are kept, in milliseconds. */
  readonly auditRetentionMs: number | null;
  /** How long a session at the console lasts, in milliseconds. */
  readonly sessionMs: number;
  /**
   * Records kept of a task's history, at least
   * {@linkcode MIN_HISTORY_PER_TASK}; older ones are folded away.
   */
  readonly historyPerTask: number | null;
}

/** What a plan costs. */
export interface Price {
  /** The plan's id. */
  readonly plan: string;
  /** ISO 4217, in capitals. */
  readonly currency: string;
  /** The period that the price covers. */
  readonly interval: "month" | "year";
  /** The amount in the currency's smallest unit, a whole number. */
  readonly unitAmount: number;
  /** Prices by use, which are paid in addition. */
  readonly metered: readonly {
    /** The unit that is counted. */
    readonly unit: string;
    /** How many units cost the amount. */
    readonly per: number;
    /** The amount in the currency's smallest unit, a whole number. */
    readonly unitAmount: number;
  }[];
  /** The first day of the price, as `YYYY-MM-DD`. */
  readonly effectiveFrom: string;
}

/** The smallest limit on a task's history. Most tasks never reach it. */
export const MIN_HISTORY_PER_TASK = 10;

const DAY_MS = 86_400_000;

/** Most tasks of a batch, whatever the plan says. */
export const MAX_BATCH_SIZE = 1_000;

/**
 * The plan of installations without a plans file. It has no limits except those
 * that keep the service working.
 */
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
    payloadBytes: 1_048_576,
    batchSize: MAX_BATCH_SIZE,
    maxDelayMs: null,
    minIntervalMs: 1_000,
    concurrency: null,
    retentionMs: 30 * DAY_MS,
    auditRetentionMs: 400 * DAY_MS,
    sessionMs: DAY_MS / 2,
    historyPerTask: 10_000,
  },
  features: [],
};

/** How long tasks are kept after their end, by their outcome. */
export interface Retain {
  /** Milliseconds for those that succeeded; absent leaves it to others. */
  readonly succeededMs?: number | undefined;
  /**
   * Milliseconds for those that failed, expired or were canceled; absent leaves
   * it to others.
   */
  readonly failedMs?: number | undefined;
}

/**
 * A worker's definition. Live facts, such as when it last asked for tasks, are
 * stored elsewhere.
 */
export interface WorkerDefinition {
  /** The tenant it belongs to. */
  readonly tenantId: string;
  /** `wrk_` and 26 characters. */
  readonly id: string;
  /** 1 at first, one more with each change. */
  readonly version: number;
  /** Its name as written; unique in the tenant whatever the case. */
  readonly name: string;
  /**
   * Whether the service calls the worker (push) or the worker asks for tasks
   * (pull).
   */
  readonly kind: "push" | "pull";
  /** The URL of a push worker; may hold `{{secrets.NAME}}`. */
  readonly url?: string | undefined;
  /** The method of the call. */
  readonly method: "POST" | "PUT" | "PATCH";
  /** Headers of the call; values may hold `{{secrets.NAME}}`. */
  readonly headers: Readonly<Record<string, string>>;
  /** The jobs that the worker knows, by name; any job when absent. */
  readonly jobs?: Readonly<Record<string, WorkerJob>> | undefined;
  /** The most tasks that run at once; 0 means no limit but the plan's. */
  readonly concurrency: number;
  /** Limits besides `concurrency`. */
  readonly limits?: WorkerLimits | undefined;
  /** How long an attempt may take, in milliseconds. */
  readonly timeoutMs: number;
  /**
   * How long a lease lasts unless the worker asks for another length, in
   * milliseconds.
   */
  readonly leaseMs: number;
  /**
   * The retry policy of tasks without one, as the client wrote it; absent means
   * the service's default.
   */
  readonly retry?: unknown | undefined;
  /** How long its tasks are kept after their end; absent means as the plan says. */
  readonly retain?: Retain | undefined;
  /**
   * How many attempts may be lost in a row; the next lost one counts as a
   * failure.
   */
  readonly maxLost: number;
  /** Whether the worker gets no tasks. */
  readonly isPaused: boolean;
  /** Since when it is paused. */
  readonly pausedAtMs?: number | undefined;
  /** When it was last resumed. */
  readonly resumedAtMs?: number | undefined;
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

/** Settings of a single job that replace those of its worker. */
export interface WorkerJob {
  /** The URL to call instead of the worker's. */
  readonly url?: string | undefined;
  /** How long an attempt may take, in milliseconds. */
  readonly timeoutMs?: number | undefined;
  /** The retry policy of tasks without one, as the client wrote it. */
  readonly retry?: unknown | undefined;
  /** How long its tasks are kept after their end. */
  readonly retain?: Retain | undefined;
}

/** Limits of a worker besides its concurrency. */
export interface WorkerLimits {
  /** The most starts within a period. */
  readonly rate?: {
    /** How many. */
    readonly count: number;
    /** Length of the period. */
    readonly periodMs: number;
    /** Whether the limit holds for the whole worker or for each group. */
    readonly per: "worker" | "group";
  } | undefined;
  /** The most tasks of a group that run at once. */
  readonly groupConcurrency?: number | undefined;
  /**
   * Whether limits of groups count the tasks of all workers of the tenant that
   * say so; absent means those of this worker.
   */
  readonly groupScope?: "tenant" | undefined;
}

/** A sealed secret that push calls are signed with. */
export interface SigningSecret {
  /** The sealed `whsec_` text. */
  readonly sealed: string;
  /** The number of the secret, which the seal is bound to. */
  readonly number: number;
  /** When the secret stops being used; absent for the current one. */
  readonly expiresAtMs?: number | undefined;
}

/** What has a key to sign the calls to a receiver. */
export type Signer = Pick<
  WorkerDefinition,
  "tenantId" | "id" | "signing" | "asymmetric"
>;

/** An address that is told a tenant's events. */
export interface Webhook {
  /** The tenant. */
  readonly tenantId: string;
  /** `whk_` and 26 characters. */
  readonly id: string;
  /** 1 at first, one more with each change. */
  readonly version: number;
  /** Its name for people. */
  readonly name: string;
  /** The URL that is called. */
  readonly url: string;
  /** The types that are told, and patterns such as `task.*`. */
  readonly types: readonly string[];
  /** Only events of this worker and its tasks, by its id; of all when absent. */
  readonly workerId?: string | undefined;
  /** Only events of tasks of this job; of all when absent. */
  readonly job?: string | undefined;
  /** Only events of tasks of this group; of all when absent. */
  readonly group?: string | undefined;
  /** Whether events are told. */
  readonly isEnabled: boolean;
  /** Why the service has disabled it: it answered 410, or failed for days. */
  readonly disabledReason?: "gone" | "failing" | undefined;
  /** Since when it is disabled. */
  readonly disabledAtMs?: number | undefined;
  /** Sealed signing secrets, the current one first. */
  readonly signing: readonly SigningSecret[];
  /** When it was made. */
  readonly createdAtMs: number;
  /** The last change. */
  readonly updatedAtMs: number;
}

/** Where and how the messages of an alert are sent. */
export interface AlertSend {
  /** The URL that is called. */
  readonly url: string;
  /** The form of the message. */
  readonly template: "slack" | "discord" | "email" | "standard";
  /** Who an e-mail is from. */
  readonly from?: string | undefined;
  /** Who an e-mail is to. */
  readonly to?: string | undefined;
  /** The value of the header Authorization, sealed. */
  readonly authorization?: string | undefined;
}

/** A condition on what tasks do that is told when it comes true. */
export interface Alert {
  /** The tenant. */
  readonly tenantId: string;
  /** `alr_` and 26 characters. */
  readonly id: string;
  /** 1 at first, one more with each change. */
  readonly version: number;
  /** Its name for people. */
  readonly name: string;
  /** When it is raised. */
  readonly when: AlertRule;
  /** Where its messages are sent. */
  readonly send: AlertSend;
  /** How long after it was raised it is not raised again, in milliseconds. */
  readonly quietMs: number;
  /** Whether it is judged. */
  readonly isEnabled: boolean;
  /** Sealed signing secrets, the current one first. */
  readonly signing: readonly SigningSecret[];
  /** When it was made. */
  readonly createdAtMs: number;
  /** The last change. */
  readonly updatedAtMs: number;
}

/** How many tasks of a worker are running. */
export interface RunningCounts {
  /** All running tasks of the worker. */
  readonly all: number;
  /** The running tasks by group; tasks without a group are left out. */
  readonly groups: ReadonlyMap<string, number>;
}
