/**
 * Lets the work of many clients share one thread: each key (a tenant, an owner,
 * the unknown clients of an address) gets an equal share of the thread's time,
 * however much work it asks for.
 *
 * Work asks for a turn before it begins. Without competition it begins at once;
 * otherwise it waits in a {@linkcode FairQueue}, where the cost of work
 * is the time for which it was measured to hold the thread. A key that is alone
 * gets everything.
 *
 * Each callback of the event loop begins work of one key, so that the time up to
 * the next callback is known to be that key's. It begins several short pieces at
 * once: their steps then alternate, and the processor finds the code of each
 * step in its caches, which halves what a request costs. The thread is one
 * process's, so each instance of a service shares out its own. Only some begin
 * in a round of the event loop: if all began at once, all would first wait for
 * the disk, while the thread is idle, and then all compute, while the disk is
 * idle.
 *
 * ```ts
 * const begun = await turns.begin(tenantId, request);
 * if (begun.kind !== "ok") return refusal(begun);
 * const { turn } = begun;
 * for (const slice of slices) {
 *   work(slice); // A millisecond or less.
 *   await turn.pause();
 * }
 * const rows = await store.read();
 * return turn.measure(() => render(rows));
 * ```
 *
 * @module
 */

import { setImmediate } from "node:timers";
import { type FairKey, FairQueue, type Waiting } from "./fair_queue.ts";
import type { MaybePromise } from "./settled.ts";
import { afterLook, type Pausing } from "./slices.ts";

/** Options of {@linkcode FairTurns}; times are in milliseconds. */
interface FairTurnsOptions {
  /**
   * Tells the time by a clock that only goes forward.
   *
   * @default performance.now()
   */
  readonly monotonicMs?: () => number;
  /**
   * Calls back later: in the order of the calls, each time after everything
   * that the callback before it has led to.
   *
   * @default setImmediate()
   */
  readonly later?: (callback: () => void) => void;
  /**
   * Calls back when the event loop has polled its sockets.
   *
   * @default after 64 callbacks of setImmediate(), since the runtime looks
   * after 61 rounds of the event loop that have something to do
   */
  readonly afterLook?: (callback: () => void) => void;
  /**
   * Most pieces of work that begin or continue in a round: fewer than wait, so
   * that some compute while the commit of others waits for the disk.
   *
   * @default {20}
   */
  readonly maxBegun?: number;
  /**
   * How long pieces of work begin in a round.
   *
   * @default {4}
   */
  readonly roundMs?: number;
  /**
   * How long rounds follow each other without polling the sockets.
   *
   * @default {2}
   */
  readonly lookMs?: number;
  /**
   * Most work of a key that waits to begin; more of it is refused.
   *
   * @default {1000}
   */
  readonly maxWaitingPerKey?: number;
}

/** A client that may leave while its work waits, such as a request. */
interface Leaver {
  /** Calls `listener` when it leaves; the returned function ends that. */
  onGone(listener: () => void): () => void;
}

/** The outcome of asking for a turn. */
export type TurnOutcome =
  /** The work may begin. */
  | { readonly kind: "ok"; readonly turn: Turn }
  /** Too much work of the key waits already. */
  | {
    readonly kind: "refused";
    /** Milliseconds after which the work that waits now should have begun. */
    readonly retryAfterMs: number;
  }
  /** The client has left, so the work need not be done. */
  | { readonly kind: "gone" };

/** The turn of a piece of work, which ends by itself when the work waits. */
export interface Turn extends Pausing {
  /** The key that pays for the work. */
  readonly key: FairKey;
  /** How long the work has waited for its turns so far, in milliseconds. */
  readonly waitedMs: number;
  /**
   * How long the work has held the thread in turns that have ended, in
   * milliseconds.
   */
  readonly usedMs: number;
  /** Charges another key from now on, such as once the caller is known. */
  moveTo(key: FairKey): void;
  /** Runs what is left to do after a wait, and charges the time it takes. */
  measure<Result>(work: () => Result): Result;
}

/**
 * How long a piece of work runs before {@linkcode Turn.pause} lets others go
 * first; also what a key gets in each round of the keys.
 */
const PIECE_MS = 0.5;
/**
 * While several keys ask, rounds and looks are short, so that none waits long,
 * and pieces that begin in one callback take about as long as one may. A key
 * that is alone may use a whole round.
 */
const SHARED = { roundMs: 1, lookMs: 0.5, togetherMs: PIECE_MS } as const;
/** For how long several keys count as asking after the key has changed. */
const SHARED_MS = 1_000;
const LEAST_USUAL_MS = 0.01;
const LEAST_RETRY_MS = 1_000;
const LONGEST_RETRY_MS = 30_000;

/** Schedules the work of many keys. */
export class FairTurns {
  readonly #monotonicMs: () => number;
  readonly #later: (callback: () => void) => void;
  readonly #afterLook: (callback: () => void) => void;
  readonly #maxBegun: number;
  readonly #lookMs: number;
  readonly #roundMs: number;
  readonly #maxWaitingPerKey: number;
  readonly #queue = new FairQueue<Work>({ quantum: PIECE_MS });
  /** Callbacks that are still due in this round. */
  #callbacks = 0;
  /** Whether a round is over and the next one is yet to begin. */
  #isBetween = false;
  /** Work that began or continued in this round. */
  #begun = 0;
  #roundAtMs = 0;
  /**
   * When the event loop last polled its sockets, while there is always work.
   */
  #lookedAtMs: number | undefined;
  /** The work that runs, all of it begun in the same callback. */
  readonly #running = new Set<Work>();
  /** Since when its time has not been charged. */
  #runningSinceMs = 0;
  /** When it began, and how many pieces. */
  #startedAtMs = 0;
  #startedWorks = 0;
  /** About how long a piece of work takes; rather too long than too short. */
  #usualMs = 0.3;
  #isReleased = false;
  #lastKey: FairKey | undefined;
  #sharedUntilMs = -Infinity;
  /** The methods that a turn calls on its scheduler. */
  readonly #scheduler: Scheduler = {
    pause: (work) => this.#pause(work),
    moveTo: (work, key) => this.#moveTo(work, key),
    measure: (work, action) => this.#measure(work, action),
  };

  /** No work has begun. */
  constructor(options: FairTurnsOptions = {}) {
    this.#monotonicMs = options.monotonicMs ?? (() => performance.now());
    this.#later = options.later ??
      ((callback) => void setImmediate(callback));
    this.#afterLook = options.afterLook ?? afterLook;
    this.#lookMs = options.lookMs ?? 2;
    this.#maxBegun = options.maxBegun ?? 20;
    this.#roundMs = options.roundMs ?? 4;
    this.#maxWaitingPerKey = options.maxWaitingPerKey ?? 1_000;
  }

  /** How many keys are remembered: those that wait, and those that owe time. */
  get keys(): number {
    return this.#queue.keys;
  }

  /**
   * Asks for a turn for work of a key.
   *
   * @param client Leaves the queue when it goes away.
   * @returns A value at once when the work need not wait, or is refused.
   */
  begin(key: FairKey, client?: Leaver): MaybePromise<TurnOutcome> {
    const work = new Work(this.#scheduler, key);
    if (this.#isReleased) return { kind: "ok", turn: work };
    if (key !== this.#lastKey) {
      if (this.#lastKey !== undefined) {
        this.#sharedUntilMs = this.#monotonicMs() + SHARED_MS;
      }
      this.#lastKey = key;
    }
    if (this.#isQuiet()) {
      this.#start([work]);
      return { kind: "ok", turn: work };
    }
    const waiting = this.#queue.countWaiting(key);
    if (waiting >= this.#maxWaitingPerKey) {
      return { kind: "refused", retryAfterMs: this.#retryAfterMs(waiting) };
    }
    return new Promise((resolve) => {
      const place = this.#wait(work, false);
      const stopListening = client?.onGone(() => {
        if (this.#queue.remove(place)) resolve({ kind: "gone" });
      });
      work.resume = () => {
        stopListening?.();
        resolve({ kind: "ok", turn: work });
      };
    });
  }

  /**
   * Resumes all waiting work and stops queueing later work, for the shutdown.
   */
  release(): void {
    this.#isReleased = true;
    for (
      let next = this.#queue.shift();
      next !== undefined;
      next = this.#queue.shift()
    ) next.item.resume();
  }

  #pause(work: Work): Promise<void> | undefined {
    // Concurrent parts of one piece of work may call pause() at the same time.
    if (work.pausing !== undefined) return work.pausing;
    if (this.#running.has(work)) {
      const nowMs = this.#monotonicMs();
      const sinceMs = nowMs - this.#startedAtMs;
      const works = this.#startedWorks;
      const mayContinue = this.#queue.isAlone(work.key)
        ? nowMs - this.#roundAtMs < this.#bounds(nowMs).roundMs ||
          works > 1 && sinceMs < PIECE_MS * works
        : sinceMs < PIECE_MS &&
          !this.#queue.owes(work.key);
      if (mayContinue) return undefined;
      this.#settle();
      this.#running.delete(work);
    } else if (this.#isQuiet()) {
      this.#start([work]);
      return undefined;
    }
    work.pausing = new Promise((resolve) => {
      work.resume = () => {
        work.pausing = undefined;
        resolve();
      };
      work.hasPaused = true;
      // Work that has begun goes ahead of new work, since it holds memory.
      this.#wait(work, true);
    });
    return work.pausing;
  }

  #moveTo(work: Work, key: FairKey): void {
    if (this.#running.has(work)) this.#settle();
    work.key = key;
  }

  #measure<Result>(work: Work, action: () => Result): Result {
    if (this.#running.has(work)) return action();
    const startMs = this.#monotonicMs();
    try {
      return action();
    } finally {
      const usedMs = this.#monotonicMs() - startMs;
      // Don't charge this time to the work in whose callback it happens.
      this.#runningSinceMs += usedMs;
      work.usedMs += usedMs;
      this.#queue.charge(work.key, usedMs);
    }
  }

  /** Whether work may begin without waiting: nothing else waits or runs. */
  #isQuiet(): boolean {
    return this.#queue.length === 0 && this.#running.size === 0 &&
      !this.#isBetween && this.#begun < this.#maxBegun;
  }

  #start(works: readonly Work[]): void {
    const nowMs = this.#monotonicMs();
    if (this.#begun === 0) this.#roundAtMs = nowMs;
    this.#begun += works.length;
    for (const work of works) this.#running.add(work);
    this.#runningSinceMs = nowMs;
    this.#startedAtMs = nowMs;
    this.#startedWorks = works.length;
    this.#schedule();
  }

  #wait(work: Work, isAhead: boolean): Waiting<Work> {
    work.askedAtMs = this.#monotonicMs();
    const place = this.#queue.add(work.key, work, isAhead);
    this.#schedule();
    return place;
  }

  /**
   * Schedules a callback for the work that may run next in this round, if there
   * is any, and one more, which ends the round.
   */
  #schedule(): void {
    if (this.#isBetween) return;
    const mayRun = this.#queue.length > 0 && this.#begun < this.#maxBegun;
    const callbacks = mayRun ? 2 : 1;
    while (this.#callbacks < callbacks) {
      this.#callbacks++;
      this.#later(() => this.#call());
    }
  }

  #call(): void {
    this.#callbacks--;
    this.#settle();
    if (this.#running.size > 0) this.#noteUsual();
    this.#running.clear();
    if (this.#hasRoom()) this.#startNext();
    if (this.#callbacks === 0) this.#endRound();
  }

  #hasRoom(): boolean {
    if (this.#begun === 0) return true;
    const nowMs = this.#monotonicMs();
    return this.#begun < this.#maxBegun &&
      nowMs - this.#roundAtMs < this.#bounds(nowMs).roundMs;
  }

  /** How long rounds, looks apart and crowds are now. */
  #bounds(nowMs: number): Record<keyof typeof SHARED, number> {
    const [roundMs, lookMs] = [this.#roundMs, this.#lookMs];
    if (nowMs >= this.#sharedUntilMs) {
      return { roundMs, lookMs, togetherMs: roundMs };
    }
    return {
      roundMs: Math.min(roundMs, SHARED.roundMs),
      lookMs: Math.min(lookMs, SHARED.lookMs),
      togetherMs: SHARED.togetherMs,
    };
  }

  #startNext(): void {
    const first = this.#queue.shift();
    if (first === undefined) return;
    const works = [first.item];
    // A piece that has paused is one of long work, and runs alone.
    if (!first.item.hasPaused) {
      const { togetherMs } = this.#bounds(this.#monotonicMs());
      const most = Math.min(
        this.#maxBegun - this.#begun,
        togetherMs / this.#usualMs,
      );
      while (works.length < most) {
        const next = this.#queue.peek();
        if (next?.key !== first.key || next.item.hasPaused) break;
        this.#queue.shift();
        works.push(next.item);
      }
    }
    this.#start(works);
    for (const work of works) {
      work.waitedMs += this.#runningSinceMs - work.askedAtMs;
      work.resume();
    }
  }

  #endRound(): void {
    this.#begun = 0;
    if (this.#queue.length === 0) {
      // With nothing to do, the event loop polls its sockets.
      this.#lookedAtMs = undefined;
      return this.#queue.forgetDebts();
    }
    // Let the follow-ups of this round, such as the start of a commit, run
    // before the next work.
    this.#isBetween = true;
    this.#lookedAtMs ??= this.#roundAtMs;
    const nowMs = this.#monotonicMs();
    if (nowMs - this.#lookedAtMs < this.#bounds(nowMs).lookMs) {
      return this.#later(() => this.#beginRound());
    }
    this.#afterLook(() => {
      this.#lookedAtMs = this.#monotonicMs();
      this.#beginRound();
    });
  }

  #beginRound(): void {
    this.#isBetween = false;
    this.#schedule();
  }

  /** Charges what the running work has used since it was charged last. */
  #settle(): void {
    if (this.#running.size === 0) return;
    const nowMs = this.#monotonicMs();
    const usedMs = (nowMs - this.#runningSinceMs) / this.#running.size;
    this.#runningSinceMs = nowMs;
    for (const work of this.#running) {
      work.usedMs += usedMs;
      this.#queue.charge(work.key, usedMs);
    }
  }

  /**
   * Learns how long a piece takes, in steps, so that the time in which the
   * system ran something else on the processor counts little.
   */
  #noteUsual(): void {
    const ms = (this.#runningSinceMs - this.#startedAtMs) / this.#startedWorks;
    const step = ms > this.#usualMs ? 1.1 : 0.95;
    this.#usualMs = Math.max(LEAST_USUAL_MS, this.#usualMs * step);
  }

  #retryAfterMs(waiting: number): number {
    const ms = waiting * this.#usualMs * this.#queue.keys;
    return Math.min(LONGEST_RETRY_MS, Math.max(LEAST_RETRY_MS, ms));
  }
}

interface Scheduler {
  pause(work: Work): Promise<void> | undefined;
  moveTo(work: Work, key: FairKey): void;
  measure<Result>(work: Work, action: () => Result): Result;
}

/** A piece of work. */
class Work implements Turn {
  key: FairKey;
  waitedMs = 0;
  usedMs = 0;
  askedAtMs = 0;
  /** Whether it has waited after it had begun. */
  hasPaused = false;
  /** Settles when it may continue, while it has to wait. */
  pausing: Promise<void> | undefined;
  resume: () => void = () => {};
  readonly #scheduler: Scheduler;

  constructor(scheduler: Scheduler, key: FairKey) {
    this.#scheduler = scheduler;
    this.key = key;
  }

  pause(): Promise<void> | undefined {
    return this.#scheduler.pause(this);
  }

  moveTo(key: FairKey): void {
    this.#scheduler.moveTo(this, key);
  }

  measure<Result>(work: () => Result): Result {
    return this.#scheduler.measure(this, work);
  }
}
