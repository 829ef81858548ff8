/**
 * What the handler of a task is called with, and the errors that it can throw.
 *
 * @module
 */

import type { DependencyResult } from "./api_types.ts";
import type { Resumption, TaskWait } from "./task_wait.ts";

/** A task as its handler gets it. */
export interface LeasedTask<Data = unknown, Job extends string = string> {
  /** Which task it is (`tsk_…`). */
  readonly id: string;
  /**
   * The name of the job, which selects the handler within the worker; `default`
   * unless the task names another.
   */
  readonly job: Job;
  /** The data that the task was created with. */
  readonly data: Data;
  /** Labels of the task, by name. */
  readonly metadata: Readonly<Record<string, string>>;
}

/** What a handler knows of its attempt, and how it reports in the meantime. */
export interface TaskAttemptContext<State = unknown> {
  /**
   * Aborts when the work is no longer needed: the task was canceled, the lease
   * was lost, or the worker stops. The reason is a {@linkcode WorkEnded}.
   */
  readonly signal: AbortSignal;
  /**
   * A number that grows with every attempt of the task. Pass it to your own
   * store and refuse writes with a smaller number: then an effect happens once,
   * whatever fails.
   */
  readonly fence: number;
  /** The number of the task's run, from 0. */
  readonly run: number;
  /** The number of the attempt within the run, from 1. */
  readonly attempt: number;
  /** The worker's secrets, by name; empty unless `withSecrets` is true. */
  readonly secrets: Readonly<Record<string, string>>;
  /**
   * What the dependencies of the task came to, in the task's order; empty for a
   * task without any.
   */
  readonly dependencies: readonly DependencyResult[];
  /**
   * The end of the run's last wait, also in attempts after a failed one;
   * undefined before a wait.
   */
  readonly resumed: Resumption | undefined;
  /** What the last wait of the run has saved; undefined when none has. */
  readonly state: State | undefined;
  /**
   * Reports how far the work is; the task shows it after the next heartbeat.
   */
  progress(value: unknown): void;
  /** Writes lines into the task's history. */
  log(...lines: readonly string[]): void;
}

/**
 * Executes a task. The value that it returns is the task's result; an error
 * that it throws fails the attempt, which is retried as the task says. Throw a
 * {@linkcode TaskFailure} to decide whether and when. Return what `waitFor()`
 * returns to let the task wait for an event or a person.
 */
export type TaskHandler<Data = unknown, Result = unknown, State = unknown> = (
  task: LeasedTask<Data>,
  context: TaskAttemptContext<State>,
) => Result | TaskWait | Promise<Result | TaskWait>;

/** Why the signal of an attempt aborted. */
export class WorkEnded extends Error {
  /** Name of the class. */
  override readonly name = "WorkEnded";
  /**
   * Why the work ended: the task was canceled, the lease was lost, or the
   * worker stops.
   */
  override readonly cause: "canceled" | "lost" | "stopping";

  /** Creates the reason for an aborted signal. */
  constructor(cause: WorkEnded["cause"]) {
    super(
      {
        canceled: "Cannot continue: the task was canceled",
        lost:
          "Cannot continue: the lease has ended, another worker may have the " +
          "task",
        stopping: "Cannot continue: the worker stops",
      }[cause],
    );
    this.cause = cause;
  }
}

/**
 * Fails an attempt with more than a message: a code, details, and whether and
 * when there is another attempt.
 *
 * @example A card that was refused is not charged again
 * ```ts
 * import { TaskFailure } from "@tercet/sdk/tasks";
 *
 * const failure = new TaskFailure("The card was refused", {
 *   code: "card_refused",
 *   isFinal: true,
 * });
 * console.log(failure.code); // card_refused
 * ```
 */
export class TaskFailure extends Error {
  /** Name of the class. */
  override readonly name = "TaskFailure";
  /** An error code for programs, which `retry.on` of a task may name. */
  readonly code: string | undefined;
  /** Details, as JSON. */
  readonly detail: unknown;
  /** Whether there must be no further attempt. */
  readonly isFinal: boolean;
  /** The least milliseconds until the next attempt. */
  readonly retryAfterMs: number | undefined;

  /** Creates a failure. */
  constructor(
    message: string,
    options: ErrorOptions & {
      /** An error code for programs: letters, digits and `_.:-`, at most 64. */
      readonly code?: string | undefined;
      /** Details, as JSON. */
      readonly detail?: unknown;
      /**
       * Whether there must be no further attempt.
       *
       * @default {false}
       */
      readonly isFinal?: boolean | undefined;
      /**
       * The least milliseconds until the next attempt.
       *
       * @default as the task says
       */
      readonly retryAfterMs?: number | undefined;
    } = {},
  ) {
    super(message, options);
    this.code = options.code;
    this.detail = options.detail;
    this.isFinal = options.isFinal ?? false;
    this.retryAfterMs = options.retryAfterMs;
  }
}

const MAX_MESSAGE_CHARS = 8_192;
/** The longest delay of a retry; the service takes up to 100 years. */
const MAX_RETRY_AFTER_MS = 100 * 365 * 86_400_000;
const CODE = /^[A-Za-z0-9][A-Za-z0-9_.:-]{0,63}$/;

/**
 * Returns the report of a failed attempt for the error that its handler threw.
 */
export function toFailure(error: unknown): {
  readonly error: { readonly code?: string; readonly message: string };
  readonly retry?: boolean;
  readonly retry_after?: { readonly milliseconds: number };
} {
  const thrown = error instanceof Error ? error : new Error(toText(error));
  const name = toText(thrown.name);
  const message = toText(thrown.message).slice(0, MAX_MESSAGE_CHARS) || name;
  if (!(thrown instanceof TaskFailure)) {
    const code = CODE.test(name) ? { code: name } : {};
    return { error: { ...code, message } };
  }
  const { code, detail, isFinal, retryAfterMs } = thrown;
  return {
    error: {
      ...(code !== undefined && CODE.test(code) ? { code } : {}),
      message,
      ...(detail === undefined ? {} : { detail }),
    },
    ...(isFinal ? { retry: false } : {}),
    ...(retryAfterMs === undefined || Number.isNaN(retryAfterMs)
      ? {}
      : { retry_after: { milliseconds: clampedMs(retryAfterMs) } }),
  };
}

/**
 * Returns a delay within the bounds of the service, which would otherwise
 * refuse the whole report, so that the failure would not be known.
 */
function clampedMs(retryAfterMs: number): number {
  return Math.min(Math.max(0, retryAfterMs), MAX_RETRY_AFTER_MS);
}

/** Returns what was thrown as text, also when it cannot be made into one. */
function toText(value: unknown): string {
  try {
    return String(value);
  } catch {
    return "no text";
  }
}
