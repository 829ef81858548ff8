/**
 * What the main thread and the threads that serve beside it say to each other.
 *
 * @module
 */

import type { SharedStores } from "../counters/shared_stores.ts";
import type { ServingPorts } from "../listeners.ts";
import type { ConfigDocument } from "../rules/load.ts";
import type { RateLimitSettings } from "../settings.ts";
import type { StatChange } from "../stats/stats_reader.ts";

/** What a thread is told. */
export type ToThread =
  | {
    /** Comes first: open everything but the listeners. */
    readonly kind: "start";
    /** Number of the thread; the main thread has 0. */
    readonly thread: number;
    /** The settings, with this thread's share of what is bounded. */
    readonly settings: RateLimitSettings;
    /** The counters of all threads. */
    readonly stores: SharedStores;
  }
  | {
    /** Answers the question for the time. */
    readonly kind: "time";
    /** Milliseconds of the main thread's monotonic clock. */
    readonly monotonicMs: number;
  }
  | {
    /** Put these rules into force; they are free of faults. */
    readonly kind: "configure";
    /** The files, or the resources of a discovery server. */
    readonly documents: readonly ConfigDocument[];
  }
  | {
    /** Open the listeners, once there are rules. */
    readonly kind: "open";
    /** Where the main thread listens. */
    readonly ports: ServingPorts;
  }
  | {
    /** Ask the callers of so many gRPC connections to open new ones. */
    readonly kind: "retire";
    readonly connections: number;
  }
  /** Read certificates and the candidate's files again. */
  | { readonly kind: "reload" }
  /** Let health fail, and go on. */
  | { readonly kind: "terminate" }
  | {
    /** Take no new calls and let running ones finish. */
    readonly kind: "stop";
    readonly graceMs: number;
  };

/** What a thread tells. */
export type FromThread =
  /** What time is it? */
  | { readonly kind: "time" }
  /** It has dealt with the rules that it was told. */
  | { readonly kind: "configured" }
  /** The listeners are open. */
  | { readonly kind: "opened" }
  | {
    /** It lives; comes a few times a second. */
    readonly kind: "beat";
    /** What its statistics have seen since the last time. */
    readonly changes: readonly StatChange[];
    /** Open gRPC connections. */
    readonly connections: number;
  }
  | {
    /** It has stopped, and this was the last of its statistics. */
    readonly kind: "stopped";
    readonly changes: readonly StatChange[];
  }
  | {
    /** It can't serve. */
    readonly kind: "failed";
    readonly problems: readonly string[];
  };
