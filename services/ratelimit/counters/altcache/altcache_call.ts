/**
 * One call on memcached counters: the names that its counters have in
 * memcached, what is read for the call, and what it decides.
 *
 * @module
 */

import { Buffer } from "node:buffer";
import { createHash } from "node:crypto";
import type { Clock, Timer } from "../../../shared/clock.ts";
import {
  type CounterAnswer,
  type CounterBatch,
  type CounterOperation,
  getStoppingLimit,
} from "../counter_store.ts";
import { windowStartSeconds } from "../fixed_window.ts";
import type { AltcacheChanges, LocalCounter } from "./altcache_changes.ts";
import type { MemcachedOutcome } from "./memcached/connection.ts";
import type { MemcachedNode } from "./memcached/node.ts";
import { MAX_MEMCACHED_KEY_BYTES } from "./memcached/protocol.ts";

/** One operation of a batch, with its counter by number. */
interface AltcacheOperation {
  /** Index of the counter's name in {@linkcode AltcachePlan.keys}. */
  readonly key: number;
  /** Hits to add. */
  readonly hits: number;
  /** Requests allowed in one window. */
  readonly limit: number;
}

/** A batch in a form that holds none of the caller's bytes. */
export interface AltcachePlan {
  /** Names of the counters, each of them once. */
  readonly keys: readonly string[];
  /** The operations in their order. */
  readonly operations: readonly AltcacheOperation[];
  /** For each name, the length of its counter's window. */
  readonly windowSeconds: readonly number[];
  /**
   * True when a counter that goes over its limit keeps the others from
   * counting.
   */
  readonly stopWhenOver: boolean;
}

/** The counts after a batch, and how the counters change. */
interface AltcacheDecision {
  /** For each operation, the count after it. */
  readonly results: readonly number[];
  /** For each counter, the hits to be added to it. */
  readonly changes: readonly number[];
}

/** Reads a batch: which counters it touches, and what it does to each. */
export function planAltcacheBatch(batch: CounterBatch): AltcachePlan {
  const keys: string[] = [];
  const windowSeconds: number[] = [];
  const seen = new Map<string, number>();
  const operations = batch.operations.map((operation) => {
    const name = altcacheKey(batch, operation);
    const { hits } = operation;
    const limit = getStoppingLimit(operation);
    const key = seen.get(name) ?? keys.length;
    if (key === keys.length) {
      seen.set(name, key);
      keys.push(name);
      windowSeconds.push(operation.windowSeconds);
    } else {
      windowSeconds[key] = Math.max(
        windowSeconds[key]!,
        operation.windowSeconds,
      );
    }
    return { key, hits, limit };
  });
  const stopWhenOver = batch.stopWhenOver === true;
  return { keys, operations, windowSeconds, stopWhenOver };
}

/**
 * Applies the operations one after the other to the counts that were read.
 * Counts end at 0 and at `Number.MAX_SAFE_INTEGER`, so a change never carries
 * the server's 64 bits around to 0.
 */
export function decideAltcacheBatch(
  plan: AltcachePlan,
  counts: readonly number[],
): AltcacheDecision {
  const all = applyOperations(plan.operations, counts);
  if (!plan.stopWhenOver) return all;
  const over = new Set<number>();
  for (const [i, { key, hits, limit }] of plan.operations.entries()) {
    if (hits > 0 && all.results[i]! > limit) over.add(key);
  }
  if (over.size === 0) return all;
  // All operations on a counter that is over still count: otherwise two small
  // ones on it could pass as one.
  return applyOperations(
    plan.operations.map((operation) =>
      operation.hits > 0 && !over.has(operation.key)
        ? { ...operation, hits: 0 }
        : operation
    ),
    counts,
  );
}

/**
 * Returns the count in a counter's value. Blanks may follow the digits: the
 * server writes them when a number gets shorter.
 *
 * @returns `undefined` when the value is not a number.
 */
export function altcacheCount(value: string | undefined): number | undefined {
  if (value === undefined) return 0;
  if (!/^\d{1,20} *$/.test(value)) return undefined;
  return Math.min(Number(value), Number.MAX_SAFE_INTEGER);
}

function applyOperations(
  operations: readonly AltcacheOperation[],
  counts: readonly number[],
): AltcacheDecision {
  const after = [...counts];
  const results = operations.map(({ key, hits }) => {
    const count = Math.max(0, after[key]! + hits);
    return after[key] = Math.min(count, Number.MAX_SAFE_INTEGER);
  });
  return { results, changes: after.map((count, i) => count - counts[i]!) };
}

/**
 * Beginning of the names of hashed keys; a key that begins so itself is hashed.
 */
const MARK = "sha256:";
/** Bytes of a hashed key that stay readable in its name. */
const SHOWN_BYTES = 64;

/**
 * Returns the name of an operation's counter: the key, followed by the start of
 * the window in decimal digits. A key that the server would not take, or that
 * could be confused with another one, is replaced by the SHA-256 of all its
 * bytes, so that two keys never share a counter and every key has one.
 */
function altcacheKey(
  batch: CounterBatch,
  operation: CounterOperation,
): string {
  const { keyStart, keyEnd, windowSeconds } = operation;
  const { buffer, byteOffset } = batch.keys;
  const key = Buffer.from(buffer, byteOffset + keyStart, keyEnd - keyStart);
  const window = String(windowStartSeconds(batch.nowSeconds, windowSeconds));
  if (key.length + window.length <= MAX_MEMCACHED_KEY_BYTES && isPlain(key)) {
    const name = key.toString("latin1") + window;
    if (!name.startsWith(MARK)) return name;
  }
  const shown = key.toString("latin1", 0, SHOWN_BYTES).replace(
    /[^\x21-\x7e]/g,
    "?",
  );
  const hash = createHash("sha256").update(key).digest("base64url");
  return `${MARK}${shown}:${hash}:${window}`;
}

/**
 * True when the key can be sent and does not end in a digit, so that the digits
 * of the window are not taken for a part of it.
 */
function isPlain(key: Uint8Array): boolean {
  for (let i = 0; i < key.length; i++) {
    const byte = key[i]!;
    if (byte <= 0x20 || byte > 0x7e) return false;
  }
  const last = key[key.length - 1];
  return last === undefined || last < 0x30 || last > 0x39;
}

/** The options of an {@linkcode AltcacheCall}. */
interface AltcacheCallOptions {
  /** Gives the time. */
  readonly clock: Clock;
  /** Deadline of the answer, by the clock. */
  readonly deadlineMs: number;
  /** Sends changes to the servers. */
  readonly changes: AltcacheChanges;
  /**
   * True when so many changes are pending that the call must wait for its own.
   */
  readonly mustWait: () => boolean;
  /** Returns how long the counter of a window lives, in seconds. */
  readonly timeToLive: (windowSeconds: number) => number;
  /** Takes the answer, once. */
  readonly resolve: (answer: CounterAnswer) => void;
}

/** The names to read from one server. */
interface AltcacheRead {
  /** The server. */
  readonly node: MemcachedNode;
  /** The names. */
  readonly keys: readonly string[];
}

interface CounterInUse {
  readonly counter: LocalCounter;
  count: number;
  isMissing: boolean;
  /** Hits that had arrived at the server when it answered. */
  arrived: number;
}

/** One call: reads its counters, decides, and hands on the changes. */
export class AltcacheCall {
  readonly #plan: AltcachePlan;
  readonly #options: AltcacheCallOptions;
  readonly #inUse = new Map<string, CounterInUse>();
  #repliesMissing = 0;
  #isAnswered = false;

  /** Makes a call that has not begun. */
  constructor(plan: AltcachePlan, options: AltcacheCallOptions) {
    this.#plan = plan;
    this.#options = options;
  }

  /**
   * Takes the counters of the call into use; returns the reads to make, one for
   * each server.
   */
  reads(
    servers: { choose(key: string): MemcachedNode | undefined },
  ): readonly AltcacheRead[] {
    const keysByNode = new Map<MemcachedNode, string[]>();
    for (const key of this.#plan.keys) {
      const node = servers.choose(key);
      if (node === undefined) continue;
      const counter = this.#options.changes.use(key, node);
      this.#inUse.set(key, {
        counter,
        count: 0,
        isMissing: false,
        arrived: 0,
      });
      const keys = keysByNode.get(node);
      if (keys === undefined) keysByNode.set(node, [key]);
      else keys.push(key);
    }
    this.#repliesMissing = keysByNode.size;
    return [...keysByNode].map(([node, keys]) => ({ node, keys }));
  }

  /** Takes a server's reply to a read; after the last one, decides. */
  onReply(read: AltcacheRead, outcome: MemcachedOutcome): void {
    const failure = this.#take(read, outcome);
    if (failure !== undefined) {
      this.#answer({ kind: "unavailable", reason: failure });
    }
    if (--this.#repliesMissing > 0) return;
    if (!this.#isAnswered) this.#decide();
    for (const { counter } of this.#inUse.values()) {
      this.#options.changes.release(counter);
    }
  }

  /** Keeps the counts of a reply; returns why it has no counts, if so. */
  #take(read: AltcacheRead, outcome: MemcachedOutcome): string | undefined {
    const { keys } = read;
    if (outcome.kind === "unavailable") return outcome.reason;
    if (outcome.kind !== "values") {
      return outcome.kind === "refused"
        ? outcome.reason
        : "an unexpected kind of reply";
    }
    for (const [i, key] of keys.entries()) {
      const value = outcome.values[i];
      const count = altcacheCount(value);
      if (count === undefined) return "the value of a counter is not a number";
      const inUse = this.#inUse.get(key)!;
      inUse.count = count;
      inUse.isMissing = value === undefined;
      inUse.arrived = inUse.counter.arrived;
    }
    return undefined;
  }

  #decide(): void {
    const inUse = [...this.#inUse.values()];
    const counts = inUse.map(({ counter, count, arrived }) => {
      const sum = count + counter.decided - arrived;
      return Math.min(Math.max(0, sum), Number.MAX_SAFE_INTEGER);
    });
    const { results, changes } = decideAltcacheBatch(this.#plan, counts);
    const answer: CounterAnswer = { kind: "counted", results };
    const arrival = this.#options.mustWait()
      ? this.#awaitArrival(changes.filter((hits) => hits !== 0).length, answer)
      : undefined;
    if (arrival === undefined) this.#answer(answer);
    for (const [i, hits] of changes.entries()) {
      if (hits === 0) continue;
      const { counter, isMissing } = inUse[i]!;
      this.#options.changes.change(counter, {
        hits,
        timeToLiveSeconds: this.#options.timeToLive(
          this.#plan.windowSeconds[i]!,
        ),
        isMissing,
        onSettled: arrival,
      });
    }
  }

  /**
   * Returns a callback for `count` changes: the answer is given when all of
   * them have arrived, and is a failure when one is lost or late.
   */
  #awaitArrival(
    count: number,
    answer: CounterAnswer,
  ): ((failure: string | undefined) => void) | undefined {
    if (count === 0) return undefined;
    const { clock, deadlineMs } = this.#options;
    const timer: Timer = clock.setTimer(() => {
      const reason = "increments do not arrive in time";
      this.#answer({ kind: "unavailable", reason, mayHaveCounted: true });
    }, Math.max(0, deadlineMs - clock.nowMs()));
    let missing = count;
    return (failure) => {
      if (failure !== undefined) {
        this.#answer({
          kind: "unavailable",
          reason: failure,
          mayHaveCounted: true,
        });
      } else if (--missing === 0) {
        this.#answer(answer);
      }
      if (this.#isAnswered) timer.cancel();
    };
  }

  #answer(answer: CounterAnswer): void {
    if (this.#isAnswered) return;
    this.#isAnswered = true;
    this.#options.resolve(answer);
  }
}
