/**
 * A lease as the API shows it to who was given it.
 *
 * @module
 */

import type { Task } from "../../domain/task.ts";
import type { EmbeddedJson } from "../../engine/embedded_json.ts";
import type { Grant } from "../../engine/claim_demand.ts";
import { viewTask } from "../tasks/task_view.ts";
import { utcTime } from "../../domain/utc_time.ts";

/** What a view of a lease shows. */
export interface LeaseViewOptions {
  /** The worker's name. */
  readonly workerName: string;
  /** Whether the data of its task is shown. */
  readonly payloads: boolean;
  /** Takes long data as it is kept. */
  readonly embedded: EmbeddedJson;
  /**
   * Whether of its task only what the work needs is shown.
   * @default {false}
   */
  readonly isMinimal?: boolean;
  /** The worker's secrets by name; absent when none are to come along. */
  readonly secrets: Readonly<Record<string, string>> | undefined;
}

/** A lease as the API shows it. */
export type LeaseView = Readonly<Record<string, unknown>>;

/** Returns a lease with its token and its task. */
export function viewLease(
  { task, token }: Pick<Grant, "task" | "token">,
  { workerName, payloads, secrets, embedded, isMinimal = false }:
    LeaseViewOptions,
): LeaseView {
  const { attempt } = task;
  return {
    id: attempt?.id ?? null,
    token,
    fence: task.fence,
    task: isMinimal
      ? viewWork(task, { payloads, embedded })
      : viewTask(task, { workerName, payloads, embedded }),
    run: task.run,
    attempt: task.retries + 1,
    expires_at: attempt === undefined ? null : utcTime(attempt.expiresAtMs),
    ...(secrets === undefined ? {} : { secrets }),
  };
}

/** What of a task says which work it is. */
function viewWork(
  { id, job, dataJson, metadata }: Task,
  { payloads, embedded }: Pick<LeaseViewOptions, "payloads" | "embedded">,
): Readonly<Record<string, unknown>> {
  return {
    id,
    job,
    ...(payloads ? { data: embedded.place(dataJson) } : {}),
    metadata,
  };
}
