/**
 * The messages between the main thread and the threads that serve beside it.
 *
 * @module
 */

import type { OverLimitKey } from "../activity/over_limit_keys.ts";
import type { SharedStores } from "../counters/shared_stores.ts";
import type { ServingPorts } from "../listeners.ts";
import type { ConfigDocument } from "../rules/load.ts";
import type { RateLimitSettings } from "../settings.ts";
import type { StatChange } from "../stats/stats_reader.ts";

/** A message to a thread. */
export type ToThread =
  | {
    /** The first message: the thread opens everything but the listeners. */
    readonly kind: "start";
    /** Number of the thread; the main thread has 0. */
    readonly thread: number;
    /** The settings, with this thread's share of what is bounded. */
    readonly settings: RateLimitSettings;
    /** The counters of all threads. */
    readonly stores: SharedStores;
    /**
     * When the monotonic clock began by which they count, that of the main
     * thread, in milliseconds since the epoch.
     */
    readonly timeOriginMs: number;
  }
  | {
    /** The thread puts these rules into force; they are free of faults. */
    readonly kind: "configure";
    /** The files, or the resources of a discovery server. */
    readonly documents: readonly ConfigDocument[];
  }
  | {
    /** The thread opens its listeners, once it has rules. */
    readonly kind: "open";
    /** The ports of the main thread's listeners. */
    readonly ports: ServingPorts;
  }
  | {
    /**
     * The thread asks the callers of so many gRPC connections to open new ones.
     */
    readonly kind: "retire";
    readonly connections: number;
  }
  /** The thread reads certificates and the candidate's files again. */
  | { readonly kind: "reload" }
  /** Files may have changed: the thread looks at those that it reads. */
  | { readonly kind: "lookAtFiles" }
  /** The thread lets its health checks fail, and goes on. */
  | { readonly kind: "terminate" }
  | {
    /** The thread takes no new calls and lets running ones finish. */
    readonly kind: "stop";
    readonly graceMs: number;
  };

/** A message from a thread. */
export type FromThread =
  /** The thread has handled the rules that it was sent. */
  | { readonly kind: "configured" }
  /** The listeners of the thread are open. */
  | { readonly kind: "opened" }
  | {
    /** The thread lives; sent a few times a second. */
    readonly kind: "beat";
    /** Changes of its statistics since the last message. */
    readonly changes: readonly StatChange[];
    /** Open gRPC connections. */
    readonly connections: number;
    /**
     * The counters that refuse most often; undefined when they were sent within
     * the last second.
     */
    readonly overLimitKeys?: readonly OverLimitKey[] | undefined;
  }
  | {
    /** The thread has stopped; these are the last changes of its statistics. */
    readonly kind: "stopped";
    readonly changes: readonly StatChange[];
  }
  | {
    /** The thread can't serve. */
    readonly kind: "failed";
    readonly problems: readonly string[];
  };
