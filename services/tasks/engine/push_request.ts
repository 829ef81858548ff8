/**
 * Builds the HTTP request of a push call from its task, its worker and their
 * secrets.
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
import { showResumed } from "../domain/wait_schema.ts";
import type { Scrubber } from "../secrets/scrub.ts";
import { type CallbackData, parseCallbackData } from "./task_writes.ts";
import { dependencyResults } from "./dependency_results.ts";
import { EmbeddedJson } from "./stored_json.ts";
import type { EngineParts } from "./parts.ts";
import type { Vault } from "./vault.ts";
import { tenantOfInternal } from "./workers.ts";

/** All that the request of a call is built from. */
interface PushParts extends Omit<CallPlan, "taskId" | "scrubber"> {
  /** The running task of the call. */
  readonly task: Task;
  /**
   * The id of the task that the call is about.
   *
   * @default the id of `task`
   */
  readonly taskId?: string;
  /** The present, in milliseconds since the epoch. */
  readonly nowMs: number;
  /** The trace the call belongs to (W3C Trace Context). */
  readonly traceparent: string;
}

/** The outcome of building a request. */
export type PushRequestOutcome =
  | { readonly kind: "ok"; readonly request: Omit<PushRequest, "timeoutMs"> }
  | { readonly kind: "invalid"; readonly reason: string };

/**
 * Builds the request of an attempt: the body and the headers of Standard
 * Webhooks, the worker's own headers with their secrets filled in, and the
 * headers that name the task and the attempt.
 */
export function buildPushRequest(parts: PushParts): PushRequestOutcome {
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
      owner: task.tenantId,
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

/**
 * Creates the JSON view of a task that a receiver is sent, as the API shows it.
 */
export type TaskView = (
  task: Task,
  options: { readonly workerName: string; readonly embedded: EmbeddedJson },
) => unknown;

/** What a call needs besides its task. */
export interface CallPlan {
  /** The worker that is called. */
  readonly worker: WorkerDefinition;
  /** The URL to call, which may refer to secrets. */
  readonly url: string;
  /**
   * The id of the task that the call is about; a callback is about another task
   * than its own.
   */
  readonly taskId: string;
  /** The type of the message, such as `task.run`. */
  readonly type: string;
  /** The data of the message, to be written as JSON. */
  readonly data: object;
  /** Writes the data as JSON, with the JSON texts embedded in it. */
  readonly embedded: Pick<EmbeddedJson, "stringify">;
  /** Secrets that may be filled into the URL and the headers, by name. */
  readonly secrets: ReadonlyMap<string, string>;
  /** The secrets that sign the call, as text. */
  readonly signing: readonly string[];
  /**
   * Removes these secrets from the answer; undefined when there are no secrets.
   */
  readonly scrubber: Scrubber | undefined;
}

/** Options of {@linkcode planCall}. */
interface PlanOptions {
  /** The engine's parts. */
  readonly parts: EngineParts;
  /** Decrypts secrets. */
  readonly vault: Vault;
  /** Creates the JSON view of a task that a receiver is sent. */
  readonly view: TaskView;
  /** The token that proves the receiver's attempt. */
  readonly token: string;
}

/**
 * Reads what the call of a task needs; undefined when there is no address to
 * call.
 *
 * @throws {SecretsError} when the worker's secrets cannot be decrypted
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
    return await planCallback(parseCallbackData(task), { ...planned, worker });
  }
  const url = worker.jobs?.[task.job]?.url ?? worker.url;
  if (url === undefined) return undefined;
  const embedded = new EmbeddedJson();
  const [secrets, signing, dependencies] = await Promise.all([
    vault.open(task.tenantId, task.workerId),
    vault.signing(worker),
    dependencyResults([task], {
      ...{ store: parts.store, embedded, payloads: true },
    }),
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
      dependencies: dependencies.get(task),
      ...showResumed(task, {
        payloads: true,
        place: (json) => embedded.place(json),
      }),
    },
    embedded,
    secrets: secrets.values,
    signing,
    scrubber: secrets.scrubber,
  };
}

async function planCallback(
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

/** A new trace id in W3C Trace Context format, marked as not sampled. */
export function newTraceparent(): string {
  const id = randomBytes(24).toString("hex");
  return `00-${id.slice(0, 32)}-${id.slice(32)}-00`;
}
