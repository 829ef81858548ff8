/**
 * Sends changes of counters to memcached, and computes how long a counter lives
 * there.
 *
 * @module
 */

import type { Clock } from "../../../shared/clock.ts";
import type { AltcacheTally } from "../store_telemetry.ts";
import type { MemcachedOutcome } from "./memcached/connection.ts";
import type { MemcachedNode } from "./memcached/node.ts";
import { addCommand, decrCommand, incrCommand } from "./memcached/protocol.ts";

/**
 * Longest time to live, in seconds; memcached takes a larger number for a date.
 */
const MAX_RELATIVE_SECONDS = 2_592_000;
/** Latest date that memcached can read (32 bits with a sign). */
const MAX_DATE = 0x7fffffff;

/**
 * Returns a time to live as memcached reads it (protocol.txt, "Expiration
 * times"): up to 30 days unchanged, above that as the date at which it ends,
 * and 0, which is never, when that date is out of reach. Without this, a
 * counter of a month or a year would be read as one that ended in 1970.
 */
export function altcacheExpiry(
  timeToLiveSeconds: number,
  nowSeconds: number,
): number {
  if (timeToLiveSeconds <= MAX_RELATIVE_SECONDS) return timeToLiveSeconds;
  const date = nowSeconds + timeToLiveSeconds;
  return date <= MAX_DATE ? date : 0;
}

/** How {@linkcode AltcacheChanges} are made. */
interface AltcacheChangesOptions {
  /** Bound in milliseconds on sending one change to its server. */
  readonly timeoutMs: number;
  /** Gives the time. */
  readonly clock: Clock;
  /** The time of day in whole Unix seconds, from which servers' dates count. */
  readonly nowSeconds: () => number;
  /** Called when changes have arrived, and with a reason when they are lost. */
  readonly onSettled: (change: SettledChange) => void;
  /**
   * Counts commands by their outcome.
   *
   * @default not counted
   */
  readonly tally?: AltcacheTally | undefined;
}

/** Changes that went together in one command and have arrived or are lost. */
export interface SettledChange {
  /** Number of changes in the command. */
  readonly changes: number;
  /** Why the changes did not arrive; absent when they did. */
  readonly failure?: string | undefined;
}

/** One change of a counter. */
interface AltcacheChange {
  /** Hits to add; less than 0 gives hits back. */
  readonly hits: number;
  /** How long the counter lives, when this change creates it. */
  readonly timeToLiveSeconds: number;
  /**
   * True when a read has just shown that the server does not have the counter.
   */
  readonly isMissing: boolean;
  /**
   * Called when the change has arrived, or with the failure when it is lost.
   */
  readonly onSettled?: ((failure: string | undefined) => void) | undefined;
}

/** The state that this process keeps of a counter in use. */
export interface LocalCounter {
  /** Name of the counter. */
  readonly key: string;
  /** The server that keeps the counter. */
  readonly node: MemcachedNode;
  /** Hits decided in this process, without those that were lost. */
  decided: number;
  /** Those of the decided hits that the server has counted. */
  arrived: number;
  /** Reads and decisions in progress. */
  users: number;
  /** Changes that the next command will carry. */
  next: AltcacheChange[];
  /** Changes that the command in progress carries. */
  sent: AltcacheChange[];
}

/**
 * Most commands for one change: the counter may be created or lost meanwhile.
 */
const MAX_STEPS = 6;

/**
 * Sends changes to their servers. The changes of one counter go in one command
 * at a time; what is decided while a command is in progress goes together in
 * the next one. Each counter's state includes what has not arrived yet, so that
 * decisions count it.
 */
export class AltcacheChanges {
  readonly #options: AltcacheChangesOptions;
  readonly #counters = new Map<string, LocalCounter>();
  #pending = 0;
  #drained: PromiseWithResolvers<void> | undefined;

  /** Starts without a change. */
  constructor(options: AltcacheChangesOptions) {
    this.#options = options;
  }

  /** Number of changes that have not arrived. */
  get pending(): number {
    return this.#pending;
  }

  /** Number of counters in use. */
  get size(): number {
    return this.#counters.size;
  }

  /** Resolves when no change is pending. */
  drained(): Promise<void> {
    if (this.#pending === 0) return Promise.resolve();
    this.#drained ??= Promise.withResolvers();
    return this.#drained.promise;
  }

  /** Takes a counter into use; the caller must `release` it once. */
  use(key: string, node: MemcachedNode): LocalCounter {
    const known = this.#counters.get(key);
    // After a change of the server list, the state for the old server is
    // useless.
    if (known !== undefined && known.node === node) {
      known.users++;
      return known;
    }
    const counter = {
      key,
      node,
      decided: 0,
      arrived: 0,
      users: 1,
      next: [],
      sent: [],
    };
    this.#counters.set(key, counter);
    return counter;
  }

  /** Ends a use of a counter. */
  release(counter: LocalCounter): void {
    counter.users--;
    this.#forget(counter);
  }

  /** Sends a change, or keeps it for the next command. */
  change(counter: LocalCounter, change: AltcacheChange): void {
    this.#pending++;
    counter.decided += change.hits;
    counter.next.push(change);
    if (counter.sent.length === 0) this.#send(counter, change.isMissing);
  }

  #send(counter: LocalCounter, isMissing: boolean): void {
    counter.sent = counter.next;
    counter.next = [];
    let hits = 0;
    let timeToLiveSeconds = 0;
    for (const change of counter.sent) {
      hits += change.hits;
      timeToLiveSeconds = Math.max(timeToLiveSeconds, change.timeToLiveSeconds);
    }
    if (hits === 0) return this.#settle(counter, undefined);
    const { clock, nowSeconds, timeoutMs, tally } = this.#options;
    new Delivery({
      counter,
      hits,
      expiry: altcacheExpiry(timeToLiveSeconds, nowSeconds()),
      deadlineMs: clock.nowMs() + timeoutMs,
      onEnd: (failure) => this.#settle(counter, failure),
      tally,
    }).begin(isMissing);
  }

  #settle(counter: LocalCounter, failure: string | undefined): void {
    let settled = counter.sent;
    counter.sent = [];
    if (failure !== undefined) {
      // Changes that wait would meet the same server a moment later.
      settled = settled.concat(counter.next);
      counter.next = [];
    }
    const hits = settled.reduce((sum, change) => sum + change.hits, 0);
    if (failure === undefined) counter.arrived += hits;
    else counter.decided -= hits;
    this.#pending -= settled.length;
    this.#options.onSettled({
      changes: settled.length,
      failure,
    });
    for (const { onSettled } of settled) onSettled?.(failure);
    if (counter.sent.length > 0) return;
    if (counter.next.length > 0) this.#send(counter, false);
    else this.#forget(counter);
    if (this.#pending === 0) {
      this.#drained?.resolve();
      this.#drained = undefined;
    }
  }

  #forget(counter: LocalCounter): void {
    if (counter.users > 0 || counter.sent.length > 0) return;
    if (this.#counters.get(counter.key) === counter) {
      this.#counters.delete(counter.key);
    }
  }
}

interface DeliveryOptions {
  readonly counter: LocalCounter;
  readonly hits: number;
  readonly expiry: number;
  readonly deadlineMs: number;
  readonly onEnd: (failure: string | undefined) => void;
  /** Counts commands by their outcome; undefined counts none of them. */
  readonly tally: AltcacheTally | undefined;
}

/**
 * Sends one sum of hits: adds it to the counter, or stores it when the counter
 * is new.
 */
class Delivery {
  readonly #options: DeliveryOptions;
  #steps = 0;

  constructor(options: DeliveryOptions) {
    this.#options = options;
  }

  begin(isMissing: boolean): void {
    const { counter, hits, deadlineMs } = this.#options;
    if (hits > 0) return isMissing ? this.#add() : this.#incr();
    // The statistics have no name for commands that give hits back.
    counter.node.send(decrCommand(counter.key, -hits), {
      deadlineMs,
      done: (outcome) => this.#onReply(outcome),
    });
  }

  #incr(): void {
    const { counter, hits, deadlineMs, tally } = this.#options;
    counter.node.send(incrCommand(counter.key, hits), {
      deadlineMs,
      done: (outcome) => {
        tally?.command("increment", outcome.kind);
        this.#onReply(outcome);
      },
    });
  }

  #add(): void {
    const { counter, hits, expiry, deadlineMs, tally } = this.#options;
    counter.node.send(
      addCommand(counter.key, { value: String(hits), expiry }),
      {
        deadlineMs,
        done: (outcome) => {
          tally?.command("add", outcome.kind);
          this.#onReply(outcome);
        },
      },
    );
  }

  #onReply(outcome: MemcachedOutcome): void {
    const { hits, onEnd } = this.#options;
    this.#steps++;
    switch (outcome.kind) {
      case "not_found":
        // A counter that does not exist has no hits that could be given back.
        if (hits < 0) return onEnd(undefined);
        if (this.#steps < MAX_STEPS) return this.#add();
        break;
      case "not_stored":
        if (this.#steps < MAX_STEPS) return this.#incr();
        break;
      case "refused":
      case "unavailable":
        return onEnd(outcome.reason);
      case "number":
      case "stored":
        return onEnd(undefined);
      default:
        return onEnd("an unexpected kind of reply");
    }
    onEnd("the counter was made and lost again and again");
  }
}
