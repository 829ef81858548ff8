/**
 * The part of the store's interface by which several instances of the service
 * work on one store: their beats, what they tell each other, and the time that
 * counts for all of them.
 *
 * @module
 */

import type { Clock } from "../../shared/clock.ts";
import type { Beat, BeatAnswer } from "../../shared/members.ts";
import type { RecordKind } from "./queries.ts";

/** Lets instances work on one store. */
export interface InstanceStore {
  /**
   * The time by which the store's instants are judged. It is the machine's
   * clock where one instance has the store for itself, else that of the store,
   * so that clocks of machines that differ start nothing early.
   */
  readonly clock: Clock;
  /**
   * Whether {@linkcode InstanceStore.clock} is that of the store, and not of
   * this machine. Then a step of this machine's clock changes nothing, and an
   * instance must not shift leases, since each one would.
   */
  readonly hasOwnTime: boolean;
  /**
   * Whether leases may be judged to have ended. False for some seconds after
   * another server has taken over the store, whose time may differ.
   */
  mayEndLeases(): boolean;
  /**
   * Notes that an instance lives, and shares the duties out.
   *
   * @throws {StoreFailedError} when the store fails
   */
  beat(beat: Beat): Promise<BeatAnswer>;
  /**
   * Removes an instance that stops, so that others take over at once.
   *
   * @throws {StoreFailedError} when the store fails
   */
  leave(id: string): Promise<void>;
  /**
   * Tells other instances, soon and in bundles. Notices may be lost, late or
   * doubled: a listener looks by itself as well, only less often.
   */
  tell(notices: readonly Notice[]): void;
  /**
   * Calls `listen` with what other instances tell.
   *
   * @returns a function that ends it
   */
  onNotice(listen: (notice: Notice) => void): () => void;
}

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
  /** An instance has joined or left, so the members have to be asked for. */
  | { readonly kind: "members" }
  /** There is work for the holder of a duty, before its next round. */
  | { readonly kind: "duty"; readonly duty: string }
  /** Notices may have been lost; everything has to be looked at. */
  | { readonly kind: "gap" };
