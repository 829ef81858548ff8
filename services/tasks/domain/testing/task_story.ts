/**
 * A task to which one thing happens after another, with a clock of its own.
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
import { RuleCache, rulesOf, type RulingWorker } from "../rules.ts";
import type {
  LeaseProof,
  TaskEvent,
  TaskRules,
  Transition,
} from "../task_event.ts";
import { transition } from "../transition.ts";

/** The time at which stories begin: a Thursday, at noon. */
export const NOON_MS: number = Date.UTC(2026, 0, 1, 12);

/** Who makes tasks in stories. */
export const OWNER: Actor = { type: "user", id: "usr_1" };

/** The id of tasks in stories. */
export const TASK_ID = "tsk_0123456789abcdefghjkmnpqrs";

/** A worker that retries twice, after ten seconds. */
export const WORKER = {
  timeoutMs: 60_000,
  maxLost: 3,
  retry: { limit: 2, interval: "PT10S" },
};

/** The event of a worker that takes the task for half a minute. */
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
   * What differs from a task that runs once.
   *
   * @default {nothing}
   */
  readonly definition?: Partial<TaskDefinition> | undefined;
  /**
   * What differs from a task that is made at {@linkcode NOON_MS}.
   *
   * @default {nothing}
   */
  readonly made?: Partial<Parameters<typeof newTask>[1]> | undefined;
  /**
   * How long tasks are kept after their end.
   *
   * @default {for ever}
   */
  readonly retentionMs?: number | undefined;
  /**
   * Gives a number from 0 to before 1.
   *
   * @default {always 0}
   */
  readonly random?: (() => number) | undefined;
}

/** The outcome of an event that changes the task. */
export type Changed = Extract<Transition, { readonly kind: "changed" }>;

/** A task to which one thing happens after another. */
export class TaskStory {
  /** The clock. */
  nowMs: number;
  /** The task as it is now. */
  task: Task;
  /** All that was told of it, from the beginning. */
  readonly history: HistoryDraft[] = [];
  /** The slots that made tasks of their own. */
  readonly spawnedMs: number[] = [];
  /** The worker whose rules are in force. */
  worker: RulingWorker = WORKER;
  readonly #cache = new RuleCache(100);
  readonly #options: TaskStoryOptions;

  /** The story of a new task. */
  constructor(options: TaskStoryOptions = {}) {
    const { made, random } = options;
    this.#options = options;
    this.nowMs = made?.nowMs ?? NOON_MS;
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
    return rulesOf(definition, this.worker, {
      cache: this.#cache,
      retentionMs,
    });
  }

  /** The proof of the lease under way. */
  get lease(): LeaseProof {
    return { id: this.task.attempt?.id ?? "lse_none", tokenHash: "hash" };
  }

  /** The outcome that the event would have. */
  outcome(event: TaskEvent, actor: Actor = SYSTEM_ACTOR): Transition {
    return transition(this.task, event, {
      nowMs: this.nowMs,
      actor,
      rules: this.rules(
        event.kind === "update" ? event.definition : this.task,
      ),
      random: this.#options.random ?? (() => 0),
    });
  }

  /** Lets an event happen that changes the task; returns what is told of it. */
  happens(event: TaskEvent): readonly HistoryDraft[] {
    const outcome = this.outcome(event);
    if (outcome.kind !== "changed") {
      throw new Error(`Cannot go on: ${JSON.stringify({ event, outcome })}`);
    }
    this.take(outcome);
    return outcome.history;
  }

  /** Goes on with an outcome. */
  take({ next, history, spawnSlotsMs }: Changed): void {
    this.task = freeze(next);
    this.history.push(...history);
    this.spawnedMs.push(...spawnSlotsMs);
  }

  /** Like {@linkcode happens}, with the types of what is told. */
  types(event: TaskEvent): readonly string[] {
    return this.happens(event).map(({ type }) => type);
  }

  /** Moves the clock to the task's date and takes the task. */
  starts(): void {
    this.nowMs = Math.max(this.nowMs, this.task.dateMs);
    if (!this.task.isDue) this.happens({ kind: "wake" });
    this.happens(START);
  }

  /** Takes the task at its date and does it. */
  succeeds(tookMs = 1_000): void {
    this.starts();
    this.nowMs += tookMs;
    this.happens({ kind: "complete", lease: this.lease });
  }

  /** Takes the task at its date and fails. */
  fails(code = "broken"): void {
    this.starts();
    this.nowMs += 1_000;
    const failure = { code };
    this.happens({ kind: "fail", lease: this.lease, failure, message: code });
  }
}

/** No event may write to the task that it changes. */
function freeze(task: Task): Task {
  for (const value of Object.values(task)) Object.freeze(value);
  return Object.freeze(task);
}
