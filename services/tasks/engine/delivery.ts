/**
 * One push call from its task to its outcome.
 *
 * @module
 */

import { SYSTEM_ACTOR } from "../domain/actor.ts";
import { judgeAnswer, type PushVerdict } from "../delivery/judge_answer.ts";
import type { PushCaller } from "../delivery/push_call.ts";
import type { PushOutcome } from "../delivery/push_outcome.ts";
import type { Task } from "../domain/task.ts";
import type { HttpFact, LeaseProof, TaskEvent } from "../domain/task_event.ts";
import type { WorkerDefinition } from "../domain/worker.ts";
import type { Scrubber } from "../secrets/scrub.ts";
import { type CallbackData, callbackDataOf } from "./callbacks.ts";
import type { EventOutcome, EventRequest, TaskChanges } from "./changes.ts";
import type { Grant } from "./claim_demand.ts";
import type { EngineParts } from "./parts.ts";
import { pushRequestOf } from "./push_request.ts";
import { keptResult } from "./result.ts";
import { newTraceparent } from "./traceparent.ts";
import type { Vault } from "./vault.ts";
import { tenantOfInternal } from "./workers.ts";

/** How long to wait before an outcome is written again; doubled each time. */
const FIRST_PAUSE_MS = 50;
/** The longest of these pauses. */
const MAX_PAUSE_MS = 6_400;

/** Makes what a receiver is told of a task, as the API shows it. */
export type TaskView = (task: Task, workerName: string) => unknown;

/** Options of {@linkcode Delivery}. */
export interface DeliveryOptions {
  /** The engine's parts. */
  readonly parts: EngineParts;
  /** Writes outcomes. */
  readonly changes: TaskChanges;
  /** Opens secrets. */
  readonly vault: Vault;
  /** Makes the calls. */
  readonly caller: Pick<PushCaller, "call">;
  /** Makes what a receiver is told of a task. */
  readonly view: TaskView;
}

/** What a call needs beside the task. */
interface CallPlan {
  readonly worker: WorkerDefinition;
  readonly url: string;
  readonly type: string;
  readonly data: unknown;
  readonly secrets: ReadonlyMap<string, string>;
  readonly signing: readonly string[];
  readonly scrubber: Scrubber | undefined;
}

/** Makes calls and writes what came of them. */
export class Delivery {
  readonly #options: DeliveryOptions;
  readonly #calls = new Map<string, AbortController>();
  #isStopped = false;

  /** Delivery over the engine's parts. */
  constructor(options: DeliveryOptions) {
    this.#options = options;
  }

  /** Ends the call of a task that was canceled. */
  cancel(task: Task): void {
    if (task.attempt !== undefined) this.#calls.get(task.attempt.id)?.abort();
  }

  /** Ends all calls; their tasks are given back. */
  stop(): void {
    this.#isStopped = true;
    for (const call of this.#calls.values()) call.abort();
  }

  /** Makes the call of a started task and writes its outcome; never rejects. */
  async deliver({ task, token }: Grant): Promise<void> {
    const { attempt } = task;
    if (attempt === undefined) return;
    const call = new AbortController();
    this.#calls.set(attempt.id, call);
    const lease: LeaseProof = { id: attempt.id };
    try {
      if (this.#isStopped) call.abort();
      const event = await this.#attempt(task, {
        lease,
        token,
        signal: call.signal,
      });
      const outcome = await this.#write(task, {
        tenantId: task.tenantId,
        id: task.id,
        event,
        actor: event.kind === "release" || event.kind === "fail" &&
            event.http === undefined
          ? SYSTEM_ACTOR
          : { type: "worker", id: task.workerId },
        known: task,
      });
      if (outcome.kind === "changed") await this.#tellOrigin(outcome.task);
    } catch (error) {
      // The lease ends by itself, and the task goes on then.
      this.#options.parts.logger.error(
        "Cannot write the outcome of a push call: the store failed",
        { task: task.id, error: String(error) },
      );
    } finally {
      this.#calls.delete(attempt.id);
    }
  }

  /**
   * Writes an outcome, again and again while the attempt lasts: the work is
   * done, and a store that is busy for a moment is no reason to do it twice.
   */
  async #write(task: Task, request: EventRequest): Promise<EventOutcome> {
    const { changes, parts: { clock, logger } } = this.#options;
    for (let pauseMs = FIRST_PAUSE_MS;; pauseMs *= 2) {
      try {
        return await changes.apply(request);
      } catch (error) {
        const againAtMs = clock.nowMs() + pauseMs;
        const isOver = againAtMs >= (task.attempt?.deadlineMs ?? 0);
        if (isOver || pauseMs > MAX_PAUSE_MS) throw error;
        logger.warn("Cannot write the outcome of a push call yet", {
          task: task.id,
          error: String(error),
        });
        await new Promise<void>((resolve) => clock.setTimer(resolve, pauseMs));
      }
    }
  }

  /** Makes the call and turns what came of it into an event. */
  async #attempt(
    task: Task,
    { lease, token, signal }: {
      readonly lease: LeaseProof;
      readonly token: string;
      readonly signal: AbortSignal;
    },
  ): Promise<TaskEvent> {
    const { parts, caller } = this.#options;
    let plan: CallPlan | undefined;
    try {
      plan = await this.#plan(task, token);
    } catch (error) {
      parts.logger.error("Cannot prepare push call", {
        task: task.id,
        error: String(error),
      });
      return failure(lease, {
        code: "secrets_unavailable",
        message: "Cannot call the worker: its secrets cannot be opened",
      });
    }
    if (plan === undefined) {
      return failure(lease, {
        code: "no_url",
        message: "Cannot call the worker: it has no url",
      });
    }
    const nowMs = parts.clock.nowMs();
    const made = pushRequestOf({
      ...plan,
      task,
      nowMs,
      traceparent: newTraceparent(),
    });
    if (made.kind === "invalid") {
      return failure(lease, { code: "bad_request", message: made.reason });
    }
    const timeoutMs = Math.max(1, (task.attempt?.deadlineMs ?? nowMs) - nowMs);
    const outcome = await caller.call({ ...made.request, timeoutMs, signal });
    if (
      this.#isStopped && outcome.kind === "failed" &&
      outcome.code === "canceled"
    ) {
      return { kind: "release", lease, reason: "the server stops" };
    }
    const verdict = judgeAnswer(withoutSecrets(outcome, plan.scrubber));
    const isCallback = tenantOfInternal(task.tenantId) !== undefined;
    // There is nothing to finish later for the receiver of a call at an end.
    const settled: PushVerdict = isCallback && verdict.kind === "accepted"
      ? { kind: "succeeded", result: null, isTruncated: false }
      : verdict;
    return eventOf(settled, { lease, outcome, scrubber: plan.scrubber });
  }

  async #plan(task: Task, token: string): Promise<CallPlan | undefined> {
    const { parts, vault, view } = this.#options;
    const owner = tenantOfInternal(task.tenantId);
    const worker = await parts.workers.get(task.tenantId, task.workerId);
    if (worker === undefined) return undefined;
    if (owner !== undefined) {
      return await this.#callbackPlan(worker, callbackDataOf(task));
    }
    const url = worker.jobs?.[task.job]?.url ?? worker.url;
    if (url === undefined) return undefined;
    const [secrets, signing] = await Promise.all([
      vault.open(task.tenantId, task.workerId),
      vault.signing(worker),
    ]);
    return {
      worker,
      url,
      type: "task.run",
      data: {
        task: view(task, worker.name),
        run: task.run,
        attempt: {
          id: task.attempt?.id,
          token,
          fence: task.fence,
          started_at: new Date(task.startedAtMs ?? 0).toISOString(),
        },
      },
      secrets: secrets.values,
      signing,
      scrubber: secrets.scrubber,
    };
  }

  async #callbackPlan(
    worker: WorkerDefinition,
    data: CallbackData,
  ): Promise<CallPlan> {
    const { parts, vault, view } = this.#options;
    const [origin, signer] = await Promise.all([
      parts.store.task(data.tenantId, data.taskId),
      parts.workers.get(data.tenantId, data.workerId),
    ]);
    return {
      worker,
      url: data.url,
      type: data.type,
      data: {
        task: origin === undefined
          ? { id: data.taskId }
          : view(origin, signer?.name ?? origin.workerId),
        run: data.run,
      },
      secrets: new Map(),
      signing: signer === undefined ? [] : await vault.signing(signer),
      scrubber: undefined,
    };
  }

  /** Notes in the history of the task that ended what became of its call. */
  async #tellOrigin(task: Task): Promise<void> {
    if (tenantOfInternal(task.tenantId) === undefined) return;
    if (task.status !== "complete" && task.status !== "failed") return;
    const { tenantId, taskId } = callbackDataOf(task);
    const isSent = task.status === "complete";
    await this.#options.changes.apply({
      tenantId,
      id: taskId,
      event: {
        kind: "callback",
        isSent,
        message: isSent
          ? `Called back after ${task.executions} attempts`
          : task.error?.message ?? "Cannot call back",
      },
      actor: SYSTEM_ACTOR,
    });
  }
}

/**
 * What a worker says to a failure is cut when it is judged, and half a secret
 * would not be found any more.
 */
function withoutSecrets(
  outcome: PushOutcome,
  scrubber: Scrubber | undefined,
): PushOutcome {
  const isFailure = outcome.kind === "answered" &&
    (outcome.status < 200 || outcome.status > 299);
  return isFailure && scrubber !== undefined
    ? { ...outcome, bodyText: scrubber.scrubText(outcome.bodyText) }
    : outcome;
}

function eventOf(
  verdict: PushVerdict,
  call: {
    readonly lease: LeaseProof;
    readonly outcome: PushOutcome;
    readonly scrubber: Scrubber | undefined;
  },
): TaskEvent {
  const { lease, outcome, scrubber } = call;
  const http: { readonly http?: HttpFact } = outcome.kind === "answered"
    ? { http: { status: outcome.status, durationMs: outcome.durationMs } }
    : {};
  const clean = (text: string): string => scrubber?.scrubText(text) ?? text;
  switch (verdict.kind) {
    case "accepted":
      return { kind: "accept", lease, leaseMs: verdict.leaseMs, ...http };
    case "succeeded":
      return {
        kind: "complete",
        lease,
        ...keptResult(verdict.result, {
          isTruncated: verdict.isTruncated,
          ...(scrubber === undefined ? {} : { scrubber }),
        }),
        ...http,
      };
    case "failed":
      return {
        kind: "fail",
        lease,
        failure: verdict.failure,
        message: clean(verdict.message),
        ...(verdict.detail === undefined
          ? {}
          : { detailJson: JSON.stringify(clean(verdict.detail)) }),
        ...(verdict.retryAfterMs === undefined
          ? {}
          : { retryAfterMs: verdict.retryAfterMs }),
        ...http,
      };
  }
}

function failure(
  lease: LeaseProof,
  { code, message }: { readonly code: string; readonly message: string },
): TaskEvent {
  return { kind: "fail", lease, failure: { code }, message };
}
