/**
 * The events that can happen to a task and their outcomes. An event's handler
 * returns the task with some fields changed, and notes that become records of
 * its history.
 *
 * @module
 */

import type { Actor, Retain } from "./records.ts";
import type { ClockStep } from "./clock_step.ts";
import type { FieldChange, HistoryDraft } from "./history.ts";
import type { Failure, RetryPolicy } from "./retry_policy.ts";
import type { Schedule } from "./schedule.ts";
import type { CallWindow, NextRun, Task, TaskDefinition } from "./task.ts";
import type { AskedThing, TimeoutRule } from "./wait.ts";

/** Something that happens to a task. */
export type TaskEvent =
  /**
   * The clock looks at the task: its date, its expiry, the end of its lease, or
   * the time to delete it may have been reached.
   */
  | { readonly kind: "wake" }
  /** A worker leases the task, or the service begins a push call. */
  | {
    readonly kind: "start";
    readonly tokenHash: string;
    readonly bootId?: string | undefined;
    readonly leaseMs: number;
    readonly instance?: string | undefined;
  }
  /** The receiver of a push call answered that it will finish later. */
  | {
    readonly kind: "accept";
    readonly lease: LeaseProof;
    readonly leaseMs: number;
    readonly http?: HttpFact | undefined;
  }
  /** The worker sends a heartbeat, which extends the lease. */
  | {
    readonly kind: "heartbeat";
    readonly lease: LeaseProof;
    readonly extendMs?: number | undefined;
    readonly progressJson?: string | undefined;
  }
  /** The worker writes log lines. */
  | {
    readonly kind: "log";
    readonly lease: LeaseProof;
    readonly lines: readonly string[];
  }
  /** The attempt succeeded. */
  | {
    readonly kind: "complete";
    readonly lease: LeaseProof;
    readonly resultJson?: string | undefined;
    readonly isResultTruncated?: boolean | undefined;
    /** Why there is no result, if that has a reason. */
    readonly message?: string | undefined;
    readonly http?: HttpFact | undefined;
  }
  /** The attempt failed. */
  | {
    readonly kind: "fail";
    readonly lease: LeaseProof;
    readonly failure: Failure;
    readonly message: string;
    readonly detailJson?: string | undefined;
    readonly retryAfterMs?: number | undefined;
    readonly http?: HttpFact | undefined;
  }
  /** The worker gives the task back unprocessed; this uses up no retry. */
  | {
    readonly kind: "release";
    readonly lease: LeaseProof;
    readonly delayMs?: number | undefined;
    readonly reason?: string | undefined;
  }
  /** The attempt ends, and the task waits for an event or an approval. */
  | {
    readonly kind: "wait";
    readonly lease: LeaseProof;
    /** What it waits for. */
    readonly asked: AskedThing;
    /** How long it waits, in milliseconds. */
    readonly timeoutMs: number;
    /** What the end of that time does. */
    readonly onTimeout: TimeoutRule;
    /** What people are asked or told. */
    readonly message?: string | undefined;
    /** What the next attempts get; what was saved before stays if absent. */
    readonly stateJson?: string | undefined;
    readonly http?: HttpFact | undefined;
  }
  /** A caller sends an event to the task. */
  | {
    readonly kind: "send_event";
    readonly name: string;
    readonly dataJson: string;
  }
  /** A person approves what the task waits for, or rejects it. */
  | {
    readonly kind: "decide";
    readonly isApproved: boolean;
    readonly comment?: string | undefined;
  }
  /**
   * The server process that made the push call is gone, or the task is found
   * running without a lease.
   */
  | {
    readonly kind: "lose";
    readonly lease: LeaseProof;
    readonly reason: string;
  }
  /**
   * The machine's clock was set: the times of the running attempt move with it.
   */
  | { readonly kind: "follow_clock"; readonly steps: readonly ClockStep[] }
  /** A calendar that the task names was changed or removed. */
  | { readonly kind: "calendar_changed" }
  /** All dependencies are settled so that the task may run. */
  | { readonly kind: "unblock" }
  /** A dependency failed, was canceled, expired or was removed. */
  | {
    readonly kind: "dependency_failed";
    readonly dependency: string;
    /** Whether the dependency is gone for good. */
    readonly isRemoved: boolean;
  }
  /** The dependency by which the task has failed is tried again. */
  | { readonly kind: "revive"; readonly dependency: string }
  /** Other tasks may still ask for the result of the task, which has ended. */
  | { readonly kind: "keep"; readonly untilMs: number }
  /** A caller cancels it. */
  | { readonly kind: "cancel"; readonly reason?: string | undefined }
  /** A caller pauses it. */
  | { readonly kind: "pause" }
  /** A caller resumes it. */
  | { readonly kind: "resume" }
  /**
   * A caller retries the task: a final task as a new run, a task in `retry` at
   * once.
   */
  | { readonly kind: "retry" }
  /** A caller runs the task now, whatever its date. */
  | { readonly kind: "run" }
  /** A caller changes the task's definition; `dateMs` also moves its date. */
  | {
    readonly kind: "update";
    readonly definition: TaskDefinition;
    readonly dateMs?: number | undefined;
    readonly changes: readonly FieldChange[];
    /** The window of requests that the coming run is for; it stays if absent. */
    readonly calls?: CallWindow | undefined;
  }
  /**
   * A caller changes the definition of a task whose run has begun, and wants
   * one more run with it.
   */
  | {
    readonly kind: "run_after";
    readonly definition: TaskDefinition;
    readonly changes: readonly FieldChange[];
    readonly next: NextRun;
  }
  /** The callback at the task's end was made or given up. */
  | {
    readonly kind: "callback";
    readonly isSent: boolean;
    readonly message: string;
    readonly http?: HttpFact | undefined;
  }
  /** The reconciler found the task running without a lease: it waits again. */
  | { readonly kind: "repair"; readonly reason: string };

/** The kinds of events. */
export type TaskEventKind = TaskEvent["kind"];

/** What proves that a caller holds the lease. */
export interface LeaseProof {
  /** The hash of the lease's token; absent when the service itself acts. */
  readonly id: string;
  /** The hash of its token; absent for the service itself. */
  readonly tokenHash?: string | undefined;
}

/** The answer to a push call. */
export interface HttpFact {
  /** The HTTP status of the answer. */
  readonly status: number;
  /** How long the call took, in milliseconds. */
  readonly durationMs: number;
}

/**
 * What decides about a task besides its state: the rules of its worker and its
 * plan.
 */
export interface TaskRules {
  /** The retry policy that applies. */
  readonly retry: RetryPolicy;
  /** The schedule, if the task repeats. */
  readonly schedule?: Schedule | undefined;
  /** How long an attempt may take, in milliseconds. */
  readonly timeoutMs: number;
  /**
   * How many attempts may be lost in a row; the next lost one counts as a
   * failure.
   */
  readonly maxLost: number;
  /** When the task's worker was last resumed; absent when it never was. */
  readonly resumedAtMs?: number | undefined;
  /** How long the task is kept after its end, if the plan keeps it as long. */
  readonly retain?: Retain | undefined;
  /**
   * How long the plan keeps a task after its end, in milliseconds; forever when
   * absent.
   */
  readonly retentionMs?: number | undefined;
}

/** What a handler needs to know besides the task and the event. */
export interface EventContext {
  /** The present, in milliseconds since the epoch. */
  readonly nowMs: number;
  /** Who causes the event. */
  readonly actor: Actor;
  /** The rules that apply to the task. */
  readonly rules: TaskRules;
  /** Returns a random number from 0 to before 1. */
  readonly random: () => number;
  /**
   * How many tasks a schedule may create now, by the tenant's quota. Slots
   * beyond that are missed.
   *
   * @default {no limit}
   */
  readonly spawnRoom?: number | undefined;
}

/** The outcome of an event. */
export type Transition =
  /**
   * The task changes; its version is one more. `history` may be empty only when
   * nothing but the lease and its progress moved.
   */
  | {
    readonly kind: "changed";
    readonly next: Task;
    readonly history: readonly HistoryDraft[];
    /**
     * The slots for which the schedule creates a task of their own (mode
     * "spawn"), with their dates.
     */
    readonly spawnSlotsMs: readonly number[];
    /**
     * How many milliseconds after its slot each of these tasks may still start;
     * absent means at any time.
     */
    readonly startWithinMs?: number | undefined;
  }
  /**
   * The event changes nothing, and that is right: the state is already as
   * asked, or it is too early.
   */
  | { readonly kind: "unchanged" }
  /** The task was kept long enough after its end: the store may delete it. */
  | { readonly kind: "purge" }
  /** The event is not allowed in this state of the task. */
  | {
    readonly kind: "refused";
    readonly code: "wrong_state" | "lease_gone";
    readonly reason: string;
  };

type Events = {
  readonly [Kind in TaskEventKind]: Extract<
    TaskEvent,
    { readonly kind: Kind }
  >;
};

/** The event of a kind. */
export type EventOf<Kind extends TaskEventKind> = Events[Kind];

/** The function that handles events of a kind. */
export type Handler<Kind extends TaskEventKind> = (
  task: Task,
  event: EventOf<Kind>,
  context: EventContext,
) => Outcome;

/** The handlers of some kinds of events, by kind. */
export type Handlers<Kind extends TaskEventKind = TaskEventKind> = {
  readonly [Each in Kind]: Handler<Each>;
};

/** What a handler returns; undefined when the event rightly changes nothing. */
export type Outcome =
  | Step
  | Extract<Transition, { readonly kind: "refused" | "purge" }>
  | undefined;

/**
 * The content of a history record without the fields that all records of one
 * event share.
 */
export type Note = Omit<HistoryDraft, "atMs" | "status" | "run" | "actor">;

/**
 * The fields to set in a task; the value undefined clears an optional field.
 */
export type Patch = Partial<Task>;

/**
 * An intermediate result of handling an event: the task so far, and what its
 * history will say.
 */
export interface Step {
  /** The task so far; its version is the old one. */
  readonly task: Task;
  /** The history notes of the event, in order. */
  readonly notes: readonly Note[];
  /**
   * The run that the notes belong to.
   *
   * @default {the run before the event}
   */
  readonly run?: number | undefined;
  /**
   * The slots for which the schedule creates a task of their own.
   *
   * @default {[]}
   */
  readonly spawnSlotsMs?: readonly number[] | undefined;
  /**
   * How many milliseconds after its slot each of these tasks may still start.
   *
   * @default {at any time}
   */
  readonly startWithinMs?: number | undefined;
}

/** Returns a task with fields set. */
export function patched(task: Task, patch: Patch): Task {
  return { ...task, ...patch };
}

/** Returns a step with other notes before its own. */
export function preceded(notes: readonly Note[], step: Step): Step {
  return notes.length === 0
    ? step
    : { ...step, notes: [...notes, ...step.notes] };
}

/** The outcome of an event that does not fit the task's status. */
export function wrongState(reason: string): Outcome {
  return { kind: "refused", code: "wrong_state", reason };
}
