/**
 * What instances of the service tell each other over the store that they share.
 *
 * @module
 */

import type { CommonNotice } from "../../shared/instance_store.ts";
import type { RecordKind } from "./queries.ts";

/** What instances tell each other. */
export type Notice =
  /** A worker has tasks that may be taken, or room for them. */
  | {
    readonly kind: "due";
    readonly tenantId: string;
    readonly workerId: string;
    /** The group in which room has become free, if that is what happened. */
    readonly group?: string;
    /** The first of its tasks of a job and group that may be taken now. */
    readonly task?: {
      readonly job: string;
      readonly group: string;
      /** See {@linkcode Placement.rank}. */
      readonly rank: number;
    };
  }
  /** A record was written. */
  | {
    readonly kind: "record";
    readonly recordKind: RecordKind;
    readonly tenantId: string;
    readonly id: string;
  }
  /** A running task was canceled, whose push call can be given up. */
  | {
    readonly kind: "canceled";
    readonly tenantId: string;
    readonly taskId: string;
    readonly attemptId: string;
  }
  /** A request waits for the end of a task; see `ended`. */
  | {
    readonly kind: "awaited";
    readonly tenantId: string;
    readonly taskId: string;
  }
  /** A task that was awaited has ended, or was removed. */
  | {
    readonly kind: "ended";
    readonly tenantId: string;
    readonly taskId: string;
  }
  /** A task has to be woken soon. */
  | {
    readonly kind: "wake";
    /** When, in milliseconds since the epoch. */
    readonly atMs: number;
  }
  /** A task of the tenant waits for others. */
  | { readonly kind: "blocked"; readonly tenantId: string }
  /** Someone at the instance reads the events of a tenant; see `events`. */
  | { readonly kind: "listening"; readonly tenantId: string }
  /** There are more events of a tenant that someone reads elsewhere. */
  | { readonly kind: "events"; readonly tenantId: string }
  /** A worker has asked for tasks. */
  | {
    readonly kind: "asked";
    readonly tenantId: string;
    readonly workerId: string;
    /** When, in milliseconds since the epoch. */
    readonly atMs: number;
    /** The name that the worker gave its process. */
    readonly instance?: string | undefined;
    /** The jobs that it asked for; all when absent. */
    readonly jobs?: readonly string[] | undefined;
  }
  | CommonNotice;
