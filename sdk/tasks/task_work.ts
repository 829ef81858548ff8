/**
 * Executes the tasks of leases, and reports how that went.
 *
 * @module
 */

import type { HeldLease } from "./lease_heartbeats.ts";
import { type LeaseReports, logParts } from "./lease_reports.ts";
import {
  type LeasedTask,
  type TaskAttemptContext,
  type TaskHandler,
  toFailure,
  WorkEnded,
} from "./task_handler.ts";
import { type Resumption, TaskWait } from "./task_wait.ts";

/** The functions that execute tasks: one for all jobs, or one for each. */
export type TaskHandlers = TaskHandler | Readonly<Record<string, TaskHandler>>;

/** What tasks are executed with. */
interface TaskWorkOptions {
  /** The functions that execute tasks. */
  readonly handlers: TaskHandlers;
  /** Sends the reports. */
  readonly reports: LeaseReports;
  /**
   * Called when a handler has returned, which may have blocked the event loop
   * until then.
   */
  readonly onReturn: () => void;
}

/**
 * How long a task is held back that no handler of this process does, so that it
 * does not come back at once.
 */
const UNKNOWN_JOB_DELAY = "10s";

/** Executes tasks. */
export class TaskWork {
  readonly #options: TaskWorkOptions;

  /** Takes the handlers. */
  constructor(options: TaskWorkOptions) {
    this.#options = options;
  }

  /** Executes one task and reports the result. */
  async run(held: HeldLease): Promise<void> {
    const { lease, controller: { signal } } = held;
    const { id, token } = lease;
    const { data, metadata = {}, job = "default" } = lease.task;
    const handler = this.#findHandler(job);
    if (handler === undefined) {
      // Another process of the worker may have the handler, as while a new
      // version of the program is deployed.
      const reason = `This process has no handler of job "${job}"`;
      return await this.#release(held, { reason, delay: UNKNOWN_JOB_DELAY });
    }
    const { reports, onReturn } = this.#options;
    const endsAtMs = (): number => held.endsAtMs;
    try {
      const task: LeasedTask = { id: lease.task.id ?? "", job, data, metadata };
      const result = await handler(task, this.#buildContext(held));
      onReturn();
      if (isGone(signal)) return;
      await reports.add(
        result instanceof TaskWait
          ? { id, token, action: "wait", wait_for: result.waitFor }
          : { id, token, action: "complete", result },
        { endsAtMs },
      );
    } catch (error) {
      onReturn();
      if (isGone(signal)) return;
      if (signal.aborted) return await this.giveBack(held);
      await reports.add({
        ...{ id, token, action: "fail" },
        ...toFailure(error),
      }, { endsAtMs });
    }
  }

  /** Gives a task back because the worker stops. */
  giveBack(held: HeldLease): Promise<void> {
    return this.#release(held, { reason: "The worker stopped" });
  }

  #findHandler(job: string): TaskHandler | undefined {
    const { handlers } = this.#options;
    if (typeof handlers === "function") return handlers;
    return Object.hasOwn(handlers, job) ? handlers[job] : undefined;
  }

  #buildContext(held: HeldLease): TaskAttemptContext {
    const { lease, controller } = held;
    return {
      signal: controller.signal,
      fence: lease.fence,
      run: lease.run,
      attempt: lease.attempt,
      secrets: lease.secrets ?? {},
      dependencies: lease.dependencies ?? [],
      // The members that the service sends depend on the kind.
      resumed: lease.resumed as Resumption | undefined,
      state: lease.state,
      progress: (value) => {
        held.progress = { value };
      },
      log: (...lines) => {
        if (isGone(controller.signal)) return;
        const { id, token } = lease;
        for (const part of logParts(lines)) {
          void this.#options.reports.add(
            { id, token, action: "log", lines: part },
            { endsAtMs: () => held.endsAtMs },
          );
        }
      },
    };
  }

  #release(
    held: HeldLease,
    how: { readonly reason: string; readonly delay?: string },
  ): Promise<void> {
    const { lease: { id, token } } = held;
    return this.#options.reports.add(
      { id, token, action: "release", ...how },
      { endsAtMs: () => held.endsAtMs },
    );
  }
}

/**
 * Tells whether the work was aborted for another reason than the worker's stop.
 * The service would then refuse a report.
 */
function isGone({ reason }: AbortSignal): boolean {
  return reason instanceof WorkEnded && reason.cause !== "stopping";
}
