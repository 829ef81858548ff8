/**
 * What can happen to a task, and what comes of it: handlers of events give a task
 * with some fields set, and notes that become records of its history.
 *
 * @module
 */

import type { Actor } from "./records.ts";
import type { ClockStep } from "./clock_step.ts";
import type { FieldChange, HistoryDraft } from "./history.ts";
import type { Failure, RetryPolicy } from "./retry_policy.ts";
import type { Schedule } from "./schedule.ts";
import type { Task, TaskDefinition } from "./task.ts";

/** Something that happens to a task. */
export type TaskEvent =
  /**
   * The clock looks at it: its date, its expiry, its lease or its end in store
   * may have come.
   */
  | { readonly kind: "wake" }
  /** A worker takes it, or the service begins a push call. */
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
  /** The worker is alive; the lease goes on. */
  | {
    readonly kind: "heartbeat";
    readonly lease: LeaseProof;
    readonly extendMs?: number | undefined;
    readonly progressJson?: string | undefined;
  }
  /** The worker has something to say. */
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
  /** The worker gives it back untouched; no retry is spent. */
  | {
    readonly kind: "release";
    readonly lease: LeaseProof;
    readonly delayMs?: number | undefined;
    readonly reason?: string | undefined;
  }
  /**
   * The server that made the push call is gone, or the attempt is found without
   * a lease.
   */
  | {
    readonly kind: "lose";
    readonly lease: LeaseProof;
    readonly reason: string;
  }
  /** The time of day was set: the times of the attempt under way are set with it. */
  | { readonly kind: "follow_clock"; readonly steps: readonly ClockStep[] }
  /** All dependencies are settled well enough. */
  | { readonly kind: "unblock" }
  /** A dependency ended badly. */
  | { readonly kind: "dependency_failed"; readonly dependency: string }
  /** A caller cancels it. */
  | { readonly kind: "cancel"; readonly reason?: string | undefined }
  /** A caller pauses it. */
  | { readonly kind: "pause" }
  /** A caller resumes it. */
  | { readonly kind: "resume" }
  /** A caller retries it: a final task as a new run, one in `retry` at once. */
  | { readonly kind: "retry" }
  /** A caller runs it now, whatever its date. */
  | { readonly kind: "run" }
  /** A caller changes its definition; `dateMs` moves it. */
  | {
    readonly kind: "update";
    readonly definition: TaskDefinition;
    readonly dateMs?: number | undefined;
    readonly changes: readonly FieldChange[];
  }
  /** A call at its end was made or given up. */
  | {
    readonly kind: "callback";
    readonly isSent: boolean;
    readonly message: string;
    readonly http?: HttpFact | undefined;
  }
  /** The reconciler found it running without a lease: it goes back to waiting. */
  | { readonly kind: "repair"; readonly reason: string };

/** The kinds of events. */
export type TaskEventKind = TaskEvent["kind"];

/** What proves that one holds the lease. */
export interface LeaseProof {
  /** The lease's id. */
  readonly id: string;
  /** The hash of its token; absent for the service itself. */
  readonly tokenHash?: string | undefined;
}

/** The answer to a push call. */
export interface HttpFact {
  /** Its status. */
  readonly status: number;
  /** How long it took. */
  readonly durationMs: number;
}

/** What decides beside the task: the rules of its worker and its plan. */
export interface TaskRules {
  /** The retry policy in force. */
  readonly retry: RetryPolicy;
  /** The schedule in force, if the task repeats. */
  readonly schedule?: Schedule | undefined;
  /** How long an attempt may take. */
  readonly timeoutMs: number;
  /** Lost attempts in a row after which one counts as a failure. */
  readonly maxLost: number;
  /** How long a task is kept after its end; for ever when absent. */
  readonly retentionMs?: number | undefined;
}

/** The circumstances of an event. */
export interface EventContext {
  /** The present, in milliseconds since the epoch. */
  readonly nowMs: number;
  /** Who causes it. */
  readonly actor: Actor;
  /** The rules in force. */
  readonly rules: TaskRules;
  /** Gives a number from 0 to before 1. */
  readonly random: () => number;
  /**
   * How many tasks a schedule may make now; the slots of others are missed.
   *
   * @default {no bound}
   */
  readonly spawnRoom?: number | undefined;
}

/** What comes of an event. */
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
     * Slots for which a task of its own is to be made (mode "spawn"), with
     * their dates.
     */
    readonly spawnSlotsMs: readonly number[];
  }
  /** Nothing happens, and that is right: it was so already, or it is too early. */
  | { readonly kind: "unchanged" }
  /** It is kept long enough after its end: the store may forget it. */
  | { readonly kind: "purge" }
  /** It may not happen. */
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

/** Decides what the events of a kind do to a task. */
export type Handler<Kind extends TaskEventKind> = (
  task: Task,
  event: EventOf<Kind>,
  context: EventContext,
) => Outcome;

/** The handlers of some kinds of events, by kind. */
export type Handlers<Kind extends TaskEventKind = TaskEventKind> = {
  readonly [Each in Kind]: Handler<Each>;
};

/** What an event does; undefined when that is nothing, and right so. */
export type Outcome =
  | Step
  | Extract<Transition, { readonly kind: "refused" | "purge" }>
  | undefined;

/** A record of the history without what all records of a transition share. */
export type Note = Omit<HistoryDraft, "atMs" | "status" | "run" | "actor">;

/** Fields to set in a task; the value undefined unsets those that may lack. */
export type Patch = Partial<Task>;

/** A task on its way to what it will be after an event. */
export interface Step {
  /** The task so far; its version is the old one. */
  readonly task: Task;
  /** What there is to tell, in its order. */
  readonly notes: readonly Note[];
  /**
   * The run that the notes belong to.
   *
   * @default {the run before the event}
   */
  readonly run?: number | undefined;
  /**
   * Slots for which a task of its own is to be made.
   *
   * @default {[]}
   */
  readonly spawnSlotsMs?: readonly number[] | undefined;
}

/** Returns a task with fields set. */
export function patched(task: Task, patch: Patch): Task {
  return { ...task, ...patch };
}

/** A step with notes before its own. */
export function preceded(notes: readonly Note[], step: Step): Step {
  return notes.length === 0
    ? step
    : { ...step, notes: [...notes, ...step.notes] };
}

/** The outcome of an event that does not fit the task's status. */
export function wrongState(reason: string): Outcome {
  return { kind: "refused", code: "wrong_state", reason };
}
