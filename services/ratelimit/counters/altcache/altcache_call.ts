/**
 * One call on its way: what is read for it, and what is decided then.
 *
 * @module
 */

import type { Clock, Timer } from "../../../shared/clock.ts";
import type { CounterAnswer } from "../counter_store.ts";
import type { AltcacheChanges, LocalCounter } from "./altcache_changes.ts";
import {
  altcacheCount,
  type AltcachePlan,
  decideAltcacheBatch,
} from "./altcache_plan.ts";
import type { MemcachedOutcome } from "./memcached/connection.ts";
import type { MemcachedNode } from "./memcached/node.ts";

/** What a call needs. */
interface AltcacheCallOptions {
  /** The time. */
  readonly clock: Clock;
  /** When the answer must have been given, by the clock. */
  readonly deadlineMs: number;
  /** Brings changes to the servers. */
  readonly changes: AltcacheChanges;
  /** Whether too many changes are on their way to answer at once. */
  readonly mustWait: () => boolean;
  /** How long a counter of a window lives. */
  readonly timeToLive: (windowSeconds: number) => number;
  /** Is called when a server answered a read, with a failure if it refused. */
  readonly onRead: (server: string, failure: string | undefined) => void;
  /** Takes the answer. */
  readonly resolve: (answer: CounterAnswer) => void;
}

/** Names to be read from one server. */
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
  /** What had arrived at the server when it answered. */
  arrived: number;
}

/** One call. */
export class AltcacheCall {
  readonly #plan: AltcachePlan;
  readonly #options: AltcacheCallOptions;
  readonly #inUse = new Map<string, CounterInUse>();
  #repliesMissing = 0;
  #isAnswered = false;

  /** A call that has not begun. */
  constructor(plan: AltcachePlan, options: AltcacheCallOptions) {
    this.#plan = plan;
    this.#options = options;
  }

  /** Takes its counters into use; what is to be read, one read for a server. */
  reads(
    servers: { choose(key: string): MemcachedNode | undefined },
  ): readonly AltcacheRead[] {
    const keysOf = new Map<MemcachedNode, string[]>();
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
      const keys = keysOf.get(node);
      if (keys === undefined) keysOf.set(node, [key]);
      else keys.push(key);
    }
    this.#repliesMissing = keysOf.size;
    return [...keysOf].map(([node, keys]) => ({ node, keys }));
  }

  /** Takes what a server answered to a read. */
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

  /** Keeps the counts; why there are none, if so. */
  #take(read: AltcacheRead, outcome: MemcachedOutcome): string | undefined {
    const { node, keys } = read;
    if (outcome.kind === "unavailable") return outcome.reason;
    if (outcome.kind !== "values") {
      const reason = outcome.kind === "refused"
        ? outcome.reason
        : "an unexpected kind of reply";
      this.#options.onRead(node.name, reason);
      return reason;
    }
    this.#options.onRead(node.name, undefined);
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

  /** Answers when so many changes have arrived, or one is lost or late. */
  #awaitArrival(
    count: number,
    answer: CounterAnswer,
  ): ((failure: string | undefined) => void) | undefined {
    if (count === 0) return undefined;
    const { clock, deadlineMs } = this.#options;
    const timer: Timer = clock.setTimer(() => {
      const reason = "increments do not arrive in time";
      this.#answer({ kind: "unavailable", reason });
    }, Math.max(0, deadlineMs - clock.nowMs()));
    let missing = count;
    return (failure) => {
      if (failure !== undefined) {
        this.#answer({ kind: "unavailable", reason: failure });
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
