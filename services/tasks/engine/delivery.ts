/**
 * Delivers a started task to its push worker: makes the call and writes its
 * outcome as an event. A task of the service's own worker for users goes to the
 * identity provider, one of a webhook's worker to the webhook.
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
import type { Attempt, Task } from "../domain/task.ts";
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
  buildPushRequest,
  type CallPlan,
  newTraceparent,
  planCall,
  type TaskView,
} from "./push_request.ts";
import { cleanWait, keptResult } from "./stored_json.ts";
import { SecretsError } from "./tenant_keys.ts";
import type { UserDelivery, UserMirroring } from "./user_mirroring.ts";
import type { Vault } from "./vault.ts";
import type { Grant } from "./waiter.ts";
import { deliverEvent } from "./webhooks/webhook_call.ts";
import { isWebhookWorker, MIRROR_WORKER, tenantOfInternal } from "./workers.ts";

/**
 * The wait before an outcome is written again, in milliseconds; it doubles each
 * time.
 */
const FIRST_PAUSE_MS = 50;
/** The longest of these waits, in milliseconds. */
const MAX_PAUSE_MS = 6_400;
/**
 * How long a task is delayed when the store could not be read for its call, in
 * milliseconds.
 */
const UNPREPARED_PAUSE_MS = 5_000;
/** Why calls are aborted when others may take over. */
const GIVEN_UP = "the server could not reach the store";

/** Options of {@linkcode Delivery}. */
interface DeliveryOptions {
  /** The engine's parts. */
  readonly parts: EngineParts;
  /** Writes the outcomes. */
  readonly changes: TaskChanges;
  /** Decrypts the secrets of workers. */
  readonly vault: Vault;
  /** Makes the calls. */
  readonly caller: Pick<PushCaller, "call">;
  /** Delivers users to the identity provider. */
  readonly mirroring: Pick<UserMirroring, "deliver">;
  /**
   * Creates a span for each call, to which the receiver's trace is linked.
   *
   * @default no spans
   */
  readonly tracing?: Tracing | undefined;
  /** Creates the JSON view of a task that a receiver is sent. */
  readonly view: TaskView;
}

/** Makes push calls and writes their outcomes. */
export class Delivery {
  readonly #options: DeliveryOptions;
  readonly #calls = new Map<string, AbortController>();
  #isStopped = false;

  /** Takes the engine's parts and the caller; it does nothing by itself. */
  constructor(options: DeliveryOptions) {
    this.#options = options;
  }

  /** Aborts the call of an attempt whose task was canceled, if it is made here. */
  cancel(attemptId: string): void {
    this.#calls.get(attemptId)?.abort();
  }

  /**
   * Aborts all calls, because others may take their tasks for those of a dead
   * instance. The tasks are released, unless that has happened.
   */
  giveUp(): void {
    for (const call of this.#calls.values()) call.abort(GIVEN_UP);
  }

  /** Aborts all calls; their tasks are released. */
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
      else if (!await this.#isMine(attempt)) call.abort(GIVEN_UP);
      const { event, writes = [] } = await this.#attempt(task, {
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
        extraWrites: writes,
        cachedTask: task,
      });
    } catch (error) {
      // The lease ends by itself, and the task then continues.
      this.#options.parts.logger.error(
        "Cannot write the outcome of a push call: the store failed",
        { task: task.id, error: String(error) },
      );
    } finally {
      this.#calls.delete(attempt.id);
    }
  }

  /**
   * Whether the attempt is one of this instance as it is now, and no other one
   * may judge it lost: the process may have stood still after the claim.
   */
  async #isMine({ bootId }: Attempt): Promise<boolean> {
    const { instances } = this.#options.parts;
    const mayAct = !instances.isFenced || await instances.mayAct();
    return mayAct && bootId === instances.id;
  }

  /**
   * Writes an outcome, and tries again while the attempt lasts: the work is
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
  #attempt(task: Task, attempt: CallOptions): Promise<UserDelivery> {
    return traced(this.#options.tracing, {
      name: "deliver task",
      role: "client",
      // The worker continues this trace; the trace that created the task may
      // have ended long ago.
      parent: "root",
      attributes: { "task.id": task.id, "task.run": task.run },
    }, async (span) => {
      const delivery = task.workerId === MIRROR_WORKER.id
        ? await this.#mirror(task, attempt)
        : isWebhookWorker(task.workerId)
        ? { event: await this.#tellWebhook(task, attempt) }
        : { event: await this.#call(task, { ...attempt, span }) };
      if (span?.isRecording() === true) noteEvent(span, delivery.event);
      return delivery;
    });
  }

  /**
   * Delivers a user. The calls of a user are in order since their tasks run one
   * at a time, on whichever instance; one that was fenced in between makes no
   * call, so that it brings no older state after another one's.
   */
  async #mirror(
    task: Task,
    { lease, signal }: CallOptions,
  ): Promise<UserDelivery> {
    if (signal.reason === GIVEN_UP) {
      return { event: releaseEvent(lease, GIVEN_UP) };
    }
    try {
      return await this.#options.mirroring.deliver(task, lease);
    } catch (error) {
      return { event: this.#unprepared(task, lease, error) };
    }
  }

  async #tellWebhook(task: Task, call: CallOptions): Promise<TaskEvent> {
    const { lease, signal } = call;
    try {
      return await deliverEvent(task, { ...this.#options, lease, signal }) ??
        this.#releaseAborted(lease, signal) ??
        releaseEvent(lease, "the call was aborted");
    } catch (error) {
      return this.#unprepared(task, lease, error);
    }
  }

  /** The event of a call that this instance has aborted by itself. */
  #releaseAborted(
    lease: LeaseProof,
    signal: AbortSignal,
  ): TaskEvent | undefined {
    if (this.#isStopped) return releaseEvent(lease, "the server stops");
    return signal.reason === GIVEN_UP
      ? releaseEvent(lease, GIVEN_UP)
      : undefined;
  }

  async #call(
    task: Task,
    { lease, token, signal, span }: CallOptions & {
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
    const made = buildPushRequest({
      ...plan,
      task,
      nowMs,
      traceparent: this.#options.tracing?.toFields(span)["traceparent"] ??
        newTraceparent(),
    });
    if (made.kind === "invalid") {
      return failureEvent(lease, "bad_request", made.reason);
    }
    const timeoutMs = Math.max(1, (task.attempt?.deadlineMs ?? nowMs) - nowMs);
    const outcome = await caller.call({ ...made.request, timeoutMs, signal });
    if (outcome.kind === "failed" && outcome.code === "canceled") {
      const released = this.#releaseAborted(lease, signal);
      if (released !== undefined) return released;
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
    // This is not the worker's fault, so the task is released: that uses up no
    // retry, and conditions of the retry policy do not apply.
    return {
      kind: "release",
      lease,
      delayMs: UNPREPARED_PAUSE_MS,
      reason: "the server cannot read what the call needs",
    };
  }
}

/** What a call of an attempt needs. */
interface CallOptions {
  /** The proof of the attempt's lease. */
  readonly lease: LeaseProof;
  /** The lease token, which the worker presents in its later reports. */
  readonly token: string;
  /** Aborts the call. */
  readonly signal: AbortSignal;
}

/**
 * Adds the outcome to the span, without the worker's own words, which may be
 * secret.
 */
function noteEvent(span: Span, event: TaskEvent): void {
  span.setAttribute("task.outcome", event.kind);
  if ("http" in event && event.http !== undefined) {
    span.setAttribute("http.response.status_code", event.http.status);
  }
  if (event.kind === "fail") markFailed(span, "the call failed");
}

/** A call that has ended, with what its outcome is judged by. */
interface MadeCall {
  /** The proof of the attempt's lease. */
  readonly lease: LeaseProof;
  /**
   * Removes from texts the secrets that were sent; undefined when the call had
   * no secrets.
   */
  readonly scrubber: Scrubber | undefined;
  /** Whether the call is a callback, whose receiver holds no lease. */
  readonly isCallback: boolean;
}

/** Turns the outcome of a call into an event, with secrets removed. */
function eventOfCall(outcome: PushOutcome, call: MadeCall): TaskEvent {
  const { lease, scrubber } = call;
  const verdict = judgeOutcome(outcome, call);
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
        message: verdict.message && clean(verdict.message),
        http,
      };
    case "waiting":
      return {
        kind: "wait",
        lease,
        ...cleanWait(verdict.wait, scrubber),
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

/** The event by which others may take the task. */
function releaseEvent(lease: LeaseProof, reason: string): TaskEvent {
  return { kind: "release", lease, reason };
}

/** The event of a call that could not be made. */
function failureEvent(
  lease: LeaseProof,
  code: string,
  message: string,
): TaskEvent {
  return { kind: "fail", lease, failure: { code }, message };
}

function judgeOutcome(
  outcome: PushOutcome,
  { scrubber, isCallback }: MadeCall,
): PushVerdict {
  const verdict = judgeAnswer(withoutSecrets(outcome, scrubber));
  if (!isCallback || outcome.kind !== "answered") return verdict;
  const { status } = outcome;
  if (verdict.kind !== "failed" || status >= 200 && status <= 299) {
    // The receiver of a callback has nothing to finish later, so any 2xx is a
    // success.
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
 * Removes secrets from an answer before it is judged: a worker's failure
 * message is cut then, and half a secret would no longer be found.
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
