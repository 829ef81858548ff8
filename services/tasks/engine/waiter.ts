/**
 * Those who wait for tasks of a worker, and the barrier that resolves when a
 * round of claims has considered them.
 *
 * @module
 */

import type { MaybePromise } from "../../shared/settled.ts";
import type { Task } from "../domain/task.ts";

/** A task that was claimed. */
export interface Grant {
  /** The task, running. */
  readonly task: Task;
  /** The token of its lease. */
  readonly token: string;
  /** The task before its start. */
  readonly previous: Task;
}

/**
 * Waits for tasks. It is given some once, or again and again when it makes push
 * calls.
 */
export interface Waiter {
  /** The most tasks it accepts now. */
  max(): number;
  /** Only tasks of these jobs; all when absent. */
  readonly jobs?: readonly string[] | undefined;
  /** How long the leases last; the worker's time when absent. */
  readonly leaseMs?: number | undefined;
  /** The worker's name for its process. */
  readonly instance?: string | undefined;
  /**
   * Whether the service makes the calls itself: it is who starts the tasks, and
   * waits on after it was given some.
   */
  readonly isPush: boolean;
  /**
   * Checks again whether it may have tasks, before it is given some that it has
   * waited for; when it may not, it accepts none from then on.
   *
   * @default it may have them
   */
  reauthorize?(): MaybePromise<void>;
  /** Notes that so many tasks are being started for it; each is taken or released. */
  hold?(tasks: number): void;
  /** Notes that so many of the held tasks could not be started. */
  release?(tasks: number): void;
  /**
   * Takes what was claimed, after the commit.
   *
   * @returns false when it no longer waits; the tasks are released then
   */
  take(grants: readonly Grant[]): boolean;
}

/** Why a round of claims failed. */
export interface RoundFailure {
  /** The error that it threw. */
  readonly error: unknown;
}

/**
 * Resolves when waiters were considered by a round of claims, so that none ends
 * with nothing before the store was asked for it.
 */
export class RoundBarrier {
  /** Waiters that no round has considered yet. */
  readonly #new = new Map<Waiter, PromiseWithResolvers<void>>();
  /** Waiters of the round under way. */
  #current: ReadonlySet<Waiter> = new Set();
  #failure: RoundFailure | undefined;
  #roundEnd: Promise<void> = Promise.resolve();

  /** Adds a waiter; a round has to follow. */
  add(waiter: Waiter): void {
    this.#new.set(waiter, Promise.withResolvers());
  }

  /** Whether no round has considered a waiter yet. */
  isNew(waiter: Waiter): boolean {
    return this.#new.has(waiter);
  }

  /** Notes that a waiter was considered, or has gone. */
  remove(waiter: Waiter): void {
    this.#new.get(waiter)?.resolve();
    this.#new.delete(waiter);
  }

  /**
   * Waits until a round has considered a waiter, and for the one under way.
   *
   * @returns why the last round failed, if it did: there may be tasks then
   */
  async afterCurrentRound(waiter: Waiter): Promise<RoundFailure | undefined> {
    await this.#new.get(waiter)?.promise;
    if (this.#current.has(waiter)) await this.#roundEnd;
    return this.#failure;
  }

  /**
   * Runs a round for the waiters there are now.
   *
   * @param round Returns the waiters that it did not consider; they wait for
   * another one.
   */
  async run(
    waiters: Iterable<Waiter>,
    round: () => Promise<ReadonlySet<Waiter>>,
  ): Promise<void> {
    const end = Promise.withResolvers<void>();
    this.#current = new Set(waiters);
    this.#roundEnd = end.promise;
    let passedOver: ReadonlySet<Waiter> = new Set();
    try {
      passedOver = await round();
      this.#failure = undefined;
    } catch (error) {
      this.#failure = { error };
      throw error;
    } finally {
      for (const waiter of this.#current) {
        if (!passedOver.has(waiter)) this.remove(waiter);
      }
      this.#current = new Set();
      end.resolve();
    }
  }
}
