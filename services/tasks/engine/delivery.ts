/**
 * One push call, from its task to the event of its outcome.
 *
 * @module
 */

import type { Span } from "@opentelemetry/api";
import {
  judgeAnswer,
  type PushOutcome,
  type PushVerdict,
} from "../delivery/push_answer.ts";
import type { PushCaller } from "../delivery/push_call.ts";
import { SYSTEM_ACTOR } from "../domain/records.ts";
import type { Task } from "../domain/task.ts";
import type { HttpFact, LeaseProof, TaskEvent } from "../domain/task_event.ts";
import {
  markFailed,
  traced,
  type Tracing,
} from "../../shared/telemetry/tracing.ts";
import type { Scrubber } from "../secrets/scrub.ts";
import type { EventOutcome, EventRequest, TaskChanges } from "./changes.ts";
import type { EngineParts } from "./parts.ts";
import {
  type CallPlan,
  newTraceparent,
  planCall,
  pushRequestOf,
  type TaskView,
} from "./push_request.ts";
import { keptResult } from "./stored_json.ts";
import { SecretsError } from "./tenant_keys.ts";
import type { Vault } from "./vault.ts";
import type { Grant } from "./waiter.ts";
import { tenantOfInternal } from "./workers.ts";

/** How long to wait before an outcome is written again; doubled each time. */
const FIRST_PAUSE_MS = 50;
/** The longest of these pauses. */
const MAX_PAUSE_MS = 6_400;
/** How long to wait after the store could not be read for a call. */
const UNPREPARED_PAUSE_MS = 5_000;

/** Options of {@linkcode Delivery}. */
interface DeliveryOptions {
  /** The engine's parts. */
  readonly parts: EngineParts;
  /** Writes outcomes. */
  readonly changes: TaskChanges;
  /** Opens secrets. */
  readonly vault: Vault;
  /** Makes the calls. */
  readonly caller: Pick<PushCaller, "call">;
  /**
   * Makes a span of each call, which the receiver's trace goes on from.
   * @default none is made
   */
  readonly tracing?: Tracing | undefined;
  /** Makes the view of a task that a receiver is sent. */
  readonly view: TaskView;
}

/** Makes calls and writes their outcomes. */
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

  /** Ends all calls; their tasks are released. */
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
      await this.#write(task, {
        tenantId: task.tenantId,
        id: task.id,
        event,
        actor: event.kind === "release" || event.kind === "fail" &&
            event.http === undefined
          ? SYSTEM_ACTOR
          : { type: "worker", id: task.workerId },
        cachedTask: task,
      });
    } catch (error) {
      // The lease ends by itself, and the task continues then.
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

  /** Makes the call, in a span, and turns its outcome into an event. */
  #attempt(task: Task, attempt: Attempt): Promise<TaskEvent> {
    return traced(this.#options.tracing, {
      name: "deliver task",
      role: "client",
      // Its worker goes on with it; what began the task may be long over.
      parent: "root",
      attributes: { "task.id": task.id, "task.run": task.run },
    }, async (span) => {
      const event = await this.#call(task, { ...attempt, span });
      if (span?.isRecording() === true) noteEvent(span, event);
      return event;
    });
  }

  async #call(
    task: Task,
    { lease, token, signal, span }: Attempt & {
      readonly span: Span | undefined;
    },
  ): Promise<TaskEvent> {
    const { parts, vault, view, caller } = this.#options;
    let plan: CallPlan | undefined;
    try {
      plan = await planCall(task, { parts, vault, view, token });
    } catch (error) {
      return this.#unprepared(task, lease, error);
    }
    if (plan === undefined) {
      const message = "Cannot call the worker: it has no url";
      return failureEvent(lease, "no_url", message);
    }
    const nowMs = parts.clock.nowMs();
    const made = pushRequestOf({
      ...plan,
      task,
      nowMs,
      traceparent: this.#options.tracing?.fieldsOf(span)["traceparent"] ??
        newTraceparent(),
    });
    if (made.kind === "invalid") {
      return failureEvent(lease, "bad_request", made.reason);
    }
    const timeoutMs = Math.max(1, (task.attempt?.deadlineMs ?? nowMs) - nowMs);
    const outcome = await caller.call({ ...made.request, timeoutMs, signal });
    if (
      this.#isStopped && outcome.kind === "failed" &&
      outcome.code === "canceled"
    ) {
      return { kind: "release", lease, reason: "the server stops" };
    }
    return eventOfCall(outcome, {
      lease,
      scrubber: plan.scrubber,
      isCallback: tenantOfInternal(task.tenantId) !== undefined,
    });
  }

  /** The event of a call that could not be prepared. */
  #unprepared(
    task: Task,
    lease: LeaseProof,
    error: unknown,
  ): TaskEvent {
    const { logger } = this.#options.parts;
    const facts = { task: task.id, error: String(error) };
    if (error instanceof SecretsError) {
      logger.error("Cannot prepare push call: secrets cannot be opened", facts);
      const message = "Cannot call the worker: its secrets cannot be opened";
      return failureEvent(lease, "secrets_unavailable", message);
    }
    logger.error("Cannot prepare push call: the store failed", facts);
    // Not the worker's fault: no try is spent, and no condition of the task's
    // retries can be against another one.
    return {
      kind: "release",
      lease,
      delayMs: UNPREPARED_PAUSE_MS,
      reason: "the server cannot read what the call needs",
    };
  }
}

/** What a call of a task is made with. */
interface Attempt {
  /** The proof of its lease. */
  readonly lease: LeaseProof;
  /** What the worker shows with its answer. */
  readonly token: string;
  /** Ends it. */
  readonly signal: AbortSignal;
}

/** Tells of an outcome; what the worker says stays out, as it may be secret. */
function noteEvent(span: Span, event: TaskEvent): void {
  span.setAttribute("task.outcome", event.kind);
  if ("http" in event && event.http !== undefined) {
    span.setAttribute("http.response.status_code", event.http.status);
  }
  if (event.kind === "fail") markFailed(span, "the call failed");
}

/** A call that was made. */
interface MadeCall {
  /** The proof of its lease. */
  readonly lease: LeaseProof;
  /** Removes the secrets that it was given; there are none if undefined. */
  readonly scrubber: Scrubber | undefined;
  /** Whether its receiver is that of a callback, which holds no lease. */
  readonly isCallback: boolean;
}

/** The event of an outcome, without secrets. */
function eventOfCall(outcome: PushOutcome, call: MadeCall): TaskEvent {
  const { lease, scrubber } = call;
  const verdict = verdictOf(outcome, call);
  const http: HttpFact | undefined = outcome.kind === "answered"
    ? { status: outcome.status, durationMs: outcome.durationMs }
    : undefined;
  const clean = (text: string): string => scrubber?.scrubText(text) ?? text;
  switch (verdict.kind) {
    case "accepted":
      return { kind: "accept", lease, leaseMs: verdict.leaseMs, http };
    case "succeeded":
      return {
        kind: "complete",
        lease,
        ...keptResult(verdict.result, {
          isTruncated: verdict.isTruncated,
          scrubber,
        }),
        http,
      };
    case "failed":
      return {
        kind: "fail",
        lease,
        failure: verdict.failure,
        message: clean(verdict.message),
        detailJson: verdict.detail === undefined
          ? undefined
          : JSON.stringify(clean(verdict.detail)),
        retryAfterMs: verdict.retryAfterMs,
        http,
      };
  }
}

/** The event of a call that could not be made. */
function failureEvent(
  lease: LeaseProof,
  code: string,
  message: string,
): TaskEvent {
  return { kind: "fail", lease, failure: { code }, message };
}

function verdictOf(
  outcome: PushOutcome,
  { scrubber, isCallback }: MadeCall,
): PushVerdict {
  const verdict = judgeAnswer(withoutSecrets(outcome, scrubber));
  if (!isCallback || outcome.kind !== "answered") return verdict;
  const { status } = outcome;
  if (verdict.kind !== "failed" || status >= 200 && status <= 299) {
    // There is nothing to finish later for the receiver of a call at an end.
    return verdict.kind === "succeeded"
      ? verdict
      : { kind: "succeeded", result: null, isTruncated: false };
  }
  const words = `Cannot call back: the receiver answered ${status}`;
  const message = status >= 300 && status <= 399
    ? `${words}, and redirects are not followed; change the callback's URL`
    : words;
  return { ...verdict, message };
}

/**
 * A worker's message about a failure is cut when it is judged, and half a
 * secret would not be found then.
 */
function withoutSecrets(
  outcome: PushOutcome,
  scrubber: Scrubber | undefined,
): PushOutcome {
  const isFailure = outcome.kind === "answered" &&
    (outcome.status < 200 || outcome.status > 299);
  return isFailure && scrubber !== undefined
    ? {
      ...outcome,
      bodyText: scrubber.scrubText(outcome.bodyText, {
        isCut: outcome.isTruncated,
      }),
    }
    : outcome;
}
