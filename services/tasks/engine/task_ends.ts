/**
 * Lets requests wait until a task has ended.
 *
 * @module
 */

import type { Clock } from "../../shared/clock.ts";
import type { Logger } from "../../shared/logger.ts";
import { Periodic } from "../../shared/periodic.ts";
import { Waiters } from "../../shared/waiters.ts";
import { isFinal, type Task } from "../domain/task.ts";
import type { Store } from "../store/store.ts";
import type { TaskChanges } from "./changes.ts";
import type { Notices } from "./notices.ts";

/** Most requests of a tenant that wait at a time. */
const MAX_OF_TENANT = 1_000;

/**
 * After how long the store is asked first, since another instance may have
 * ended the task before it learned of the wait.
 */
const FIRST_LOOK_MS = 100;
/** The time between two looks, for the case that a notice was lost. */
const LOOK_MS = 1_000;
/** How many tasks a look reads at once. */
const PAGE = 100;

interface TaskEndsOptions {
  /** Tells of each change of a task, after its commit. */
  readonly changes: TaskChanges;
  /** Reads the tasks. */
  readonly store: Pick<Store, "task" | "tasks">;
  /** Sets timers. */
  readonly clock: Clock;
  /** Asks other instances for the end, and hears of it. */
  readonly notices: Notices;
  /** Logs failed looks. */
  readonly logger: Logger;
  /**
   * Most requests of a tenant that wait at a time; further ones are answered at
   * once.
   *
   * @default {1000}
   */
  readonly maxOfTenant?: number | undefined;
}

/**
 * Requests that wait for the end of tasks. An end that another instance writes
 * is told by that one; a lost notice costs a second, until the next look.
 */
export class TaskEnds {
  readonly #options: TaskEndsOptions;
  readonly #waiters: Waiters;
  readonly #looks: Periodic;
  /** The tasks that are waited for, with the number of waits. */
  readonly #awaited = new Map<
    string,
    { readonly tenantId: string; readonly id: string; waits: number }
  >();
  /** Ends listening to changes, which is for the time that requests wait. */
  #endListening: (() => void) | undefined;

  /** Takes the changes that end the waits. */
  constructor(options: TaskEndsOptions) {
    const { clock, maxOfTenant, notices, logger } = options;
    this.#options = options;
    this.#waiters = new Waiters({
      clock,
      maxOfOwner: maxOfTenant ?? MAX_OF_TENANT,
    });
    this.#looks = new Periodic({
      clock,
      run: () => this.#look(),
      onError: (error) => {
        logger.warn("Cannot look for the ends of tasks: the store failed", {
          error: String(error),
        });
        this.#looks.wakeIn(LOOK_MS);
      },
    });
    this.#looks.start();
    notices.on("ended", ({ tenantId, taskId }) => {
      this.#waiters.tell(formatKey(tenantId, taskId));
    });
    notices.on("gap", () => this.#looks.wake());
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
    const { store } = this.#options;
    const key = formatKey(tenantId, id);
    const wait = this.#waiters.enter({ owner: tenantId, key, waitMs, onGone });
    if (wait === undefined) return await store.task(tenantId, id);
    this.#begin(tenantId, id);
    try {
      const task = await store.task(tenantId, id);
      if (task === undefined || isFinal(task.status)) return task;
      await wait.over;
      return await store.task(tenantId, id);
    } finally {
      wait.leave();
      this.#end(key);
    }
  }

  #begin(tenantId: string, id: string): void {
    this.#endListening ??= this.#listen();
    const key = formatKey(tenantId, id);
    const awaited = this.#awaited.get(key) ?? { tenantId, id, waits: 0 };
    awaited.waits++;
    this.#awaited.set(key, awaited);
    const { notices } = this.#options;
    notices.tell({ kind: "awaited", tenantId, taskId: id });
    this.#looks.wakeIn(notices.areNeeded ? FIRST_LOOK_MS : LOOK_MS);
  }

  #end(key: string): void {
    const awaited = this.#awaited.get(key);
    if (awaited !== undefined && --awaited.waits === 0) {
      this.#awaited.delete(key);
    }
    if (this.#awaited.size > 0) return;
    this.#endListening?.();
    this.#endListening = undefined;
  }

  #listen(): () => void {
    return this.#options.changes.onChange(({ previous, next }) => {
      const task = next ?? previous;
      if (task === undefined || next?.status === "done") return;
      this.#waiters.tell(formatKey(task.tenantId, task.id));
    }, ["settled"]);
  }

  /** Reads the tasks that are waited for, while others may end them. */
  async #look(): Promise<void> {
    const { store, notices } = this.#options;
    if (this.#awaited.size === 0) return;
    // There may be no others yet.
    const byTenant = Map.groupBy(
      notices.areNeeded ? this.#awaited.values() : [],
      ({ tenantId }) => tenantId,
    );
    for (const [tenantId, awaited] of byTenant) {
      const ids = awaited.map(({ id }) => id);
      for (let from = 0; from < ids.length; from += PAGE) {
        const page = ids.slice(from, from + PAGE);
        const tasks = await store.tasks(tenantId, page);
        for (const [index, id] of page.entries()) {
          const task = tasks[index];
          if (task !== undefined && !isFinal(task.status)) continue;
          this.#waiters.tell(formatKey(tenantId, id));
        }
      }
    }
    this.#looks.wakeIn(LOOK_MS);
  }

  /** Ends all waits, because the service stops; later requests do not wait. */
  stop(): void {
    this.#waiters.stop();
    void this.#looks.stop();
  }
}

/** A key of a wait; no id holds a line feed. */
function formatKey(tenantId: string, id: string): string {
  return `${tenantId}\n${id}`;
}
