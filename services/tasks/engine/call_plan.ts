/**
 * What a push call needs beside its task.
 *
 * @module
 */

import type { Task } from "../domain/task.ts";
import type { WorkerDefinition } from "../domain/records.ts";
import type { Scrubber } from "../secrets/scrub.ts";
import { type CallbackData, callbackDataOf } from "./callbacks.ts";
import { EmbeddedJson } from "./embedded_json.ts";
import type { EngineParts } from "./parts.ts";
import type { Vault } from "./vault.ts";
import { tenantOfInternal } from "./workers.ts";

/** Makes what a receiver is told of a task, as the API shows it. */
export type TaskView = (
  task: Task,
  options: { readonly workerName: string; readonly embedded: EmbeddedJson },
) => unknown;

/** What a call needs beside the task. */
export interface CallPlan {
  /** Who is called. */
  readonly worker: WorkerDefinition;
  /** Where, with references to secrets. */
  readonly url: string;
  /** The task that it is about; a call back is about another than its own. */
  readonly taskId: string;
  /** What is told, such as `task.run`. */
  readonly type: string;
  /** What is told of it, for JSON. */
  readonly data: unknown;
  /** Writes that as JSON, with the texts that it has embedded. */
  readonly embedded: EmbeddedJson;
  /** Values that may be filled in, by name. */
  readonly secrets: ReadonlyMap<string, string>;
  /** What signs the call, as text. */
  readonly signing: readonly string[];
  /** Takes these secrets out of the answer; there are none if undefined. */
  readonly scrubber: Scrubber | undefined;
}

/** Options of {@linkcode planCall}. */
export interface PlanOptions {
  /** The engine's parts. */
  readonly parts: EngineParts;
  /** Opens secrets. */
  readonly vault: Vault;
  /** Makes what a receiver is told of a task. */
  readonly view: TaskView;
  /** What proves that the attempt is the receiver's. */
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
