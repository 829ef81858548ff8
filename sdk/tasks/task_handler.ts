/**
 * What the handler of a task gets, and what it throws.
 *
 * @module
 */

/** A task as its handler gets it. */
export interface LeasedTask {
  /** Its id. */
  readonly id: string;
  /** The handler within the worker; `default` unless the task names one. */
  readonly job: string;
  /** What the job is given. */
  readonly data: unknown;
  /** Named labels. */
  readonly metadata: Readonly<Record<string, string>>;
}

/** What a handler knows of its attempt, and what it can say meanwhile. */
export interface TaskAttemptContext {
  /**
   * Aborts when the work is of no use any longer: the task was canceled, the lease was
   * lost, or the worker stops. Its reason is a {@linkcode WorkEnded}.
   */
  readonly signal: AbortSignal;
  /**
   * Grows with every attempt of the task. Give it to your own store and refuse what
   * comes with a smaller one: then an effect happens once, whatever fails.
   */
  readonly fence: number;
  /** Which run of the task it is, from 0. */
  readonly run: number;
  /** Which try of the run it is, from 1. */
  readonly attempt: number;
  /** The worker's secrets, by name; empty unless the worker asks for them. */
  readonly secrets: Readonly<Record<string, string>>;
  /** Tells how far the work is; shown with the task from the next sign of life on. */
  progress(value: unknown): void;
  /** Writes lines into the task's history. */
  log(...lines: readonly string[]): void;
}

/**
 * Does a task. What it gives is the task's result; what it throws fails the attempt,
 * which is tried again as the task says: throw a {@linkcode TaskFailure} to decide more.
 */
export type TaskHandler = (
  task: LeasedTask,
  context: TaskAttemptContext,
) => unknown;

/** Why the signal of an attempt aborted. */
export class WorkEnded extends Error {
  /** Name of the class. */
  override readonly name = "WorkEnded";
  /** What ended it: the task was canceled, the lease is lost, or the worker stops. */
  override readonly cause: "canceled" | "lost" | "stopping";

  /** A reason. */
  constructor(cause: WorkEnded["cause"]) {
    super(
      {
        canceled: "Cannot go on: the task was canceled",
        lost:
          "Cannot go on: the lease has ended, another worker may have the task",
        stopping: "Cannot go on: the worker stops",
      }[cause],
    );
    this.cause = cause;
  }
}

/**
 * Fails an attempt with more than a message.
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
  /** For programs; `retry.on` of a task may name it. */
  readonly code: string | undefined;
  /** Details, as JSON. */
  readonly detail: unknown;
  /** Whether another try is useless. */
  readonly isFinal: boolean;
  /** Milliseconds before which there is no other try. */
  readonly retryAfterMs: number | undefined;

  /** A failure. */
  constructor(
    message: string,
    options: ErrorOptions & {
      /** For programs: letters, digits and `_.:-`, at most 64. */
      readonly code?: string | undefined;
      /** Details, as JSON. */
      readonly detail?: unknown;
      /**
       * Whether another try is useless.
       *
       * @default {false}
       */
      readonly isFinal?: boolean | undefined;
      /**
       * Milliseconds before which there is no other try.
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
const CODE = /^[A-Za-z0-9][A-Za-z0-9_.:-]{0,63}$/;

/** The report of a failed attempt, from the error that its handler threw. */
export function failureOf(error: unknown): {
  readonly error: { readonly code?: string; readonly message: string };
  readonly retry?: boolean;
  readonly retry_after?: number;
} {
  const thrown = error instanceof Error ? error : new Error(String(error));
  const message = thrown.message.slice(0, MAX_MESSAGE_CHARS) || thrown.name;
  if (!(thrown instanceof TaskFailure)) {
    const code = CODE.test(thrown.name) ? { code: thrown.name } : {};
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
    ...(retryAfterMs === undefined
      ? {}
      : { retry_after: retryAfterMs / 1_000 }),
  };
}
