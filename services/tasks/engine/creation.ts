/**
 * Creates tasks, one or many, within the limits of the tenant's plan.
 *
 * @module
 */

import {
  type MaybePromise,
  settle,
  type Settled,
} from "../../shared/settled.ts";
import type { Pausing } from "../../shared/slices.ts";
import type { Actor, PlanLimits } from "../domain/records.ts";
import { flowOrder } from "../domain/flow_order.ts";
import type { Task } from "../domain/task.ts";
import type { Write } from "../store/store.ts";
import type { TaskChanges } from "./changes.ts";
import { KeyLocks, type LockClient } from "./key_locks.ts";
import type { CreateRefusal, CreateRequest } from "./create_request.ts";
import {
  KeyReservations,
  type Placement,
  type Reservation,
} from "./key_reservations.ts";
import type { EngineParts } from "./parts.ts";
import { limited, withoutRefused } from "./placement_refusals.ts";
import type { UsageCounter } from "./plan_usage.ts";

/** How many times a creation is tried when another request writes first. */
const MAX_TRIES = 20;

/**
 * The most tasks in one commit when they need not all be in the same one, so
 * that other requests are written in between.
 */
const MAX_PIECE_TASKS = 50;

/** The outcome of a single request. */
export type CreateResult =
  | {
    /** Whether the task is new, or the live task that already has the key. */
    readonly kind: "created" | "found";
    /** The new task, or the live one that has the key. */
    readonly task: Task;
    /** The request; the task has its data when it was created. */
    readonly request: CreateRequest;
  }
  | CreateRefusal;

/** Options of {@linkcode Creation.create}. */
interface CreateOptions {
  /** The tenant. */
  readonly tenantId: string;
  /** The actor that asks. */
  readonly actor: Actor;
  /** The limits of the tenant's plan. */
  readonly limits: Pick<
    PlanLimits,
    "activeTasks" | "executionsPerMonth" | "retentionMs"
  >;
  /** Whether one refusal keeps all from being created. */
  readonly isAtomic: boolean;
  /**
   * Returns the writes to commit together with all tasks, given the results of
   * all requests.
   *
   * @default nothing, so that tasks may be written in pieces unless `isAtomic`
   */
  readonly inSameCommit?:
    | ((results: readonly CreateResult[]) => MaybePromise<readonly Write[]>)
    | undefined;
  /**
   * The client of the request, which gives way to others while the service is
   * busy, and which may go away.
   */
  readonly client: LockClient & { readonly pausing: Pausing };
}

/** The outcome of a call of {@linkcode Creation.create}. */
export type CreateOutcome =
  | { readonly kind: "ok"; readonly results: readonly CreateResult[] }
  /** The creation was atomic, and no task was created. */
  | { readonly kind: "refused"; readonly results: readonly CreateResult[] }
  /** No task was created, for a reason that concerns all requests. */
  | Extract<CreateRefusal, { readonly kind: "busy" | "answered_elsewhere" }>;

/** The outcome of one try; requests without a result have to be tried again. */
type Attempt =
  | {
    readonly kind: "written";
    readonly results: readonly (CreateResult | undefined)[];
  }
  | Exclude<CreateOutcome, { readonly kind: "ok" | "busy" }>;

type Work = CreateOptions & {
  readonly placements: readonly Placement[];
  /** The ids of workers that were found to be removed. */
  readonly gone: Set<string>;
};

/** Reservations that are written in one commit. */
interface Piece {
  readonly reservations: readonly Reservation[];
  readonly writes: readonly Write[];
}

type PieceOutcome =
  | { readonly kind: "ok" | "again" }
  | CreateRefusal;

/** Creates tasks. */
export class Creation {
  readonly #parts: EngineParts;
  readonly #changes: TaskChanges;
  readonly #usage: UsageCounter;
  /**
   * Locks by key, so that requests that replace the task of the same key take
   * turns.
   */
  readonly #locks: KeyLocks;

  /** Takes the engine's parts. */
  constructor(
    parts: EngineParts,
    { changes, usage }: {
      readonly changes: TaskChanges;
      readonly usage: UsageCounter;
    },
  ) {
    this.#parts = parts;
    this.#changes = changes;
    this.#usage = usage;
    this.#locks = new KeyLocks({ clock: parts.clock });
  }

  /**
   * Creates the tasks of the requests; undefined stands for a request that the
   * caller has refused. This takes one commit, or several when the requests are
   * not atomic and nothing else has to be written with them.
   *
   * @throws {Error} when the store fails before anything was written
   */
  async create(
    requests: readonly (CreateRequest | undefined)[],
    options: CreateOptions,
  ): Promise<CreateOutcome> {
    const keys = replacedKeys(requests, options.tenantId);
    if (keys.length === 0) return await this.#tryAgain(requests, options);
    const lock = await this.#locks.acquire(keys, options.client);
    // Without a lock, the client has gone away, or too many others wait.
    if (lock.kind !== "ok") return { kind: "busy" };
    try {
      return await this.#tryAgain(requests, options);
    } finally {
      lock.release();
    }
  }

  async #tryAgain(
    requests: readonly (CreateRequest | undefined)[],
    options: CreateOptions,
  ): Promise<CreateOutcome> {
    const gone = new Set<string>();
    let results: readonly (CreateResult | undefined)[] = [];
    let open = [...requests.keys()];
    for (let tries = 0; tries < MAX_TRIES; tries++) {
      const left = open.map((index) => requests[index]);
      const attempt = await this.#try(left, { ...options, gone });
      // Such an outcome concerns all requests.
      if (attempt.kind !== "written") return attempt;
      if (open.length === requests.length) results = attempt.results;
      else {
        const next = [...results];
        for (const [position, index] of open.entries()) {
          next[index] = attempt.results[position];
        }
        results = next;
      }
      open = open.filter((index) => results[index] === undefined);
      if (open.length === 0) break;
    }
    return open.length === requests.length
      ? { kind: "busy" }
      : { kind: "ok", results: withoutGaps(results) };
  }

  async #try(
    requests: readonly (CreateRequest | undefined)[],
    options: CreateOptions & { readonly gone: Set<string> },
  ): Promise<Attempt> {
    const { tenantId, actor, limits, gone } = options;
    const reservations = new KeyReservations({
      tenantId,
      actor,
      retentionMs: limits.retentionMs,
      parts: this.#parts,
    });
    const { pausing } = options.client;
    await reservations.lookUp(
      requests.filter((request) => request !== undefined),
      pausing,
    );
    const { order } = flowOrder(requests);
    const placed: Placement[] = requests.map(() => ({ kind: "skipped" }));
    for (const position of order) {
      const request = requests[position];
      if (request === undefined) continue;
      placed[position] = gone.has(request.worker.id)
        ? { kind: "unknown_worker", worker: request.worker }
        : reservations.place(request);
      const pause = pausing.pause();
      if (pause !== undefined) await pause;
    }
    const { placements: fitting, release } = await this.#takeRoom(
      placed,
      options,
    );
    const placements = withoutRefused(fitting, { requests, order });
    try {
      const results = placements.map(resultOf);
      if (options.isAtomic && results.some(isRefusal)) {
        return { kind: "refused", results };
      }
      const work = { ...options, placements };
      // A task must not be written without those that it depends on.
      const isFlow = requests.some((request) => request?.refs !== undefined);
      return options.isAtomic || options.inSameCommit !== undefined || isFlow
        ? await this.#writeTogether(results, work)
        : await this.#writeInPieces(results, work);
    } finally {
      release?.();
    }
  }

  /**
   * Reserves quota in the tenant's plan for the new tasks, and refuses the
   * tasks that do not fit. `release` has to be called after the commit, whether
   * it succeeded or not.
   */
  async #takeRoom(
    placements: readonly Placement[],
    { tenantId, limits: { activeTasks, executionsPerMonth } }: CreateOptions,
  ): Promise<
    {
      readonly placements: readonly Placement[];
      readonly release?: () => void;
    }
  > {
    if (activeTasks === null && executionsPerMonth === null) {
      return { placements };
    }
    const wanted =
      placements.filter((one) => one.kind === "reserved" && one.isNew).length;
    if (wanted === 0) return { placements };
    if (executionsPerMonth !== null) {
      const used = await this.#usage.executions(tenantId);
      if (used >= executionsPerMonth) {
        const refusal: CreateRefusal = {
          kind: "over_quota",
          what: "executions this month",
          limit: executionsPerMonth,
          used,
        };
        return { placements: limited(placements, { granted: 0, refusal }) };
      }
    }
    if (activeTasks === null) return { placements };
    const room = await this.#changes.activeTasks.reserve(tenantId, {
      wanted,
      limit: activeTasks,
    });
    const { granted, used } = room;
    const refusal: CreateRefusal = {
      kind: "over_quota",
      what: "active tasks",
      limit: activeTasks,
      used,
    };
    return {
      placements: granted === wanted
        ? placements
        : limited(placements, { granted, refusal }),
      release: () => room.release(),
    };
  }

  async #writeTogether(
    results: readonly CreateResult[],
    work: Work,
  ): Promise<Attempt> {
    const [piece] = this.#pieces(work, Infinity);
    // Without changes no commit is needed; the caller stores the answer.
    if (piece === undefined) return { kind: "written", results };
    const { inSameCommit, client: { pausing } } = work;
    const writes = inSameCommit === undefined
      ? piece.writes
      : [...piece.writes, ...await inSameCommit(results)];
    const outcome = await this.#commit(
      { ...piece, writes },
      work.gone,
      pausing,
    );
    switch (outcome.kind) {
      case "ok":
        return { kind: "written", results };
      case "again":
        return { kind: "written", results: results.map(() => undefined) };
      case "answered_elsewhere":
        return { kind: outcome.kind };
    }
  }

  async #writeInPieces(
    results: readonly CreateResult[],
    work: Work,
  ): Promise<Attempt> {
    const pieces = this.#pieces(work, MAX_PIECE_TASKS);
    const commits: Promise<Settled<PieceOutcome>>[] = [];
    for (const piece of pieces) {
      commits.push(settle(() => this.#commit(piece, work.gone)));
      const pause = work.client.pausing.pause();
      if (pause !== undefined) await pause;
    }
    const ended = await Promise.all(commits);
    const failed = ended.filter((one) => one.kind === "failed");
    const [failure] = failed;
    // The client learns which tasks were created; it gets the error only when
    // no task was.
    if (failure !== undefined && failed.length === ended.length) {
      throw failure.error;
    }
    const outcomes = new Map<Reservation, PieceOutcome>();
    for (const [index, one] of ended.entries()) {
      const outcome = one.kind === "ok" ? one.value : one;
      for (const reservation of pieces[index]?.reservations ?? []) {
        outcomes.set(reservation, outcome);
      }
    }
    return {
      kind: "written",
      results: results.map((result, index) => {
        const placement = work.placements[index];
        if (placement?.kind !== "reserved") return result;
        // A reservation without changes is in no piece.
        const outcome = outcomes.get(placement.reservation) ?? { kind: "ok" };
        switch (outcome.kind) {
          case "ok":
            return result;
          case "again":
            return undefined;
          default:
            return outcome;
        }
      }),
    };
  }

  /**
   * Groups the reservations that requests still need into commits of limited
   * size.
   */
  #pieces(
    { placements, tenantId }: Work,
    maxTasks: number,
  ): readonly Piece[] {
    const { workers } = this.#parts.repositories;
    const changing = new Set<Reservation>();
    for (const one of placements) {
      if (one.kind !== "reserved") continue;
      if (one.reservation.writes.length > 0) changing.add(one.reservation);
    }
    const all = [...changing];
    const pieces: Piece[] = [];
    for (let from = 0; from < all.length; from += maxTasks) {
      const reservations = all.slice(from, from + maxTasks);
      const workerIds = new Set<string>();
      for (const { task } of reservations) workerIds.add(task.workerId);
      // Writes that only check come first: when they conflict, the store has
      // nothing to undo.
      const writes: Write[] = [];
      for (const id of workerIds) {
        writes.push(workers.assertExists(tenantId, id));
      }
      for (const reservation of reservations) {
        writes.push(...reservation.writes);
      }
      pieces.push({ reservations, writes });
    }
    return pieces;
  }

  async #commit(
    { reservations, writes }: Piece,
    gone: Set<string>,
    pausing?: Pausing,
  ): Promise<{ readonly kind: "ok" | "again" | "answered_elsewhere" }> {
    const [result] = await this.#parts.store.commit([{ writes }], pausing);
    if (result?.kind === "ok") {
      for (const { previous, task, made } of reservations) {
        if (previous !== task) this.#changes.announce(previous, task);
        for (const one of made) this.#changes.announce(undefined, one);
      }
      return { kind: "ok" };
    }
    if (result?.reason === "idempotency") return { kind: "answered_elsewhere" };
    const write = result === undefined ? undefined : writes[result.write];
    if (write?.kind === "require") gone.add(write.id);
    return { kind: "again" };
  }
}

/** Tells whether a request was refused. */
export function isRefusal(result: CreateResult): result is CreateRefusal {
  return result.kind !== "created" && result.kind !== "found";
}

/** The keys whose tasks may be replaced by the requests. */
function replacedKeys(
  requests: readonly (CreateRequest | undefined)[],
  tenantId: string,
): readonly string[] {
  const keys: string[] = [];
  for (const request of requests) {
    if (request === undefined) continue;
    const { onConflict, pacing, definition: { workerId, key } } = request;
    const isAnswered = onConflict === "return" || onConflict === "reject";
    if (key === undefined || isAnswered && pacing === undefined) continue;
    keys.push(`${tenantId}\n${workerId}\n${key}`);
  }
  return keys;
}

function resultOf(placement: Placement): CreateResult {
  if (placement.kind !== "reserved") return placement;
  const { isNew, reservation: { task, request } } = placement;
  return { kind: isNew ? "created" : "found", task, request };
}

/** All results; a request that was tried too often is refused as busy. */
function withoutGaps(
  results: readonly (CreateResult | undefined)[],
): readonly CreateResult[] {
  return isWhole(results)
    ? results
    : results.map((result) => result ?? { kind: "busy" });
}

function isWhole(
  results: readonly (CreateResult | undefined)[],
): results is readonly CreateResult[] {
  return results.every((result) => result !== undefined);
}
