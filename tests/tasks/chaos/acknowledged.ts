/**
 * Records what the tasks service has acknowledged, which it has to keep
 * whatever happens to it.
 *
 * @module
 */

import type { LeaseJson, TaskJson } from "../tasks_client.ts";

/** A task that the service has acknowledged. */
export interface KnownTask {
  /** The id of the task. */
  readonly id: string;
  /** How many times the task is to succeed. */
  readonly runs: number;
  /**
   * The round in which the service last acknowledged something about the task.
   */
  round: number;
  /** Number of acknowledged successes. */
  successes: number;
  /** The greatest fence of the task's leases. */
  fence: number;
  /**
   * When the end of the task was acknowledged, in milliseconds since the epoch.
   */
  endedAtMs?: number;
  /** The status with which the task ended, once that is acknowledged. */
  end?: "complete" | "canceled";
  /** Whether a client has tried to cancel the task, whatever the outcome. */
  mayBeCanceled: boolean;
  /** Reports that the task's history has to have. */
  readonly reports: KnownReport[];
  /** The data of events that it was sent, each as its JSON text. */
  readonly events: string[];
}

/**
 * A report that was refused when it was sent again, after its first answer was
 * lost: others may have worked on the task since it was applied.
 */
export interface KnownReport {
  /** The id of the lease, which is that of the attempt. */
  readonly lease: string;
  /** The type of its history record. */
  readonly type: string;
}

/** A request with an Idempotency-Key, which can be sent again. */
export interface KeyedRequest {
  /** The Idempotency-Key. */
  readonly key: string;
  /** The request path. */
  readonly path: string;
  /** The request body. */
  readonly body: unknown;
  /** How many times the tasks that it creates are to succeed. */
  readonly runs: number;
  /**
   * The event that it sends to a task, which refuses it once it has ended.
   *
   * @default it creates tasks
   */
  readonly event?: { readonly taskId: string; readonly data: string };
}

/** A request with an Idempotency-Key, and its response. */
export interface KeyedAnswer extends KeyedRequest {
  /** The status code of the response. */
  readonly status: number;
  /** The body of the response. */
  readonly json: unknown;
}

/** The most faults that are recorded. */
const MAX_FAULTS = 50;

/** Records the service's responses, and finds contradictions between them. */
export class Acknowledged {
  /** The acknowledged tasks, by id. */
  readonly tasks: Map<string, KnownTask> = new Map();
  /** Requests with an Idempotency-Key that were answered. */
  readonly answers: KeyedAnswer[] = [];
  /** Requests with an Idempotency-Key whose outcome is unknown. */
  readonly open: KeyedRequest[] = [];
  /** The first violations of the service's promises. */
  readonly faults: string[] = [];
  /** The number of the current round: how many times the service was killed. */
  round = 0;

  readonly #pushFences = new Map<string, number>();

  /** Records that a task was created. */
  created(task: TaskJson, runs: number): void {
    if (this.tasks.has(task.id)) return;
    this.tasks.set(task.id, {
      id: task.id,
      runs,
      round: this.round,
      successes: 0,
      fence: 0,
      mayBeCanceled: false,
      reports: [],
      events: [],
    });
  }

  /** Records that a task was leased. */
  leased(lease: LeaseJson): void {
    const { task, fence } = lease;
    const startedMs = Date.parse(task.started_at ?? "");
    if (!(startedMs >= Date.parse(task.date))) {
      this.fault(`${task.id} started at ${task.started_at}, before its date`);
    }
    const known = this.tasks.get(task.id);
    // Nothing was promised about a task whose creation was never acknowledged.
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

  /** Records a push call of a task, which no other attempt's call may be. */
  called(id: string, fence: number): void {
    const before = this.#pushFences.get(id) ?? 0;
    // A call that was held up on its way may come after the next one.
    if (fence === before) this.fault(`${id} was called twice with ${fence}`);
    this.#pushFences.set(id, Math.max(before, fence));
  }

  /**
   * Records that a success was acknowledged; `isRepeated` when the same report
   * had been acknowledged before. Responses to overlapping requests may arrive
   * in another order than the requests took effect.
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

  /** Records that a client is about to cancel a task. */
  canceling(id: string): void {
    const known = this.tasks.get(id);
    if (known !== undefined) known.mayBeCanceled = true;
  }

  /** Records that the cancellation of a task was acknowledged. */
  canceled(id: string): void {
    const known = this.tasks.get(id);
    if (known !== undefined) this.#end(known, "canceled");
  }

  /** Whether as many faults are recorded as can be. */
  get isFull(): boolean {
    return this.faults.length >= MAX_FAULTS;
  }

  /** Records a violation of a promise, unless there are many already. */
  fault(text: string): void {
    if (!this.isFull) this.faults.push(`round ${this.round}: ${text}`);
  }

  /**
   * Compares the current state of a task with what was acknowledged about it.
   */
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
