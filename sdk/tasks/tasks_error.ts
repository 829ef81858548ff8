/**
 * Errors of calls to the tasks service.
 *
 * @module
 */

import type { Problem, ProblemFault } from "./api_types.ts";

/**
 * An error code for programs: a code of the service, as its documentation lists
 * them, or one of the client's own:
 *
 * - `unreachable`: no connection, or it broke before the answer.
 * - `no_answer`: the answer did not come in time; the request may have been carried out.
 * - `unexpected_answer`: what answered is not the tasks service.
 * - `not_ended`: a task had not ended when the wait for it was over.
 */
export type TasksErrorCode =
  | Problem["code"]
  | "unreachable"
  | "no_answer"
  | "unexpected_answer"
  | "not_ended";

/** Options of {@linkcode TasksError}. */
export interface TasksErrorOptions extends ErrorOptions {
  /** The error code, for programs. */
  readonly code: TasksErrorCode;
  /** HTTP status of the answer. */
  readonly status?: number | undefined;
  /** All faults of the request. */
  readonly faults?: readonly ProblemFault[] | undefined;
  /** Milliseconds after which to try again. */
  readonly retryAfterMs?: number | undefined;
  /** The id of the request in the service's logs. */
  readonly requestId?: string | undefined;
}

/**
 * The tasks service refused a request, or gave no answer to it.
 *
 * @example Tell a conflict from other errors
 * ```ts
 * import { TasksError } from "@tercet/sdk/tasks";
 *
 * const error: unknown = new TasksError("Cannot cancel the task: it has ended", {
 *   code: "wrong_state",
 *   status: 409,
 * });
 * if (error instanceof TasksError && error.code === "wrong_state") {
 *   console.log("It had ended before.");
 * }
 * ```
 */
export class TasksError extends Error {
  /** Name of the class. */
  override readonly name = "TasksError";
  /** The error code, for programs. */
  readonly code: TasksErrorCode;
  /** HTTP status of the answer; undefined when no answer arrived. */
  readonly status: number | undefined;
  /** All faults of the request, where the service names them. */
  readonly faults: readonly ProblemFault[];
  /** Milliseconds after which to try again, where the service says so. */
  readonly retryAfterMs: number | undefined;
  /** The id of the request in the service's logs. */
  readonly requestId: string | undefined;

  /** Creates an error with its code. */
  constructor(message: string, options: TasksErrorOptions) {
    super(message, options);
    this.code = options.code;
    this.status = options.status;
    this.faults = options.faults ?? [];
    this.retryAfterMs = options.retryAfterMs;
    this.requestId = options.requestId;
  }
}

/** Returns the error for a problem that the service reported. */
export function problemError(
  problem: Problem,
  { action, retryAfterMs }: {
    /**
     * The name of the action that failed, for the message: `create the task`.
     */
    readonly action: string;
    /** Milliseconds after which to try again. */
    readonly retryAfterMs?: number | undefined;
  },
): TasksError {
  const { title, detail, status, code, errors: faults, request_id } = problem;
  const first = faults?.[0];
  const state = detail ?? first?.detail ?? title;
  const place = first?.pointer === undefined ? "" : ` (${first.pointer})`;
  const others = (faults?.length ?? 0) - 1;
  const more = others > 0 ? `, and ${others} more` : "";
  // Most of the service's own texts already begin with what cannot be done.
  const said = state.startsWith("Cannot ")
    ? state
    : `Cannot ${action}: ${state}`;
  return new TasksError(said + place + more, {
    code,
    status,
    faults,
    retryAfterMs,
    requestId: request_id,
  });
}
