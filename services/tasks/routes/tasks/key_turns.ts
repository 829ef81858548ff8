/**
 * Lets changes of one thing go one after the other. Made all at once, each commit
 * has one winner and the others begin again, so the work grows with the square of
 * their number, and the last ones give up.
 *
 * @module
 */

import type { Clock } from "../../../shared/clock.ts";

/** What became of waiting for a turn. */
export type TurnOutcome =
  | {
    readonly kind: "ok";
    /** Ends the turn; to be called once. */
    readonly release: () => void;
  }
  /** Too many wait, or it took too long. */
  | { readonly kind: "busy" }
  /** The client went away. */
  | { readonly kind: "gone" };

/** Options of {@linkcode KeyTurns}. */
export interface KeyTurnsOptions {
  /** The time. */
  readonly clock: Clock;
  /**
   * How long a turn is waited for, in milliseconds.
   * @default {10000}
   */
  readonly maxWaitMs?: number;
  /**
   * Most that wait for one name.
   * @default {1000}
   */
  readonly maxWaiting?: number;
}

interface Entry {
  readonly names: readonly string[];
  /** At how many of its names others are before it. */
  blockers: number;
  /** Called when it is first everywhere. */
  begin: () => void;
}

/**
 * Turns by name, in the order of asking. Several names are asked for at once and
 * waited for together; as everybody stands in all queues at once, in one order,
 * no two requests wait for each other.
 */
export class KeyTurns {
  readonly #queues = new Map<string, Entry[]>();
  readonly #clock: Clock;
  readonly #maxWaitMs: number;
  readonly #maxWaiting: number;

  /** Nobody waits. */
  constructor(options: KeyTurnsOptions) {
    this.#clock = options.clock;
    this.#maxWaitMs = options.maxWaitMs ?? 10_000;
    this.#maxWaiting = options.maxWaiting ?? 1_000;
  }

  /** How many names somebody has a turn of, or waits for. */
  get size(): number {
    return this.#queues.size;
  }

  /**
   * Waits for the turn of some names.
   *
   * @param client.onGone Calls back when its client has gone; gives
   * what ends that.
   */
  async take(
    names: Iterable<string>,
    client: { readonly onGone: (listener: () => void) => () => void },
  ): Promise<TurnOutcome> {
    const entry: Entry = {
      names: [...new Set(names)],
      blockers: 0,
      begin: () => {},
    };
    if (entry.names.some((name) => this.#isFull(name))) return { kind: "busy" };
    for (const name of entry.names) {
      const queue = this.#queues.get(name);
      if (queue === undefined) this.#queues.set(name, [entry]);
      else {
        queue.push(entry);
        entry.blockers++;
      }
    }
    const ok: TurnOutcome = {
      kind: "ok",
      release: () => this.#leave(entry),
    };
    if (entry.blockers === 0) return ok;
    const turn = Promise.withResolvers<TurnOutcome>();
    entry.begin = () => turn.resolve(ok);
    const leave = (kind: "busy" | "gone"): void => {
      if (entry.blockers === 0) return;
      this.#leave(entry);
      turn.resolve({ kind });
    };
    const timer = this.#clock.setTimer(() => leave("busy"), this.#maxWaitMs);
    const stay = client.onGone(() => leave("gone"));
    try {
      return await turn.promise;
    } finally {
      timer.cancel();
      stay();
    }
  }

  #isFull(name: string): boolean {
    return (this.#queues.get(name)?.length ?? 0) > this.#maxWaiting;
  }

  #leave(entry: Entry): void {
    for (const name of entry.names) {
      const queue = this.#queues.get(name);
      const at = queue?.indexOf(entry) ?? -1;
      if (queue === undefined || at === -1) continue;
      queue.splice(at, 1);
      if (queue.length === 0) this.#queues.delete(name);
      else if (at === 0) this.#moveUp(queue[0]!);
    }
  }

  #moveUp(entry: Entry): void {
    if (--entry.blockers === 0) entry.begin();
  }
}
