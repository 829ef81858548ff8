/**
 * Makes tasks as clients ask for them, one or many.
 *
 * @module
 */

import type { Actor } from "../../domain/records.ts";
import type { Task } from "../../domain/task.ts";
import type { Engine } from "../../engine/engine.ts";
import { settle, type Settled, type Soon } from "../../../shared/settled.ts";
import type { CallContext } from "../../http/call.ts";
import type { Write } from "../../store/store.ts";
import {
  problem,
  type ProblemAnswer,
  problemOfError,
} from "../../http/problem_answer.ts";
import type { KeyLocks } from "../../engine/key_locks.ts";
import type { JudgedTask, Surroundings } from "./validate_task.ts";
import { TaskQuota } from "./task_quota.ts";
import { type Placed, type TaskSlot, TaskSlots } from "./task_slots.ts";

/** How often it is tried again when another request was faster. */
const MAX_TRIES = 20;

/**
 * Most tasks that are written together when they need not be, so that the tasks
 * of others are written in between.
 */
const MAX_PIECE_TASKS = 50;

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
  /**
   * What is written along, in one commit with all tasks, from what all requests
   * come to.
   * @default nothing, so that tasks may be written in pieces unless `isAtomic`
   */
  readonly along?:
    | ((made: readonly Made[]) => Soon<readonly Write[]>)
    | undefined;
  /** Who asks: gives way while there is much to do, and may go away. */
  readonly call: Pick<CallContext, "pausing" | "onGone" | "requestId">;
}

/** What asking comes to. */
export type CreateOutcome =
  | { readonly kind: "ok"; readonly made: readonly Made[] }
  /** It was atomic, and nothing was made; each request's result is told. */
  | { readonly kind: "refused"; readonly made: readonly Made[] }
  /** Nothing was made, for a reason that is no request's own. */
  | ProblemAnswer;

/** A request that has been judged, or the problem that it has. */
type CreateRequest = JudgedTask | ProblemAnswer;

/** Another request was faster. */
interface TryAgain {
  readonly kind: "again";
  /** The result of each request; those without one are to be tried again. */
  readonly settled: readonly (Made | undefined)[];
}

type CreateWork = CreateOptions & {
  readonly placed: readonly Placed[];
  readonly slots: readonly TaskSlot[];
  /** Workers that were found to be removed. */
  readonly gone: Set<string>;
};

/** Slots that are written together. */
interface Piece {
  readonly slots: readonly number[];
  readonly writes: readonly Write[];
  readonly announce: () => void;
}

type PieceOutcome =
  | { readonly kind: "ok" }
  | { readonly kind: "again" }
  | ProblemAnswer;

/** Makes tasks. */
export class TaskCreator {
  readonly #engine: Engine;
  readonly #quota: TaskQuota;
  /** New values for a task that has the key are written one after the other. */
  readonly #locks: KeyLocks;

  /** A creator over an engine. */
  constructor(engine: Engine, locks: KeyLocks) {
    this.#engine = engine;
    this.#quota = new TaskQuota(engine);
    this.#locks = locks;
  }

  /**
   * Makes what can be made of the requests, which are judged or problems
   * already: in one commit, or in several when they are not atomic and nothing is
   * written along.
   *
   * @throws {Error} when the store fails before anything was written
   */
  async create(
    requests: readonly CreateRequest[],
    options: CreateOptions,
  ): Promise<CreateOutcome> {
    const names = replacedKeys(requests, options.tenantId);
    if (names.length === 0) return await this.#tryAgain(requests, options);
    const lock = await this.#locks.acquire(names, options.call);
    // Without a lock the client has gone away, or too many others wait.
    if (lock.kind !== "ok") return tooFast();
    try {
      return await this.#tryAgain(requests, options);
    } finally {
      lock.release();
    }
  }

  async #tryAgain(
    requests: readonly CreateRequest[],
    options: CreateOptions,
  ): Promise<CreateOutcome> {
    const gone = new Set<string>();
    const settled: (Made | undefined)[] = requests.map(() => undefined);
    for (let tries = 0; tries < MAX_TRIES; tries++) {
      const left = requests.filter((_, index) => settled[index] === undefined);
      const outcome = await this.#try(left, { ...options, gone });
      if (outcome.kind !== "again") {
        if (left.length === requests.length) return outcome;
        return { kind: "ok", made: merged(settled, outcome) };
      }
      let next = 0;
      for (const [index, made] of settled.entries()) {
        if (made === undefined) settled[index] = outcome.settled[next++];
      }
    }
    return settled.every((made) => made === undefined)
      ? tooFast()
      : { kind: "ok", made: merged(settled, tooFast()) };
  }

  async #try(
    requests: readonly CreateRequest[],
    options: CreateOptions & { readonly gone: Set<string> },
  ): Promise<CreateOutcome | TryAgain> {
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
      const work = { ...options, placed: quota.placed, slots: slots.slots };
      return options.isAtomic || options.along !== undefined
        ? await this.#writeTogether(made, work)
        : await this.#writeInPieces(made, work);
    } finally {
      quota.release();
    }
  }

  async #writeTogether(
    made: readonly Made[],
    options: CreateWork,
  ): Promise<CreateOutcome | TryAgain> {
    const [piece] = this.#pieces(options, Infinity);
    // What changes nothing needs no commit; its answer is kept by others.
    if (piece === undefined) return { kind: "ok", made };
    const { along } = options;
    const writes = along === undefined
      ? piece.writes
      : [...piece.writes, ...await along(made)];
    const outcome = await this.#commit({ ...piece, writes }, options.gone);
    switch (outcome.kind) {
      case "ok":
        return { kind: "ok", made };
      case "again":
        return { kind: "again", settled: made.map(() => undefined) };
      case "problem":
        return outcome;
    }
  }

  async #writeInPieces(
    made: readonly Made[],
    options: CreateWork,
  ): Promise<CreateOutcome | TryAgain> {
    const pieces = this.#pieces(options, MAX_PIECE_TASKS);
    const commits: Promise<Settled<PieceOutcome>>[] = [];
    for (const piece of pieces) {
      commits.push(settle(() => this.#commit(piece, options.gone)));
      const pause = options.call.pausing.pause();
      if (pause !== undefined) await pause;
    }
    const ended = await Promise.all(commits);
    const failed = ended.filter((one) => one.kind === "failed");
    const [failure] = failed;
    // The client learns which tasks there are, unless there are none.
    if (failure !== undefined && failed.length === ended.length) {
      throw failure.error;
    }
    const bySlot = new Map<number, PieceOutcome>();
    for (const [index, one] of ended.entries()) {
      const outcome = one.kind === "ok"
        ? one.value
        : problemOfError(one.error, {
          requestId: options.call.requestId,
          logger: this.#engine.parts.logger,
        });
      for (const slot of pieces[index]?.slots ?? []) bySlot.set(slot, outcome);
    }
    const settled = made.map((one, index): Made | undefined => {
      const place = options.placed[index];
      if (place?.kind !== "slot") return one;
      // What changes nothing is in no piece.
      const outcome = bySlot.get(place.index) ?? { kind: "ok" };
      if (outcome.kind === "problem") return outcome;
      return outcome.kind === "ok" ? one : undefined;
    });
    return settled.every((one) => one !== undefined)
      ? { kind: "ok", made: settled }
      : { kind: "again", settled };
  }

  /** What is to be written for the slots that some request has. */
  #pieces(
    { placed, slots, tenantId }: CreateWork,
    maxTasks: number,
  ): readonly Piece[] {
    const { repositories } = this.#engine.parts;
    const used = new Set<number>();
    for (const one of placed) if (one.kind === "slot") used.add(one.index);
    const changing = [...used].filter((index) =>
      (slots[index]?.writes.length ?? 0) > 0
    );
    const pieces: Piece[] = [];
    for (let from = 0; from < changing.length; from += maxTasks) {
      const indexes = changing.slice(from, from + maxTasks);
      const writes: Write[] = [];
      const workers = new Set<string>();
      for (const index of indexes) {
        const slot = slots[index];
        if (slot === undefined) continue;
        if (slot.previous === undefined) {
          const [write] = slot.writes;
          if (write !== undefined) writes.push(write);
          workers.add(slot.task.workerId);
        } else writes.push(...slot.writes);
      }
      for (const id of workers) {
        writes.push(repositories.workers.assertExists(tenantId, id));
      }
      pieces.push({
        slots: indexes,
        writes,
        announce: () => this.#announce(indexes, slots),
      });
    }
    return pieces;
  }

  async #commit(piece: Piece, gone: Set<string>): Promise<PieceOutcome> {
    const { writes } = piece;
    const [result] = await this.#engine.parts.store.commit([{ writes }]);
    if (result?.kind === "ok") {
      piece.announce();
      return { kind: "ok" };
    }
    if (result?.reason === "idempotency") {
      return problem("idempotency_in_progress", {
        detail: "Cannot answer yet: the first request with this " +
          "Idempotency-Key is still under way",
        retryAfterMs: 1_000,
      });
    }
    const write = result === undefined ? undefined : writes[result.write];
    if (write?.kind === "require") gone.add(write.id);
    return { kind: "again" };
  }

  #announce(indexes: readonly number[], slots: readonly TaskSlot[]): void {
    const { changes } = this.#engine;
    for (const index of indexes) {
      const slot = slots[index];
      if (slot === undefined) continue;
      const { previous, task, made } = slot;
      if (previous !== task) changes.announce(previous, task);
      for (const one of made) changes.announce(undefined, one);
    }
  }
}

/** The names of the keys whose tasks may get new values. */
function replacedKeys(
  requests: readonly CreateRequest[],
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

function isJudged(request: CreateRequest): request is JudgedTask {
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

/** What has been settled, with the outcome of those that had not. */
function merged(
  settled: readonly (Made | undefined)[],
  outcome: CreateOutcome,
): readonly Made[] {
  let next = 0;
  return settled.map((one) => {
    if (one !== undefined) return one;
    if (outcome.kind === "problem") return outcome;
    const made = outcome.made[next++];
    if (made === undefined) throw new TypeError("Cannot find result of task");
    return made;
  });
}

function workerGone({ worker }: JudgedTask): ProblemAnswer {
  const detail = `Cannot use worker "${worker.name}": it was removed`;
  return problem("unknown_worker", {
    detail,
    errors: [{ pointer: "/worker", code: "unknown_worker", detail }],
  });
}
