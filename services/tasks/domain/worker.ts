/**
 * A worker as the service keeps it: who does the tasks, and how they get there.
 *
 * @module
 */

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
  readonly url?: string;
  /** The method of the call. */
  readonly method: "POST" | "PUT" | "PATCH";
  /** Headers of the call; values may hold `{{secrets.NAME}}`. */
  readonly headers: Readonly<Record<string, string>>;
  /** The jobs it has, by name; any job when absent. */
  readonly jobs?: Readonly<Record<string, WorkerJob>>;
  /** Most tasks under way at once; 0 for no bound but the plan's. */
  readonly concurrency: number;
  /** Limits beside concurrency. */
  readonly limits?: WorkerLimits;
  /** How long an attempt may take. */
  readonly timeoutMs: number;
  /** How long a lease lasts unless asked otherwise. */
  readonly leaseMs: number;
  /** The retry policy of tasks without one, as the client wrote it; absent means the service's. */
  readonly retry?: unknown;
  /** Lost attempts in a row after which the next one counts as a failure. */
  readonly maxLost: number;
  /** Whether it is given nothing. */
  readonly isPaused: boolean;
  /** Since when it is paused. */
  readonly pausedAtMs?: number;
  /** Who paused it, as `type:id`. */
  readonly pausedBy?: string;
  /** Sealed signing secrets of push calls, the current one first. */
  readonly signing: readonly SigningSecret[];
  /** Sealed ed25519 private key, when calls are signed with it as well. */
  readonly asymmetric?: { readonly sealed: string; readonly publicKey: string };
  /** Whether it belongs to the service itself, out of the tenant's sight. */
  readonly isInternal?: boolean;
  /** When it was made. */
  readonly createdAtMs: number;
  /** The last change. */
  readonly updatedAtMs: number;
}

/** What one job of a worker has of its own. */
export interface WorkerJob {
  /** Where to call instead of the worker's address. */
  readonly url?: string;
  /** How long an attempt may take. */
  readonly timeoutMs?: number;
  /** The retry policy of tasks without one, as the client wrote it. */
  readonly retry?: unknown;
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
  };
  /** Most tasks of a group under way at once. */
  readonly groupConcurrency?: number;
}

/** A sealed secret that push calls are signed with. */
export interface SigningSecret {
  /** The sealed `whsec_` text. */
  readonly sealed: string;
  /** Number of the secret, part of what the seal is bound to. */
  readonly number: number;
  /** When it stops being used; absent for the current one. */
  readonly expiresAtMs?: number;
}
