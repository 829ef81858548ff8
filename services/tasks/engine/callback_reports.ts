/**
 * Records in a task's history how the callback at its end went. Each callback
 * is itself an internal task. This listens to the changes of those tasks, so it
 * learns of each end, whether the receiver answered, the time ran out, or the
 * server that made the call died.
 *
 * A report is committed together with the removal of the callback's task. So it
 * is written once, by whichever instance, and a callback task that has ended and
 * still exists is not reported yet. A server that died, or a store that failed,
 * may have left some. So each instance looks once a minute at the tenants of
 * whose callbacks it knows, and the one that holds the duty at all tenants: when
 * it has gained the duty, and when an instance has gone.
 *
 * @module
 */

import { BackgroundWork, pause } from "../../shared/periodic.ts";
import { SYSTEM_ACTOR } from "../domain/records.ts";
import {
  type HistoryDraft,
  type HistoryType,
  parseDraft,
} from "../domain/history.ts";
import type { Task, TaskStatus } from "../domain/task.ts";
import type { TaskPosition } from "../store/queries.ts";
import type { Store } from "../store/store.ts";
import { REGISTRY } from "./repositories.ts";
import type { TaskChanges } from "./changes.ts";
import { Maintainer } from "./maintainer.ts";
import type { EngineParts } from "./parts.ts";
import { buildRemoval, parseCallbackData } from "./task_writes.ts";
import { CALLBACK_WORKER_ID, internalTenant, isCallback } from "./workers.ts";

/** How often a report is tried before it is left to the next survey. */
const MAX_TRIES = 5;
/** The wait before the second try, in milliseconds; it doubles each time. */
const FIRST_PAUSE_MS = 200;
/** Milliseconds between two surveys of unreported callbacks. */
const INTERVAL_MS = 60_000;
/** How many tenants are read in one page. */
const PAGE = 500;
/**
 * The pause after a page, in milliseconds, so that other work gets its turn.
 */
const PAUSE_MS = 5;

/** The history records that end an attempt of a callback. */
const ATTEMPT_ENDS: readonly HistoryType[] = [
  "succeeded",
  "failed",
  "timed_out",
  "lost",
];

/** Reports the outcomes of callbacks to the histories of their tasks. */
export class CallbackReports extends Maintainer {
  readonly #parts: EngineParts;
  readonly #changes: TaskChanges;
  readonly #reports: BackgroundWork;
  /** The internal tenants that are known to have callbacks. */
  readonly #callers = new Set<string>();
  /**
   * The tenants that are still to be looked at: those after one; undefined when
   * none are.
   */
  #pending: { readonly afterId?: string | undefined } | undefined = {};

  /** Listens to changes of tasks at once; the surveys begin with `start()`. */
  constructor(parts: EngineParts, changes: TaskChanges) {
    const failure =
      "Cannot find callbacks without an outcome: the store failed";
    super({ parts, intervalMs: INTERVAL_MS, failure });
    this.#parts = parts;
    this.#changes = changes;
    this.#reports = new BackgroundWork((error) => {
      parts.logger.error(failure, { error: String(error) });
    });
    changes.onChange(({ next }) => this.#heard(next), ["internal"]);
    let isHolder = parts.instances.holds("callbacks");
    parts.instances.onChange((change) => {
      const isGained = !isHolder && parts.instances.holds("callbacks");
      isHolder = parts.instances.holds("callbacks");
      const hasLost = change.kind === "answered" && change.gone.length > 0;
      if (!isGained && !hasLost) return;
      this.#pending = {};
      if (isHolder) this.wake();
    });
  }

  /** Stops after the reports that are being written. */
  override async stop(): Promise<void> {
    await super.stop();
    await this.#reports.settled();
  }

  #heard(next: Task | undefined): void {
    if (next === undefined || !isCallback(next)) return;
    this.#callers.add(next.tenantId);
    if (isEndedCall(next)) this.#reports.run(() => this.#report(next));
  }

  /** Looks for unreported callbacks, those of earlier starts first. */
  override async runOnce(): Promise<void> {
    await this.#survey();
    for (const caller of [...this.#callers]) {
      if (this.stopping.aborted) return;
      await this.#catchUp(caller);
    }
  }

  /**
   * Looks once at all tenants, since it is not known which of them have
   * callbacks that another instance, or an earlier start, has not reported.
   */
  async #survey(): Promise<void> {
    const { repositories, instances } = this.#parts;
    while (this.#pending !== undefined && instances.holds("callbacks")) {
      const pending = this.#pending;
      const { values, hasMore } = await repositories.tenants.list(REGISTRY, {
        limit: PAGE,
        afterId: pending.afterId,
      });
      for (const { id } of values) {
        if (this.stopping.aborted) return;
        await this.#catchUp(internalTenant(id));
      }
      if (this.stopping.aborted) return;
      // Another instance may have gone meanwhile; then all begins again.
      if (this.#pending === pending) {
        this.#pending = hasMore ? { afterId: values.at(-1)?.id } : undefined;
      }
      if (hasMore) await this.#pause(PAUSE_MS);
    }
  }

  /**
   * Reports a tenant's ended callbacks, and remembers whether it has others.
   */
  async #catchUp(caller: string): Promise<void> {
    const { store } = this.#parts;
    // Forgets the tenant before the store is read, so that callbacks created
    // meanwhile add it again.
    this.#callers.delete(caller);
    let hasCalls = true;
    try {
      let failures = 0;
      for await (const call of endedCalls(store, caller)) {
        if (this.stopping.aborted) return;
        failures = await this.#report(call, 1) ? 0 : failures + 1;
        // When the store is down, every report fails.
        if (failures === MAX_TRIES) return;
      }
      const counts = await store.counts({ tenantId: caller });
      hasCalls = Object.keys(counts).length > 0;
    } finally {
      if (hasCalls) this.#callers.add(caller);
    }
  }

  /**
   * Tries until the report is written or the tries are used up; returns whether
   * it is written.
   */
  async #report(
    call: Task,
    maxTries: number = MAX_TRIES,
  ): Promise<boolean> {
    let now = call;
    for (let tries = 1;; tries++) {
      const isLast = tries >= maxTries;
      try {
        const left = await this.#tell(now);
        if (left === undefined || isLast) return left === undefined;
        now = left;
      } catch (error) {
        if (isLast || this.stopping.aborted) {
          const { tenantId, taskId } = parseCallbackData(call);
          this.#parts.logger.error(
            "Cannot store the outcome of a callback yet: the store failed",
            { tenant: tenantId, task: taskId, error: String(error) },
          );
          return false;
        }
        await this.#pause(FIRST_PAUSE_MS * 2 ** (tries - 1));
      }
    }
  }

  /**
   * Writes the report, unless it is already written.
   *
   * @returns the callback's current task, when it has to be reported again
   */
  async #tell(call: Task): Promise<Task | undefined> {
    const { store } = this.#parts;
    const { tenantId, taskId } = parseCallbackData(call);
    const isSent = call.status === "complete";
    const http = await this.#lastAnswer(call);
    const removal = buildRemoval(call);
    const { kind } = await this.#changes.apply({
      tenantId,
      id: taskId,
      event: {
        kind: "callback",
        isSent,
        message: isSent
          ? sentMessage(call)
          : call.error?.message ?? "Cannot call back",
        http,
      },
      actor: SYSTEM_ACTOR,
      extraWrites: [removal],
    });
    // The task was removed, so there is no history to report to.
    const [removed] = kind === "missing"
      ? await store.commit([{ writes: [removal] }])
      : [];
    if (kind === "changed" || removed?.kind === "ok") {
      this.#changes.announce(call, undefined);
      return undefined;
    }
    const now = await store.task(call.tenantId, call.id);
    return now !== undefined && isEndedCall(now) ? now : undefined;
  }

  /**
   * The answer to the last call of a callback; undefined when there was no
   * answer.
   */
  async #lastAnswer(
    { tenantId, id }: Task,
  ): Promise<HistoryDraft["http"]> {
    const { records: [last] } = await this.#parts.store.history({
      tenantId,
      taskId: id,
      types: ATTEMPT_ENDS,
      order: "desc",
      limit: 1,
    });
    return last && parseDraft(last).http;
  }

  #pause(delayMs: number): Promise<void> {
    return pause(delayMs, {
      clock: this.#parts.clock,
      signal: this.stopping,
    });
  }
}

function sentMessage({ executions }: Task): string {
  return executions > 1
    ? `Called back at attempt ${executions}`
    : "Called back at the first attempt";
}

/** The statuses of an ended callback: it was made, or given up. */
const ENDS = ["complete", "failed"] as const satisfies readonly TaskStatus[];
/** How many callbacks are read in one page. */
const CALLS = 200;

/** Tells whether a task is a callback that has ended. */
function isEndedCall(task: Task): boolean {
  return isCallback(task) && ENDS.some((end) => end === task.status);
}

/**
 * Lists the ended callbacks of an internal tenant that still exist.
 *
 * @throws {Error} when the store fails
 */
async function* endedCalls(
  store: Pick<Store, "listTasks">,
  tenantId: string,
): AsyncGenerator<Task> {
  let after: TaskPosition | undefined;
  do {
    const page = await store.listTasks({
      tenantId,
      workerIds: [CALLBACK_WORKER_ID],
      statuses: ENDS,
      by: "date",
      sort: "date",
      order: "asc",
      limit: CALLS,
      after,
    });
    yield* page.tasks;
    after = page.next;
  } while (after !== undefined);
}
