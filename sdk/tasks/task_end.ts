/**
 * Waits for the end of a task by requests that the service answers once the
 * task has ended.
 *
 * @module
 */

import { steadyMs } from "../memory/client_clock.ts";
import type { Task } from "./api_types.ts";
import {
  type CallOptions,
  isPassing,
  type ServiceCalls,
} from "./service_calls.ts";
import { TasksError } from "./tasks_error.ts";

/** Options of {@linkcode TasksClient.wait}. */
export interface WaitOptions extends CallOptions {
  /**
   * The most milliseconds to wait.
   *
   * @default {Infinity}
   */
  readonly timeoutMs?: number | undefined;
  /**
   * Called with the task whenever its state was read.
   *
   * @default none
   */
  readonly onProgress?: ((task: Task) => void) | undefined;
}

/** The longest wait of one request; the service has the same limit. */
const LONGEST_MS = 30_000;
/**
 * Least milliseconds from one request to the next. The service answers at once
 * when too many requests wait already.
 */
const LEAST_MS = 1_000;
/** Milliseconds for which errors that may pass are put up with. */
const TROUBLE_MS = 60_000;

/**
 * Waits until a task has ended.
 *
 * @throws {TasksError} `not_ended` when the time is over; when the service
 * refuses, or cannot be asked for a minute.
 */
export async function taskEnd(
  calls: ServiceCalls,
  id: string,
  { timeoutMs = Infinity, onProgress, signal }: WaitOptions,
): Promise<Task> {
  const { clock } = calls;
  const endMs = steadyMs(clock) + timeoutMs;
  let troubleSinceMs: number | undefined;
  while (true) {
    const sinceMs = steadyMs(clock);
    const waitMs = Math.max(0, Math.min(LONGEST_MS, endMs - sinceMs));
    try {
      const task = await calls.call<Task>({
        action: "wait for the task",
        method: "GET",
        path: ["tasks", id],
        query: { wait: `PT${Math.ceil(waitMs) / 1_000}S` },
        extraMs: waitMs,
        signal,
      });
      troubleSinceMs = undefined;
      onProgress?.(task);
      if (task.finished_at !== null) return task;
    } catch (error) {
      troubleSinceMs ??= sinceMs;
      const isLong = steadyMs(clock) - troubleSinceMs >= TROUBLE_MS;
      if (isLong || !isPassing(error)) throw error;
    }
    if (steadyMs(clock) >= endMs) {
      throw new TasksError(
        `Cannot wait any longer for the task "${id}": it has not ended ` +
          `within ${timeoutMs} ms`,
        { code: "not_ended" },
      );
    }
    const restMs = Math.min(sinceMs + LEAST_MS, endMs) - steadyMs(clock);
    if (restMs <= 0) continue;
    await calls.pause(restMs, signal);
  }
}
