/**
 * Tells a task's history what became of the call at its end. It listens to the
 * ends of the calls, so it hears of each, whether the receiver answered, the time
 * ran out, or the server that made the call was gone.
 *
 * @module
 */

import type { Timer } from "../../shared/clock.ts";
import { SYSTEM_ACTOR } from "../domain/actor.ts";
import type { Task } from "../domain/task.ts";
import { callbackDataOf } from "./callbacks.ts";
import type { TaskChanges } from "./changes.ts";
import type { EngineParts } from "./parts.ts";
import { tenantOfInternal } from "./workers.ts";

/** How often a report is tried while the store fails. */
const MAX_TRIES = 5;
/** How long to wait before the second try; doubled each time. */
const FIRST_PAUSE_MS = 200;

/** Reports what became of calls. */
export class CallbackReports {
  readonly #parts: EngineParts;
  readonly #changes: TaskChanges;
  readonly #running = new Set<Promise<void>>();
  /** Ends the pauses of reports that wait for another try. */
  readonly #pauses = new Set<() => void>();
  #isStopped = false;

  /** Listens to what changes. */
  constructor(parts: EngineParts, changes: TaskChanges) {
    this.#parts = parts;
    this.#changes = changes;
    changes.onChange((previous, next) => this.#heard(previous, next));
  }

  /** Ends, after what is being written. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    for (const end of [...this.#pauses]) end();
    while (this.#running.size > 0) await Promise.all(this.#running);
  }

  #heard(previous: Task | undefined, next: Task | undefined): void {
    if (next === undefined || previous?.status === next.status) return;
    if (next.status !== "complete" && next.status !== "failed") return;
    if (tenantOfInternal(next.tenantId) === undefined) return;
    const running: Promise<void> = this.#report(next)
      .finally(() => this.#running.delete(running));
    this.#running.add(running);
  }

  async #report(call: Task): Promise<void> {
    for (let tries = 1;; tries++) {
      try {
        return await this.#tell(call);
      } catch (error) {
        const { tenantId, taskId } = callbackDataOf(call);
        if (this.#isStopped || tries === MAX_TRIES) {
          this.#parts.logger.error(
            "Cannot note what became of a call back: the store failed",
            { tenant: tenantId, task: taskId, error: String(error) },
          );
          return;
        }
        await this.#pause(FIRST_PAUSE_MS * 2 ** (tries - 1));
      }
    }
  }

  async #tell(call: Task): Promise<void> {
    const { tenantId, taskId } = callbackDataOf(call);
    const isSent = call.status === "complete";
    await this.#changes.apply({
      tenantId,
      id: taskId,
      event: {
        kind: "callback",
        isSent,
        message: isSent
          ? `Called back after ${call.executions} attempts`
          : call.error?.message ?? "Cannot call back",
      },
      actor: SYSTEM_ACTOR,
    });
  }

  #pause(delayMs: number): Promise<void> {
    return new Promise((resolve) => {
      const end = (): void => {
        timer.cancel();
        this.#pauses.delete(end);
        resolve();
      };
      const timer: Timer = this.#parts.clock.setTimer(end, delayMs);
      this.#pauses.add(end);
    });
  }
}
