/**
 * The HTTP request of a push call: what it needs beside its task, and how it is
 * made of that.
 *
 * @module
 */

import { randomBytes } from "node:crypto";
import type { PushRequest } from "../delivery/push_call.ts";
import {
  parseSigningSecret,
  signWebhook,
} from "../delivery/webhook_signature.ts";
import type { WorkerDefinition } from "../domain/records.ts";
import {
  parseHeaderTemplate,
  parseUrlTemplate,
  type RenderOutcome,
} from "../secrets/template.ts";
import type { Task } from "../domain/task.ts";
import type { Scrubber } from "../secrets/scrub.ts";
import { type CallbackData, callbackDataOf } from "./task_writes.ts";
import { EmbeddedJson } from "./stored_json.ts";
import type { EngineParts } from "./parts.ts";
import type { Vault } from "./vault.ts";
import { tenantOfInternal } from "./workers.ts";

/** The parts of a call. */
interface PushParts extends Omit<CallPlan, "taskId" | "scrubber"> {
  /** The task, running. */
  readonly task: Task;
  /**
   * The task that the call is about.
   * @default that of `task`
   */
  readonly taskId?: string;
  /** The present, in milliseconds since the epoch. */
  readonly nowMs: number;
  /** The trace the call belongs to (W3C Trace Context). */
  readonly traceparent: string;
}

/** The outcome of making a request. */
export type PushRequestOutcome =
  | { readonly kind: "ok"; readonly request: Omit<PushRequest, "timeoutMs"> }
  | { readonly kind: "invalid"; readonly reason: string };

/**
 * Makes the call of an attempt: the body and the headers of Standard Webhooks,
 * the worker's own headers with its secrets filled in, and those that name task
 * and attempt.
 */
export function pushRequestOf(parts: PushParts): PushRequestOutcome {
  const { task, worker, secrets, nowMs } = parts;
  const lookup = (name: string): string | undefined => secrets.get(name);
  const url = parseUrlTemplate(parts.url);
  if (url.kind === "invalid") return url;
  const rendered = url.template.render(lookup);
  if (rendered.kind !== "ok") return notRendered("its url", rendered);
  const headers: Record<string, string> = {};
  for (const [name, value] of Object.entries(worker.headers)) {
    const header = parseHeaderTemplate(value);
    if (header.kind === "invalid") return header;
    const text = header.template.render(lookup);
    if (text.kind !== "ok") return notRendered(`its header "${name}"`, text);
    headers[name.toLowerCase()] = text.text;
  }
  const body = parts.embedded.stringify({
    type: parts.type,
    timestamp: new Date(nowMs).toISOString(),
    data: parts.data,
  });
  const id = `${task.id}.${task.run}`;
  const keys = parts.signing.flatMap((text) => parseSigningSecret(text) ?? []);
  return {
    kind: "ok",
    request: {
      url: rendered.text,
      method: worker.method,
      headers: {
        ...headers,
        "content-type": "application/json",
        "user-agent": "tercet-tasks",
        ...(keys.length === 0
          ? {
            "webhook-id": id,
            "webhook-timestamp": String(Math.floor(nowMs / 1_000)),
          }
          : signWebhook({ id, atMs: nowMs, body }, keys)),
        "task-id": parts.taskId ?? task.id,
        "task-attempt": String(task.fence),
        "traceparent": parts.traceparent,
      },
      body,
    },
  };
}

function notRendered(
  what: string,
  outcome: Exclude<RenderOutcome, { readonly kind: "ok" }>,
): PushRequestOutcome {
  if (outcome.kind === "unusable_secret") {
    return { kind: "invalid", reason: outcome.reason };
  }
  const names = outcome.names.map((name) => `"${name}"`).join(", ");
  return {
    kind: "invalid",
    reason: `Cannot call the worker: ${what} needs the secret ${names}, ` +
      "which is not there; add it",
  };
}

/** Makes the view of a task that a receiver is sent, as the API shows it. */
export type TaskView = (
  task: Task,
  options: { readonly workerName: string; readonly embedded: EmbeddedJson },
) => unknown;

/** The needs of a call beside its task. */
export interface CallPlan {
  /** The worker that is called. */
  readonly worker: WorkerDefinition;
  /** Where, with references to secrets. */
  readonly url: string;
  /** The task that it is about; a call back is about another than its own. */
  readonly taskId: string;
  /** The type of the message, such as `task.run`. */
  readonly type: string;
  /** The data of the message, for JSON. */
  readonly data: unknown;
  /** Writes that as JSON, with the texts that it has embedded. */
  readonly embedded: Pick<EmbeddedJson, "stringify">;
  /** Values that may be filled in, by name. */
  readonly secrets: ReadonlyMap<string, string>;
  /** The secrets that sign the call, as text. */
  readonly signing: readonly string[];
  /** Takes these secrets out of the answer; there are none if undefined. */
  readonly scrubber: Scrubber | undefined;
}

/** Options of {@linkcode planCall}. */
interface PlanOptions {
  /** The engine's parts. */
  readonly parts: EngineParts;
  /** Opens secrets. */
  readonly vault: Vault;
  /** Makes the view of a task that a receiver is sent. */
  readonly view: TaskView;
  /** The token that proves the receiver's attempt. */
  readonly token: string;
}

/**
 * Reads what the call of a task needs; undefined when there is nowhere to call.
 *
 * @throws {SecretsError} when the worker's secrets cannot be opened
 * @throws {Error} when the store cannot be read
 */
export async function planCall(
  task: Task,
  planned: PlanOptions,
): Promise<CallPlan | undefined> {
  const { parts, vault, view, token } = planned;
  const owner = tenantOfInternal(task.tenantId);
  const worker = await parts.workers.get(task.tenantId, task.workerId);
  if (worker === undefined) return undefined;
  if (owner !== undefined) {
    return await callbackPlanOf(callbackDataOf(task), { ...planned, worker });
  }
  const url = worker.jobs?.[task.job]?.url ?? worker.url;
  if (url === undefined) return undefined;
  const embedded = new EmbeddedJson();
  const [secrets, signing] = await Promise.all([
    vault.open(task.tenantId, task.workerId),
    vault.signing(worker),
  ]);
  return {
    worker,
    url,
    taskId: task.id,
    type: "task.run",
    data: {
      task: view(task, { workerName: worker.name, embedded }),
      run: task.run,
      attempt: {
        id: task.attempt?.id,
        token,
        fence: task.fence,
        started_at: new Date(task.startedAtMs ?? 0).toISOString(),
      },
    },
    embedded,
    secrets: secrets.values,
    signing,
    scrubber: secrets.scrubber,
  };
}

async function callbackPlanOf(
  data: CallbackData,
  { parts, vault, view, worker }: PlanOptions & {
    readonly worker: WorkerDefinition;
  },
): Promise<CallPlan> {
  const embedded = new EmbeddedJson();
  const [origin, signer] = await Promise.all([
    parts.store.task(data.tenantId, data.taskId),
    parts.workers.get(data.tenantId, data.workerId),
  ]);
  return {
    worker,
    url: data.url,
    taskId: data.taskId,
    type: data.type,
    data: {
      task: origin === undefined ? { id: data.taskId } : view(origin, {
        workerName: signer?.name ?? origin.workerId,
        embedded,
      }),
      run: data.run,
    },
    embedded,
    secrets: new Map(),
    signing: signer === undefined ? [] : await vault.signing(signer),
    scrubber: undefined,
  };
}

/** A new trace as W3C Trace Context writes it; it is not sampled here. */
export function newTraceparent(): string {
  const id = randomBytes(24).toString("hex");
  return `00-${id.slice(0, 32)}-${id.slice(32)}-00`;
}
