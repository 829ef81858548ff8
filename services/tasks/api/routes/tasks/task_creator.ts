/**
 * Makes tasks as clients ask for them, one or many, in one commit.
 *
 * @module
 */

import type { Actor } from "../../../domain/actor.ts";
import type { Task } from "../../../domain/task.ts";
import type { Engine } from "../../../engine/engine.ts";
import type { Soon } from "../../../../shared/soon.ts";
import type { CallContext } from "../../http/call.ts";
import type { Write } from "../../../store/store.ts";
import { problem, type ProblemAnswer } from "../../http/problem_answer.ts";
import type { KeyTurns } from "./key_turns.ts";
import type { JudgedTask } from "./judge_new_task.ts";
import type { Surroundings } from "./task_surroundings.ts";
import { TaskQuota } from "./task_quota.ts";
import { type Placed, type TaskSlot, TaskSlots } from "./task_slots.ts";

/** How often it is begun anew when somebody else was faster. */
const MAX_TRIES = 20;

/** What one request comes to. */
export type Made =
  | {
    readonly kind: "made";
    /** Whether it is a new task. */
    readonly isNew: boolean;
    /** The task. */
    readonly task: Task;
    /** What was asked for; its data is the task's when `isNew`. */
    readonly judged: JudgedTask;
  }
  | ProblemAnswer;

/** What tasks are made in. */
export interface CreateOptions {
  /** The tenant. */
  readonly tenantId: string;
  /** The id of its plan. */
  readonly plan: string;
  /** Who asks. */
  readonly actor: Actor;
  /** What the tasks refer to. */
  readonly surroundings: Surroundings;
  /** Whether one problem keeps all from being made. */
  readonly isAtomic: boolean;
  /** What is written along, from what all requests come to. */
  readonly along: (made: readonly Made[]) => Soon<readonly Write[]>;
  /** Who asks: gives way while there is much to do, and may go away. */
  readonly call: Pick<CallContext, "pausing" | "onGone">;
}

/** What asking comes to. */
export type CreateOutcome =
  | { readonly kind: "ok"; readonly made: readonly Made[] }
  /** It was atomic, and nothing was made; each request's result is told. */
  | { readonly kind: "refused"; readonly made: readonly Made[] }
  /** Nothing was made, for a reason that is no request's own. */
  | ProblemAnswer;

/** Makes tasks. */
export class TaskCreator {
  readonly #engine: Engine;
  readonly #quota: TaskQuota;
  /** New values for a task that has the key are written one after the other. */
  readonly #turns: KeyTurns;

  /** A creator over an engine. */
  constructor(engine: Engine, turns: KeyTurns) {
    this.#engine = engine;
    this.#quota = new TaskQuota(engine);
    this.#turns = turns;
  }

  /**
   * Makes what can be made of the requests, which are judged or problems
   * already, in one commit.
   *
   * @throws {Error} when the store fails
   */
  async create(
    requests: readonly (JudgedTask | ProblemAnswer)[],
    options: CreateOptions,
  ): Promise<CreateOutcome> {
    const names = replacedKeys(requests, options.tenantId);
    if (names.length === 0) return await this.#tryAgain(requests, options);
    const turn = await this.#turns.take(names, options.call);
    // Whom this is for has gone where the turn is not busy.
    if (turn.kind !== "ok") return tooFast();
    try {
      return await this.#tryAgain(requests, options);
    } finally {
      turn.release();
    }
  }

  async #tryAgain(
    requests: readonly (JudgedTask | ProblemAnswer)[],
    options: CreateOptions,
  ): Promise<CreateOutcome> {
    const gone = new Set<string>();
    for (let tries = 0; tries < MAX_TRIES; tries++) {
      const outcome = await this.#try(requests, { ...options, gone });
      if (outcome.kind !== "again") return outcome;
    }
    return tooFast();
  }

  async #try(
    requests: readonly (JudgedTask | ProblemAnswer)[],
    options: CreateOptions & { readonly gone: Set<string> },
  ): Promise<CreateOutcome | { readonly kind: "again" }> {
    const { tenantId, actor, surroundings, gone } = options;
    const slots = new TaskSlots({
      tenantId,
      actor,
      retentionMs: surroundings.limits.retentionMs,
      parts: this.#engine.parts,
      creation: this.#engine.creation,
    });
    const present = requests.map((request) =>
      isJudged(request) && gone.has(request.worker.id)
        ? workerGone(request)
        : request
    );
    await slots.lookUp(present.filter(isJudged));
    const placed: Placed[] = [];
    for (const request of present) {
      placed.push(isJudged(request) ? slots.place(request) : request);
      const pause = options.call.pausing.pause();
      if (pause !== undefined) await pause;
    }
    const quota = await this.#quota.take(placed, {
      tenantId,
      plan: options.plan,
      limits: surroundings.limits,
    });
    try {
      const made = quota.placed.map((one): Made => madeOf(one, slots.slots));
      if (options.isAtomic && made.some(isProblem)) {
        return { kind: "refused", made };
      }
      return await this.#write(made, {
        ...options,
        slots: usedSlots(quota.placed, slots.slots),
      });
    } finally {
      quota.release();
    }
  }

  async #write(
    made: readonly Made[],
    options: CreateOptions & {
      readonly slots: readonly TaskSlot[];
      readonly gone: Set<string>;
    },
  ): Promise<CreateOutcome | { readonly kind: "again" }> {
    const { slots, along, gone, tenantId } = options;
    const { store, books } = this.#engine.parts;
    const writes: Write[] = [];
    const workers = new Set<string>();
    for (const slot of slots) {
      if (slot.previous === undefined) {
        const [write] = slot.writes;
        if (write !== undefined) writes.push(write);
        workers.add(slot.task.workerId);
      } else writes.push(...slot.writes);
    }
    for (const id of workers) {
      writes.push(books.workers.requiring(tenantId, id));
    }
    // What changes nothing needs no commit; its answer is kept by others.
    if (writes.length === 0) return { kind: "ok", made };
    for (const write of await along(made)) writes.push(write);
    const [result] = await store.commit([{ writes }]);
    if (result?.kind === "ok") {
      this.#announce(slots);
      return { kind: "ok", made };
    }
    const write = result === undefined ? undefined : writes[result.write];
    if (result?.reason === "idempotency") {
      return problem("idempotency_in_progress", {
        detail: "Cannot answer yet: the first request with this " +
          "Idempotency-Key is still under way",
        retryAfterMs: 1_000,
      });
    }
    if (write?.kind === "require") gone.add(write.id);
    return { kind: "again" };
  }

  #announce(slots: readonly TaskSlot[]): void {
    const { changes } = this.#engine;
    for (const { previous, task, made } of slots) {
      if (previous !== task) changes.announce(previous, task);
      for (const one of made) changes.announce(undefined, one);
    }
  }
}

/** The names of the keys whose tasks may get new values. */
function replacedKeys(
  requests: readonly (JudgedTask | ProblemAnswer)[],
  tenantId: string,
): readonly string[] {
  return requests.flatMap((request) => {
    if (!isJudged(request)) return [];
    const { onConflict, definition: { workerId, key } } = request;
    const mayReplace = onConflict === "replace" || onConflict === "keep_date";
    return key === undefined || !mayReplace
      ? []
      : [`${tenantId}\n${workerId}\n${key}`];
  });
}

function tooFast(): ProblemAnswer {
  return problem("overloaded", {
    detail: "Cannot create tasks: others with the same keys change too fast",
    retryAfterMs: 1_000,
  });
}

function isJudged(request: JudgedTask | ProblemAnswer): request is JudgedTask {
  return "definition" in request;
}

function isProblem(made: Made): made is ProblemAnswer {
  return made.kind === "problem";
}

function madeOf(placed: Placed, slots: readonly TaskSlot[]): Made {
  if (placed.kind === "problem") return placed;
  const slot = slots[placed.index];
  if (slot === undefined) throw new TypeError("Cannot find slot of task");
  const { task, judged } = slot;
  return { kind: "made", isNew: placed.isNew, task, judged };
}

/** The slots that some request has come to. */
function usedSlots(
  placed: readonly Placed[],
  slots: readonly TaskSlot[],
): readonly TaskSlot[] {
  const used = new Set<number>();
  for (const one of placed) if (one.kind === "slot") used.add(one.index);
  return used.size === slots.length
    ? slots
    : slots.filter((_, index) => used.has(index));
}

function workerGone({ worker }: JudgedTask): ProblemAnswer {
  const detail = `Cannot use worker "${worker.name}": it was removed`;
  return problem("unknown_worker", {
    detail,
    errors: [{ pointer: "/worker", code: "unknown_worker", detail }],
  });
}
