/**
 * Calls a webhook with an event, by Standard Webhooks, and judges the answer: a
 * webhook that answers 410, or has failed for days, is disabled.
 *
 * @module
 */

import { judgeAnswer, type PushOutcome } from "../../delivery/push_answer.ts";
import type { PushCaller } from "../../delivery/push_call.ts";
import {
  parseSigningSecret,
  signWebhook,
} from "../../delivery/webhook_signature.ts";
import {
  type Alert,
  SYSTEM_ACTOR,
  type Webhook,
} from "../../domain/records.ts";
import type { Task } from "../../domain/task.ts";
import type { LeaseProof, TaskEvent } from "../../domain/task_event.ts";
import type { TaskChanges } from "../changes.ts";
import type { EngineParts } from "../parts.ts";
import { auditWrite } from "../record_writes.ts";
import { keptResult } from "../stored_json.ts";
import type { Vault } from "../vault.ts";
import { ALERT_PREFIX, internalTenant, tenantOfInternal } from "../workers.ts";
import { MAX_OPEN_DELIVERIES } from "./webhook_feed.ts";
import { healthWrite, readHealth, type WebhookName } from "./webhook_state.ts";

/** After how long without a success a webhook is disabled. */
export const MAX_FAILING_MS: number = 5 * 86_400_000;
/**
 * For how long a webhook has to have failed before its next success has the
 * others tried at once, so that one that fails now and then is not overrun. It
 * is less than the first retry's wait, so no delivery that has failed twice in
 * an outage waits for minutes after it.
 */
const LONG_FAILING_MS = 2_000;
/** The most characters of an answer that are kept. */
const MAX_ANSWER_CHARS = 4_096;
/** How often a record is written that others write, too. */
const MAX_TRIES = 5;
/** An answer that the engine takes for a lasting one. */
const NOT_IMPLEMENTED = 501;
const GONE = 410;

/** What calls need. */
interface CallParts {
  /** The engine's parts. */
  readonly parts: EngineParts;
  /** Decrypts the secrets of webhooks. */
  readonly vault: Pick<Vault, "signing" | "openValue">;
  /** Makes the calls. */
  readonly caller: Pick<PushCaller, "call">;
}

/** What is sent. */
interface WebhookMessage {
  /** The id of the message, the same at each try. */
  readonly id: string;
  /** The body. */
  readonly body: string;
  /** Milliseconds for the whole call. */
  readonly timeoutMs: number;
  /** Aborts the call. */
  readonly signal: AbortSignal;
}

/** What came back from a webhook. */
export interface SentWebhook {
  /** The answer, or why there is none. */
  readonly outcome: PushOutcome;
  /** How many secrets have signed the call. */
  readonly signatures: number;
}

/** What is called: a webhook, or the address of an alert. */
export interface Receiver
  extends Pick<Webhook, "tenantId" | "id" | "url" | "signing"> {
  /**
   * The value of the header Authorization, sealed.
   *
   * @default there is no such header
   */
  readonly authorization?: string | undefined;
}

/** The receiver of an alert's messages. */
export function receiverOf({ send, ...alert }: Alert): Receiver {
  return { ...alert, url: send.url, authorization: send.authorization };
}

/** The name under which the header of an alert is sealed. */
export const AUTHORIZATION = "authorization";

/**
 * Sends a message to a webhook, or to the address of an alert.
 *
 * @throws {SecretsError} when its secrets cannot be decrypted
 */
export async function sendWebhook(
  webhook: Receiver,
  message: WebhookMessage,
  { parts: { clock }, vault, caller }: CallParts,
): Promise<SentWebhook> {
  const { id, body, timeoutMs, signal } = message;
  const texts = await vault.signing(webhook);
  const keys = texts.flatMap((text) => parseSigningSecret(text) ?? []);
  const { authorization: sealed } = webhook;
  const authorization = sealed === undefined ? {} : {
    authorization: await vault.openValue(webhook, {
      name: AUTHORIZATION,
      sealed,
    }),
  };
  const atMs = clock.nowMs();
  const outcome = await caller.call({
    url: webhook.url,
    owner: internalTenant(webhook.tenantId),
    method: "POST",
    headers: {
      "content-type": "application/json",
      "user-agent": "tercet-tasks",
      ...authorization,
      ...keys.length === 0
        ? {
          "webhook-id": id,
          "webhook-timestamp": String(Math.floor(atMs / 1_000)),
        }
        : signWebhook({ id, atMs, body }, keys),
    },
    body,
    timeoutMs,
    signal,
  });
  return { outcome, signatures: keys.length };
}

/** Why a call has failed; undefined when the receiver has taken it. */
export function failureOf(
  outcome: PushOutcome,
):
  | Pick<Extract<TaskEvent, { kind: "fail" }>, "failure" | "message">
  | undefined {
  if (outcome.kind === "answered") {
    const { status } = outcome;
    if (status >= 200 && status <= 299) return undefined;
    const words = `Cannot deliver: the receiver answered ${status}`;
    const isRedirect = status >= 300 && status <= 399;
    return {
      failure: {
        code: isRedirect ? "redirected" : "http_status",
        httpStatus: status === NOT_IMPLEMENTED ? undefined : status,
        isFinal: status === GONE,
      },
      message: isRedirect
        ? `${words}, and redirects are not followed; change its URL`
        : words,
    };
  }
  const verdict = judgeAnswer(outcome);
  return verdict.kind === "failed"
    ? { failure: verdict.failure, message: verdict.message }
    : undefined;
}

/** Options of {@linkcode deliverEvent}. */
interface DeliverOptions extends CallParts {
  /** Has waiting deliveries tried at once. */
  readonly changes: Pick<TaskChanges, "applyAll">;
  /** The proof of the attempt's lease. */
  readonly lease: LeaseProof;
  /** Aborts the call. */
  readonly signal: AbortSignal;
}

/**
 * Makes a delivery. Undefined when the call was aborted.
 *
 * @throws {SecretsError} when the webhook's secrets cannot be decrypted
 * @throws {Error} when the store fails
 */
export async function deliverEvent(
  task: Task,
  options: DeliverOptions,
): Promise<TaskEvent | undefined> {
  const { parts: { repositories, clock }, lease, signal } = options;
  const tenantId = tenantOfInternal(task.tenantId) ?? "";
  const { workerId: id } = task;
  const webhook = await repositories.webhooks.get(tenantId, id);
  const alert = webhook === undefined
    ? await repositories.alerts.get(tenantId, id)
    : undefined;
  const found = webhook ?? alert;
  const receiver = webhook ?? (alert && receiverOf(alert));
  if (receiver === undefined || found?.isEnabled !== true) {
    const state = found === undefined ? "removed" : "disabled";
    return {
      kind: "fail",
      lease,
      failure: { code: `webhook_${state}`, isFinal: true },
      message: `Cannot deliver: the ${
        id.startsWith(ALERT_PREFIX) ? "alert" : "webhook"
      } is ${state}`,
    };
  }
  const nowMs = clock.nowMs();
  const { outcome } = await sendWebhook(receiver, {
    id: messageId(task),
    body: task.dataJson,
    timeoutMs: Math.max(1, (task.attempt?.deadlineMs ?? nowMs) - nowMs),
    signal,
  }, options);
  if (outcome.kind === "failed" && outcome.code === "canceled") {
    return undefined;
  }
  const failed = failureOf(outcome);
  if (webhook !== undefined) {
    try {
      if (failed === undefined) await noteSuccess(webhook, options);
      else await noteFailure(webhook, failed.failure.isFinal === true, options);
    } catch (error) {
      // The next call notes it; this one's outcome is stored all the same, so
      // that an event that was taken is not sent again.
      options.parts.logger.warn(
        "Cannot note how a webhook answers: the store failed",
        { tenant: tenantId, webhook: id, error: String(error) },
      );
    }
  }
  return toEvent(outcome, { lease, failed });
}

/** The id that names an event, however often it is sent. */
export function messageId({ dataJson, id }: Task): string {
  // Only the feed makes deliveries.
  const { id: event } = JSON.parse(dataJson) as { readonly id?: string };
  return event ?? id;
}

function toEvent(
  outcome: PushOutcome,
  { lease, failed }: {
    readonly lease: LeaseProof;
    readonly failed: ReturnType<typeof failureOf>;
  },
): TaskEvent {
  const answer = outcome.kind === "answered" ? outcome : undefined;
  const body = answer?.bodyText.slice(0, MAX_ANSWER_CHARS).toWellFormed();
  const http = answer &&
    { status: answer.status, durationMs: answer.durationMs };
  if (failed === undefined) {
    return { kind: "complete", lease, ...keptResult(body ?? ""), http };
  }
  return {
    kind: "fail",
    lease,
    ...failed,
    detailJson: body === undefined || body === ""
      ? undefined
      : JSON.stringify(body),
    retryAfterMs: answer?.retryAfterMs,
    http,
  };
}

/** Notes that a webhook answers; the deliveries that wait are tried at once. */
async function noteSuccess(
  webhook: Webhook,
  { parts: { store, clock }, changes }: DeliverOptions,
): Promise<void> {
  const { value, version } = await readHealth(store, webhook);
  if (value === undefined) return;
  const [result] = await store.commit([{
    writes: [healthWrite(webhook, undefined, version)],
  }]);
  const failedMs = clock.nowMs() - value.failingSinceMs;
  if (result?.kind !== "ok" || failedMs < LONG_FAILING_MS) return;
  const tenantId = internalTenant(webhook.tenantId);
  const { tasks } = await store.listTasks({
    tenantId,
    workerIds: [webhook.id],
    statuses: ["retry"],
    by: "created_at",
    sort: "created_at",
    order: "asc",
    limit: MAX_OPEN_DELIVERIES,
  });
  await changes.applyAll(tasks.map(({ id }) => ({
    tenantId,
    id,
    event: { kind: "retry" } as const,
    actor: SYSTEM_ACTOR,
  })));
}

/** Notes that a webhook fails, and disables it when that has been so for long. */
async function noteFailure(
  webhook: Webhook,
  isGone: boolean,
  { parts }: DeliverOptions,
): Promise<void> {
  const { store, clock } = parts;
  const nowMs = clock.nowMs();
  if (isGone) return await disable(webhook, "gone", parts);
  const { value, version } = await readHealth(store, webhook);
  if (value === undefined) {
    // A conflict means that another call has noted it.
    await store.commit([{
      writes: [healthWrite(webhook, { failingSinceMs: nowMs }, version)],
    }]);
  } else if (nowMs - value.failingSinceMs >= MAX_FAILING_MS) {
    await disable(webhook, "failing", parts);
  }
}

/** Disables a webhook, which is told as an event. */
async function disable(
  { tenantId, id }: WebhookName,
  reason: NonNullable<Webhook["disabledReason"]>,
  { store, repositories: { webhooks }, clock }: EngineParts,
): Promise<void> {
  for (let tries = 0; tries < MAX_TRIES; tries++) {
    const record = await store.record("webhook", tenantId, id);
    const webhook = record && webhooks.parse(record);
    if (webhook?.isEnabled !== true) return;
    const nowMs = clock.nowMs();
    const [result] = await store.commit([{
      writes: [
        webhooks.update(webhook, {
          ...webhook,
          version: webhook.version + 1,
          isEnabled: false,
          disabledReason: reason,
          disabledAtMs: nowMs,
          updatedAtMs: nowMs,
        }),
        auditWrite(tenantId, {
          atMs: nowMs,
          action: "webhook.disabled",
          actor: SYSTEM_ACTOR,
          target: id,
          detail: { reason },
        }),
      ],
    }]);
    if (result?.kind === "ok") return;
  }
}
