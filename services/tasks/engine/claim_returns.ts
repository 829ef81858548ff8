/**
 * What was started and reached nobody goes back, so that others have it.
 *
 * @module
 */

import type { Logger } from "../../shared/logger.ts";
import { SYSTEM_ACTOR } from "../domain/records.ts";
import type { EventRequest, TaskChanges } from "./changes.ts";
import type { Grant } from "./claim_demand.ts";
import type { Start } from "./claim_starts.ts";
import { sha256 } from "../store/digest.ts";

/** Options of {@linkcode ClaimReturns}. */
export interface ClaimReturnsOptions {
  /** Releases the tasks. */
  readonly changes: TaskChanges;
  /** Hears when the store fails. */
  readonly logger: Logger;
}

/** Gives tasks back. */
export class ClaimReturns {
  readonly #options: ClaimReturnsOptions;
  readonly #givingBack = new Set<Promise<void>>();
  #unanswered: readonly Start[] = [];

  /** Nothing goes back yet. */
  constructor(options: ClaimReturnsOptions) {
    this.#options = options;
  }

  /** Whether there are starts of which nobody knows whether they were applied. */
  get hasUnanswered(): boolean {
    return this.#unanswered.length > 0;
  }

  /** Notes starts of a commit that failed, which may have been applied all the same. */
  noteUnanswered(starts: readonly Start[]): void {
    this.#unanswered = starts;
  }

  /**
   * Gives back what was started without an answer: nobody has its token, so it
   * would fail for being late without ever having been tried.
   *
   * @throws {Error} when the store fails; it can be asked again
   */
  async settleUnanswered(): Promise<void> {
    if (!this.hasUnanswered) return;
    await this.#options.changes.applyAll(
      this.#unanswered.map(({ task, token }): EventRequest => ({
        tenantId: task.tenantId,
        id: task.id,
        event: ({ attempt }) =>
          attempt?.tokenHash !== sha256(token) ? undefined : {
            kind: "release",
            lease: { id: attempt.id },
            reason: "the store failed before the task was handed out",
          },
        actor: SYSTEM_ACTOR,
      })),
    );
    this.#unanswered = [];
  }

  /** Gives back what somebody did not take, who has gone. */
  giveBack(grants: readonly Grant[]): void {
    const { changes, logger } = this.#options;
    const requests = grants.flatMap(({ task }): EventRequest[] =>
      task.attempt === undefined ? [] : [{
        tenantId: task.tenantId,
        id: task.id,
        event: {
          kind: "release",
          lease: { id: task.attempt.id },
          reason: "the worker had gone",
        },
        actor: SYSTEM_ACTOR,
      }]
    );
    const givingBack = changes.applyAll(requests).then(() => {}, (error) => {
      // Their leases end by themselves.
      logger.warn("Cannot give tasks back: the store failed", {
        error: String(error),
      });
    }).finally(() => this.#givingBack.delete(givingBack));
    this.#givingBack.add(givingBack);
  }

  /** Waits until nothing is on its way back. */
  async settled(): Promise<void> {
    while (this.#givingBack.size > 0) await Promise.all(this.#givingBack);
  }
}
