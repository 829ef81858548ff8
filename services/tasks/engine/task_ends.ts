/**
 * Lets requests wait until a task has ended.
 *
 * @module
 */

import type { Clock } from "../../shared/clock.ts";
import { Waiters } from "../../shared/waiters.ts";
import { isFinal, type Task } from "../domain/task.ts";
import type { Store } from "../store/store.ts";
import type { TaskChanges } from "./changes.ts";

/** Most requests of a tenant that wait at a time. */
const MAX_OF_TENANT = 1_000;

interface TaskEndsOptions {
  /** Tells of each change of a task, after its commit. */
  readonly changes: TaskChanges;
  /** Reads the tasks. */
  readonly store: Pick<Store, "task">;
  /** Sets timers. */
  readonly clock: Clock;
  /**
   * Most requests of a tenant that wait at a time; further ones are answered at
   * once.
   *
   * @default {1000}
   */
  readonly maxOfTenant?: number | undefined;
}

/** Requests that wait for the end of tasks. */
export class TaskEnds {
  readonly #store: Pick<Store, "task">;
  readonly #changes: TaskChanges;
  readonly #waiters: Waiters;
  /** Ends listening to changes, which is for the time that requests wait. */
  #endListening: (() => void) | undefined;

  /** Takes the changes that end the waits. */
  constructor({ changes, store, clock, maxOfTenant }: TaskEndsOptions) {
    this.#store = store;
    this.#changes = changes;
    this.#waiters = new Waiters({
      clock,
      maxOfOwner: maxOfTenant ?? MAX_OF_TENANT,
    });
  }

  /**
   * Resolves with the task as soon as it has ended, or as it is when `waitMs`
   * are over, the client has gone or the service stops; with undefined when the
   * tenant has no such task.
   *
   * @throws {Error} when the store fails
   */
  async wait(
    tenantId: string,
    id: string,
    { waitMs, onGone }: {
      /** The longest wait in milliseconds; 0 for none. */
      readonly waitMs: number;
      /** Calls the listener when the client goes away. */
      readonly onGone: (listener: () => void) => () => void;
    },
  ): Promise<Task | undefined> {
    const key = formatKey(tenantId, id);
    const wait = this.#waiters.enter({ owner: tenantId, key, waitMs, onGone });
    if (wait !== undefined) this.#endListening ??= this.#listen();
    try {
      const task = await this.#store.task(tenantId, id);
      if (wait === undefined || task === undefined || isFinal(task.status)) {
        return task;
      }
      await wait.over;
      return await this.#store.task(tenantId, id);
    } finally {
      wait?.leave();
      if (this.#waiters.count === 0) {
        this.#endListening?.();
        this.#endListening = undefined;
      }
    }
  }

  #listen(): () => void {
    return this.#changes.onChange(({ previous, next }) => {
      const task = next ?? previous;
      if (task === undefined || next?.status === "done") return;
      this.#waiters.tell(formatKey(task.tenantId, task.id));
    }, ["settled"]);
  }

  /** Ends all waits, because the service stops; later requests do not wait. */
  stop(): void {
    this.#waiters.stop();
  }
}

/** A key of a wait; no id holds a line feed. */
function formatKey(tenantId: string, id: string): string {
  return `${tenantId}\n${id}`;
}
