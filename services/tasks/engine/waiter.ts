/**
 * The waiters for tasks of a worker, and the barrier by which they learn that a
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
 * Waits for tasks of a worker. A pull request gets tasks once; the waiter for
 * push calls gets tasks again and again.
 */
export interface Waiter {
  /** The most tasks it accepts now. */
  max(): number;
  /** Accepts only tasks of these jobs; all when absent. */
  readonly jobs?: readonly string[] | undefined;
  /**
   * How long the leases last, in milliseconds; the worker's setting when
   * absent.
   */
  readonly leaseMs?: number | undefined;
  /** The name that the worker gave its process. */
  readonly instance?: string | undefined;
  /**
   * Whether the service itself calls the worker. It then is the actor that
   * starts the tasks, and keeps waiting after it got some.
   */
  readonly isPush: boolean;
  /**
   * Checks again whether the waiter may still get tasks, before it gets tasks
   * that it has waited for. If not, it accepts no tasks from then on.
   *
   * @default the waiter may get tasks
   */
  reauthorize?(): MaybePromise<void>;
  /**
   * Notes that this many tasks are being started for the waiter; each of them
   * is later taken or released.
   */
  hold?(tasks: number): void;
  /** Notes that this many of the held tasks could not be started. */
  release?(tasks: number): void;
  /**
   * Hands over the claimed tasks, after the commit.
   *
   * @returns false when the waiter no longer waits; the tasks are then released
   */
  take(grants: readonly Grant[]): boolean;
}

/** Why a round of claims failed. */
export interface RoundFailure {
  /** The error that it threw. */
  readonly error: unknown;
}

/**
 * Lets a waiter wait until a round of claims has considered it, so that no
 * waiter ends without tasks before the store was asked for it.
 */
export class RoundBarrier {
  /** Waiters that no round has considered yet. */
  readonly #new = new Map<Waiter, PromiseWithResolvers<void>>();
  /** The waiters of the current round. */
  #current: ReadonlySet<Waiter> = new Set();
  #failure: RoundFailure | undefined;
  #roundEnd: Promise<void> = Promise.resolve();

  /** Adds a waiter; the caller has to start a round. */
  add(waiter: Waiter): void {
    this.#new.set(waiter, Promise.withResolvers());
  }

  /** Whether no round has considered a waiter yet. */
  isNew(waiter: Waiter): boolean {
    return this.#new.has(waiter);
  }

  /** Notes that a waiter was considered, or has stopped to wait. */
  remove(waiter: Waiter): void {
    this.#new.get(waiter)?.resolve();
    this.#new.delete(waiter);
  }

  /**
   * Waits until a round has considered a waiter and the current round has
   * ended.
   *
   * @returns the failure of the last round, if it failed: there may be tasks
   * that it did not find
   */
  async afterCurrentRound(waiter: Waiter): Promise<RoundFailure | undefined> {
    await this.#new.get(waiter)?.promise;
    if (this.#current.has(waiter)) await this.#roundEnd;
    return this.#failure;
  }

  /**
   * Runs a round for the current waiters.
   *
   * @param round returns the waiters that it did not consider; they wait for
   * another round
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
