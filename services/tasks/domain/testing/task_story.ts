/**
 * Drives a single task through a sequence of events in tests, with a clock of
 * its own.
 *
 * @module
 */

import {
  BLANK_DEFINITION,
  type RepeatRule,
  type Task,
  type TaskDefinition,
} from "../task.ts";
import { type Actor, SYSTEM_ACTOR } from "../records.ts";
import type { HistoryDraft } from "../history.ts";
import { newTask } from "../new_task.ts";
import { type Calendars, NO_CALENDARS } from "../schedule.ts";
import { resolveRules, RuleCache, type RulingWorker } from "../rules.ts";
import type {
  LeaseProof,
  TaskEvent,
  TaskRules,
  Transition,
} from "../task_event.ts";
import { transition } from "../transition.ts";

/** The time at which stories begin: a Thursday, at noon. */
export const NOON_MS: number = Date.UTC(2026, 0, 1, 12);

/** The user who creates the tasks of stories. */
export const OWNER: Actor = { type: "user", id: "usr_1" };

/** The id of tasks in stories. */
export const TASK_ID = "tsk_0123456789abcdefghjkmnpqrs";

/** A worker that retries twice, after ten seconds. */
export const WORKER = {
  timeoutMs: 60_000,
  maxLost: 3,
  retry: { limit: 2, interval: "PT10S" },
};

/** The event by which a worker leases the task for half a minute. */
export const START = {
  kind: "start",
  tokenHash: "hash",
  leaseMs: 30_000,
  instance: "host-1",
} as const;

/** Returns a definition of a task that runs once. */
export function definitionWith(
  fields: Partial<TaskDefinition> = {},
): TaskDefinition {
  return { ...BLANK_DEFINITION, workerId: "wrk_1", ...fields };
}

/** Returns a rule by which a task runs each hour. */
export function repeatWith(fields: Partial<RepeatRule> = {}): RepeatRule {
  return {
    ...(fields.cron === undefined ? { interval: "PT1H" } : {}),
    catchUp: "one",
    catchUpWindowMs: 86_400_000,
    jitterMs: 0,
    mode: "same",
    onFailure: fields.cron === undefined ? "stop" : "continue",
    ...fields,
  };
}

/** Options of {@linkcode TaskStory}. */
export interface TaskStoryOptions {
  /**
   * How the definition differs from that of a task that runs once.
   *
   * @default {nothing}
   */
  readonly definition?: Partial<TaskDefinition> | undefined;
  /**
   * How the creation differs from that of a task created at
   * {@linkcode NOON_MS}.
   *
   * @default {nothing}
   */
  readonly made?: Partial<Parameters<typeof newTask>[1]> | undefined;
  /**
   * How long tasks are kept after their end, in milliseconds.
   *
   * @default {forever}
   */
  readonly retentionMs?: number | undefined;
  /**
   * The calendars that the task may name.
   *
   * @default {none}
   */
  readonly calendars?: Calendars | undefined;
  /**
   * Returns a random number from 0 to before 1.
   *
   * @default {always 0}
   */
  readonly random?: (() => number) | undefined;
}

/** The outcome of an event that changes the task. */
export type Changed = Extract<Transition, { readonly kind: "changed" }>;

/** A task to which a test applies one event after the other. */
export class TaskStory {
  /** The clock of the story, in milliseconds since the epoch. */
  nowMs: number;
  /** The task as it is now. */
  task: Task;
  /** All history records of the task so far. */
  readonly history: HistoryDraft[] = [];
  /** The slots for which the schedule created tasks of their own. */
  readonly spawnedMs: number[] = [];
  /** The worker whose rules apply. */
  worker: RulingWorker = WORKER;
  /** The calendars that the task may name. */
  calendars: Calendars;
  readonly #cache = new RuleCache(100);
  readonly #options: TaskStoryOptions;

  /** The story of a new task. */
  constructor(options: TaskStoryOptions = {}) {
    const { made, random } = options;
    this.#options = options;
    this.nowMs = made?.nowMs ?? NOON_MS;
    this.calendars = options.calendars ?? NO_CALENDARS;
    const definition = definitionWith(options.definition);
    const { task, history } = newTask(definition, {
      tenantId: "tnt_1",
      id: TASK_ID,
      nowMs: this.nowMs,
      createdBy: OWNER,
      isBlocked: false,
      rules: this.rules(definition),
      random,
      ...made,
    });
    this.task = freeze(task);
    this.history.push(...history);
  }

  /** The rules of a definition. */
  rules(definition: TaskDefinition): TaskRules {
    const { retentionMs } = this.#options;
    return resolveRules(definition, this.worker, {
      cache: this.#cache,
      calendars: this.calendars,
      retentionMs,
    });
  }

  /** The proof of the lease of the running attempt. */
  get lease(): LeaseProof {
    return { id: this.task.attempt?.id ?? "lse_none", tokenHash: "hash" };
  }

  /** Returns the outcome that an event would have, without applying it. */
  outcome(event: TaskEvent, actor: Actor = SYSTEM_ACTOR): Transition {
    return transition(this.task, event, {
      nowMs: this.nowMs,
      actor,
      rules: this.rules(
        event.kind === "update" || event.kind === "run_after"
          ? event.definition
          : this.task,
      ),
      random: this.#options.random ?? (() => 0),
    });
  }

  /**
   * Applies an event that has to change the task; returns its history records.
   */
  happens(event: TaskEvent): readonly HistoryDraft[] {
    const outcome = this.outcome(event);
    if (outcome.kind !== "changed") {
      throw new Error(`Cannot go on: ${JSON.stringify({ event, outcome })}`);
    }
    this.take(outcome);
    return outcome.history;
  }

  /** Replaces the task by the outcome of an event. */
  take({ next, history, spawnSlotsMs }: Changed): void {
    this.task = freeze(next);
    this.history.push(...history);
    this.spawnedMs.push(...spawnSlotsMs);
  }

  /** Like {@linkcode happens}, but returns the types of the history records. */
  types(event: TaskEvent): readonly string[] {
    return this.happens(event).map(({ type }) => type);
  }

  /** Moves the clock to the task's date and leases the task. */
  starts(): void {
    this.nowMs = Math.max(this.nowMs, this.task.dateMs);
    if (!this.task.isDue) this.happens({ kind: "wake" });
    this.happens(START);
  }

  /** Leases the task at its date and completes it. */
  succeeds(tookMs = 1_000): void {
    this.starts();
    this.nowMs += tookMs;
    this.happens({ kind: "complete", lease: this.lease });
  }

  /** Leases the task at its date and fails it. */
  fails(code = "broken"): void {
    this.starts();
    this.nowMs += 1_000;
    const failure = { code };
    this.happens({ kind: "fail", lease: this.lease, failure, message: code });
  }
}

/** Freezes a task, so that a handler that modifies it in place throws. */
function freeze(task: Task): Task {
  for (const value of Object.values(task)) Object.freeze(value);
  return Object.freeze(task);
}
