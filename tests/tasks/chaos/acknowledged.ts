/**
 * What the service has answered for, which it must keep whatever happens to it.
 *
 * @module
 */

import type { LeaseJson, TaskJson } from "../tasks_client.ts";

/** A task that was answered for. */
export interface KnownTask {
  /** Its id. */
  readonly id: string;
  /** How often it is to succeed. */
  readonly runs: number;
  /** In which round something was last answered about it. */
  round: number;
  /** Successes that were answered for. */
  successes: number;
  /** The greatest fence of its leases. */
  fence: number;
  /** When its end was answered for, in milliseconds since the epoch. */
  endedAtMs?: number;
  /** The end that was answered for. */
  end?: "complete" | "canceled";
  /** Whether somebody tried to cancel it, whatever came of that. */
  mayBeCanceled: boolean;
}

/** A request with a key, to be sent again. */
export interface KeyedRequest {
  /** The Idempotency-Key. */
  readonly key: string;
  /** The path. */
  readonly path: string;
  /** The body. */
  readonly body: unknown;
  /** How often the tasks it makes are to succeed. */
  readonly runs: number;
}

/** A request with a key, and what was answered. */
export interface KeyedAnswer extends KeyedRequest {
  /** The answer's status. */
  readonly status: number;
  /** The answer's content. */
  readonly json: unknown;
}

/** Keeps what was answered, and finds what contradicts it. */
export class Acknowledged {
  /** Everything that is known, by id. */
  readonly tasks: Map<string, KnownTask> = new Map();
  /** Requests with a key that were answered. */
  readonly answers: KeyedAnswer[] = [];
  /** Requests with a key of which nobody knows what became. */
  readonly open: KeyedRequest[] = [];
  /** What the service did against its promises. */
  readonly faults: string[] = [];
  /** The number of the round: how often the service was killed. */
  round = 0;

  /** A task was made. */
  created(task: TaskJson, runs: number): void {
    if (this.tasks.has(task.id)) return;
    this.tasks.set(task.id, {
      id: task.id,
      runs,
      round: this.round,
      successes: 0,
      fence: 0,
      mayBeCanceled: false,
    });
  }

  /** A task was handed out. */
  leased(lease: LeaseJson): void {
    const { task, fence } = lease;
    const startedMs = Date.parse(task.started_at ?? "");
    if (!(startedMs >= Date.parse(task.date))) {
      this.fault(`${task.id} started at ${task.started_at}, before its date`);
    }
    const known = this.tasks.get(task.id);
    // Of a task whose creation was never answered nothing was promised.
    if (known === undefined) return;
    known.round = this.round;
    if (fence <= known.fence) {
      this.fault(`${task.id} has fence ${fence} after ${known.fence}`);
    }
    known.fence = Math.max(fence, known.fence);
    if (known.endedAtMs !== undefined && startedMs > known.endedAtMs) {
      this.fault(`${task.id} started though it was ${known.end}`);
    }
  }

  /**
   * A success was answered for; `isRepeated` when it had been before. Answers to
   * requests that overlap may arrive in another order than they took effect.
   */
  succeeded(
    id: string,
    { isRepeated, sentAtMs }: {
      readonly isRepeated: boolean;
      readonly sentAtMs: number;
    },
  ): void {
    const known = this.tasks.get(id);
    if (known === undefined) return;
    known.round = this.round;
    known.successes++;
    const isLater = known.endedAtMs !== undefined &&
      sentAtMs > known.endedAtMs;
    if (known.end === "canceled" && !isRepeated && isLater) {
      this.fault(`${id} was completed after it was canceled`);
    }
    if (known.successes === known.runs) this.#end(known, "complete");
    if (known.successes > known.runs) {
      this.fault(`${id} succeeded ${known.successes} times`);
    }
  }

  /** Somebody is about to cancel a task. */
  canceling(id: string): void {
    const known = this.tasks.get(id);
    if (known !== undefined) known.mayBeCanceled = true;
  }

  /** The end of a task by hand was answered for. */
  canceled(id: string): void {
    const known = this.tasks.get(id);
    if (known !== undefined) this.#end(known, "canceled");
  }

  /** Notes what is against the promises. */
  fault(text: string): void {
    this.faults.push(`round ${this.round}: ${text}`);
  }

  /** Checks a task as it is now against what was answered for. */
  check(known: KnownTask, task: TaskJson | undefined): void {
    const { id, end, successes } = known;
    if (task === undefined) return this.fault(`${id} is gone`);
    if (end !== undefined && task.status !== end) {
      this.fault(`${id} is ${task.status} though it was ${end}`);
    }
    if (task.executions < successes) {
      this.fault(
        `${id} has ${task.executions} executions after ${successes} successes`,
      );
    }
    if (task.status === "canceled" && !known.mayBeCanceled) {
      this.fault(`${id} is canceled though nobody canceled it`);
    }
    if ((task.status === "running") !== (task.attempt !== null)) {
      this.fault(`${id} is ${task.status} with attempt ${task.attempt?.id}`);
    }
  }

  #end(known: KnownTask, end: "complete" | "canceled"): void {
    if (known.end !== undefined && known.end !== end) {
      this.fault(`${known.id} became ${end} after it was ${known.end}`);
    }
    known.end = end;
    known.round = this.round;
    known.endedAtMs ??= Date.now();
  }
}
