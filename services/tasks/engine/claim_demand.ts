/**
 * Somebody who wants tasks of a worker.
 *
 * @module
 */

import type { Soon } from "../../shared/settled.ts";
import type { Task } from "../domain/task.ts";

/** A task that was taken. */
export interface Grant {
  /** The task, running. */
  readonly task: Task;
  /** The token of its lease. */
  readonly token: string;
  /** Who had it before the start, for what is to be told. */
  readonly previous: Task;
}

/** A wish for tasks. It is met once, with one task or more. */
export interface Demand {
  /** Most tasks that are wanted now. */
  max(): number;
  /** Only tasks of these jobs; all when absent. */
  readonly jobs?: readonly string[];
  /** How long the leases last; the worker's time when absent. */
  readonly leaseMs?: number;
  /** The worker's name for its process. */
  readonly instance?: string;
  /** Whether the service makes the calls itself. */
  readonly isPush: boolean;
  /** Who starts the tasks, for their history. */
  readonly actorId: string;
  /**
   * Is asked before it is given tasks that it has waited for. One that may have
   * none any more wants none from now on.
   * @default it may have them
   */
  askAgain?(): Soon<void>;
  /**
   * Hears that so many tasks are being started for it. Each is taken later, or
   * let go.
   */
  hold?(tasks: number): void;
  /** Hears that so many of the tasks could not be started. */
  letGo?(tasks: number): void;
  /**
   * Takes what was claimed, after the commit. When it answers false, it is gone,
   * and the tasks are given back.
   */
  take(grants: readonly Grant[]): boolean;
  /** Whether it is content with what it got; a lasting demand never is. */
  readonly isLasting: boolean;
}
