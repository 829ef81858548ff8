/**
 * Statistics and spans of counter stores. The statistics have the names that
 * dashboards of envoyproxy/ratelimit know.
 *
 * @module
 */

import { markFailed, type Tracing } from "../../shared/telemetry/tracing.ts";
import type { Counter, Stats } from "../stats/stats.ts";
import type {
  CounterAnswer,
  CounterBatch,
  CounterStore,
} from "./counter_store.ts";

/** Counts connections to a server. */
export interface ConnectionTally {
  /** Notes that a connection is up. */
  opened(): void;
  /** Notes that a connection that was up has ended, by either side. */
  closed(): void;
}

/** Names of the pools of connections. */
type PoolName = "redis_pool" | "redis_per_second_pool";

/**
 * Counts the connections of a pool: `cx_active` (how many there are),
 * `cx_total` (how many there have been) and `cx_local_close` (how many of those
 * have ended). All servers of a cluster count as one pool.
 */
export function connectionTally(stats: Stats, pool: PoolName): ConnectionTally {
  const active = stats.gauge(`ratelimit.${pool}.cx_active`);
  const total = stats.counter(`ratelimit.${pool}.cx_total`);
  const closed = stats.counter(`ratelimit.${pool}.cx_local_close`);
  let count = 0;
  return {
    opened() {
      active.set(++count);
      total.add();
    },
    closed() {
      active.set(--count);
      closed.add();
    },
  };
}

/** Counts outages of a store. */
export interface OutageTally {
  /** Notes how many parts of the store are out, such as servers. */
  out(parts: number): void;
}

/**
 * Counts what is out: `breakers_open` (how many servers, or other parts, get no
 * calls since they can't serve them) and `outages` (how often the store began
 * to be out).
 */
export function outageTally(
  stats: Stats,
  pool: PoolName | "memcache",
): OutageTally {
  const open = stats.gauge(`ratelimit.${pool}.breakers_open`);
  const outages = stats.counter(`ratelimit.${pool}.outages`);
  let known = 0;
  return {
    out(parts) {
      if (known === 0 && parts > 0) outages.add();
      known = parts;
      open.set(parts);
    },
  };
}

/** Outcome of a command, as statistics name it. */
type AltcacheCode = "success" | "error" | "miss" | "not_stored";

/** Commands to ALTCACHE, each with the outcomes that it can have. */
const ALTCACHE_CODES = {
  multiget: ["success", "error"],
  increment: ["success", "error", "miss"],
  add: ["success", "error", "not_stored"],
} as const satisfies Readonly<Record<string, readonly AltcacheCode[]>>;

/** Commands to ALTCACHE that are counted. */
type AltcacheCommand = keyof typeof ALTCACHE_CODES;

/** Counts commands to ALTCACHE. */
export interface AltcacheTally {
  /** Notes the outcome of a command, which may be that it gets no answer. */
  command(name: AltcacheCommand, outcomeKind: string): void;
  /** Notes how many counters were asked for, and how many of them exist. */
  read(keys: { readonly requested: number; readonly found: number }): void;
}

/**
 * Counts the commands to ALTCACHE by their outcome, as a tag of the name
 * (`ratelimit.memcache.multiget.__code=success`), and the counters that were
 * read (`keys_requested`, `keys_found`).
 */
export function altcacheTally(stats: Stats): AltcacheTally {
  const requested = stats.counter("ratelimit.memcache.keys_requested");
  const found = stats.counter("ratelimit.memcache.keys_found");
  const counters = new Map<string, Counter>();
  for (const [command, codes] of Object.entries(ALTCACHE_CODES)) {
    for (const code of codes) {
      const name = `${command}.__code=${code}`;
      counters.set(name, stats.counter(`ratelimit.memcache.${name}`));
    }
  }
  return {
    command(name, outcomeKind) {
      const code = CODES[outcomeKind] ?? "error";
      const counter = counters.get(`${name}.__code=${code}`) ??
        counters.get(`${name}.__code=error`);
      counter?.add();
    },
    read(keys) {
      requested.add(keys.requested);
      found.add(keys.found);
    },
  };
}

/** Outcomes by the kind of a reply; other kinds are errors. */
const CODES: Readonly<Record<string, AltcacheCode>> = {
  values: "success",
  number: "success",
  stored: "success",
  not_found: "miss",
  not_stored: "not_stored",
};

/** What a {@linkcode TracedStore} is made of. */
interface TracedStoreOptions {
  /** Keeps the counters. */
  readonly store: CounterStore;
  /** Makes the spans. */
  readonly tracing: Tracing;
  /** Name of the spans. */
  readonly spanName: string;
  /** The kind of server, as `db.system.name` has it. */
  readonly system: string;
}

/**
 * Makes a span of each batch of a call whose own span is recorded. Keys and
 * addresses are left out of the spans.
 */
export class TracedStore implements CounterStore {
  readonly #options: TracedStoreOptions;

  /** Wraps a store, which is started and stopped with this one. */
  constructor(options: TracedStoreOptions) {
    this.#options = options;
  }

  /** Applies a batch; see {@linkcode CounterStore.apply}. */
  apply(batch: CounterBatch): CounterAnswer | Promise<CounterAnswer> {
    const { store, tracing, spanName, system } = this.#options;
    if (tracing.current()?.isRecording() !== true) return store.apply(batch);
    const span = tracing.begin(spanName, {
      role: "client",
      attributes: {
        "db.system.name": system,
        "db.operation.batch.size": batch.operations.length,
      },
    });
    const end = (answer: CounterAnswer): CounterAnswer => {
      if (answer.kind === "unavailable") markFailed(span, answer.reason);
      span.end();
      return answer;
    };
    const answer = store.apply(batch);
    return answer instanceof Promise ? answer.then(end) : end(answer);
  }

  /** Returns the health of the store. */
  isHealthy(): boolean {
    return this.#options.store.isHealthy();
  }

  /** Starts the store. */
  start(): Promise<void> {
    return this.#options.store.start();
  }

  /** Stops the store. */
  stop(): Promise<void> {
    return this.#options.store.stop();
  }
}
