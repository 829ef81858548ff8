/**
 * Locks by key, so that changes of the same thing happen one after the other.
 * Without them, of all commits at once only one succeeds and the others start
 * over, so the work grows with the square of their number, and the last ones
 * give up.
 *
 * The locks hold within one instance. Of several instances each lets one holder
 * of a key through, and of these one succeeds in each round of commits, so a
 * holder costs one commit an instance at most. An instance may lose many rounds
 * to one whose commits always come in between; so it rests before later tries.
 *
 * @module
 */

import type { Clock } from "../../shared/clock.ts";

/** The outcome of waiting for locks. */
type LockOutcome =
  | {
    readonly kind: "ok";
    /** Releases all of the locks; has to be called once. */
    readonly release: () => void;
  }
  /** Too many others wait, or the wait took too long. */
  | { readonly kind: "busy" }
  /** The client went away. */
  | { readonly kind: "gone" };

/** A client that waits and may go away. */
export interface LockClient {
  /**
   * Calls `listener` once when the client goes away, at once if it has.
   *
   * @returns a function that removes the listener
   */
  onGone(listener: () => void): () => void;
}

/** The longest wait for locks, in milliseconds. */
const MAX_WAIT_MS = 10_000;
/** The most entries that may wait for one key. */
const MAX_WAITING = 1_000;

/** How many times the holder of a lock tries without a rest. */
const TRIES_AT_ONCE = 3;
/** The longest rest before a try, in milliseconds. */
const MAX_REST_MS = 100;

/**
 * Waits before the holder of a lock tries again to write what rivals at other
 * instances have written meanwhile: not at all at first, then about half a
 * second in twenty tries.
 *
 * @param tries how many tries have failed
 */
export async function restBeforeTry(
  tries: number,
  { clock, random }: {
    readonly clock: Clock;
    /** Returns a random number from 0 to before 1. */
    readonly random: () => number;
  },
): Promise<void> {
  if (tries <= TRIES_AT_ONCE) return;
  const mostMs = Math.min(MAX_REST_MS, 2 ** (tries - TRIES_AT_ONCE));
  await new Promise<void>((resolve) => {
    clock.setTimer(resolve, Math.ceil(mostMs * random()));
  });
}

interface Entry {
  readonly keys: readonly string[];
  /** How many of its keys are locked or awaited by an earlier entry. */
  blockers: number;
  /** Called when no earlier entry is left. */
  begin: () => void;
}

/**
 * Grants locks first come, first served. The keys of an entry are requested and
 * awaited together; an entry joins all of its queues at the same moment, so
 * that no two entries wait for each other.
 */
export class KeyLocks {
  readonly #queues = new Map<string, Entry[]>();
  readonly #clock: Clock;

  /** Creates the locks, all of them free. */
  constructor({ clock }: { readonly clock: Clock }) {
    this.#clock = clock;
  }

  /** How many keys are locked or awaited. */
  get size(): number {
    return this.#queues.size;
  }

  /** Waits until all of the keys are free, and locks them. */
  async acquire(
    keys: Iterable<string>,
    client: LockClient,
  ): Promise<LockOutcome> {
    const entry: Entry = {
      keys: [...new Set(keys)],
      blockers: 0,
      begin: () => {},
    };
    if (entry.keys.some((key) => this.#isFull(key))) return { kind: "busy" };
    for (const key of entry.keys) {
      const queue = this.#queues.get(key);
      if (queue === undefined) this.#queues.set(key, [entry]);
      else {
        queue.push(entry);
        entry.blockers++;
      }
    }
    const ok: LockOutcome = {
      kind: "ok",
      release: () => this.#remove(entry),
    };
    if (entry.blockers === 0) return ok;
    const outcome = Promise.withResolvers<LockOutcome>();
    entry.begin = () => outcome.resolve(ok);
    const leave = (kind: "busy" | "gone"): void => {
      if (entry.blockers === 0) return;
      this.#remove(entry);
      outcome.resolve({ kind });
    };
    const timer = this.#clock.setTimer(() => leave("busy"), MAX_WAIT_MS);
    const removeListener = client.onGone(() => leave("gone"));
    try {
      return await outcome.promise;
    } finally {
      timer.cancel();
      removeListener();
    }
  }

  #isFull(key: string): boolean {
    return (this.#queues.get(key)?.length ?? 0) > MAX_WAITING;
  }

  #remove(entry: Entry): void {
    for (const key of entry.keys) {
      const queue = this.#queues.get(key);
      const at = queue?.indexOf(entry) ?? -1;
      if (queue === undefined || at === -1) continue;
      queue.splice(at, 1);
      const [next] = queue;
      if (next === undefined) this.#queues.delete(key);
      else if (at === 0 && --next.blockers === 0) next.begin();
    }
  }
}
