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
import type { Write } from "../store/store.ts";
import {
  type CreateRefusal,
  type CreateRequest,
  type CreateResult,
  replacedKeys,
} from "./create_request.ts";
import { KeyLocks, type LockClient, restBeforeTry } from "./key_locks.ts";
import type { Placement, Reservation } from "./key_reservations.ts";
import type { TaskRoom } from "./plan_usage.ts";
import {
  type Piece,
  type PlaceOptions,
  placeTasks,
  toPieces,
} from "./placing.ts";

/** How many times a creation is tried when another request writes first. */
const MAX_TRIES = 20;

/**
 * The most tasks in one commit when they need not all be in the same one, so
 * that other requests are written in between.
 */
const MAX_PIECE_TASKS = 50;

/** Options of {@linkcode Creation.begin}. */
interface CreateOptions
  extends Pick<PlaceOptions, "tenantId" | "actor" | "limits"> {
  /**
   * Whether all tasks are written in one commit, as those of a flow always are.
   */
  readonly isOneCommit: boolean;
  /**
   * The client of the request, which gives way to others while the service is
   * busy, and which may go away.
   */
  readonly client: LockClient & { readonly pausing: Pausing };
}

/** The outcome of {@linkcode TaskCreation.write}. */
export type WriteOutcome =
  | { readonly kind: "ok"; readonly results: readonly CreateResult[] }
  /** Others wrote first; the tasks have to be placed and written again. */
  | { readonly kind: "again" }
  /** No task was created, for a reason that concerns all requests. */
  | Extract<CreateRefusal, { readonly kind: "busy" | "answered_elsewhere" }>;

type PieceOutcome =
  | { readonly kind: "ok" }
  | { readonly kind: "again" }
  | CreateRefusal;

/** The components of the engine that creations need. */
type Creator = Pick<PlaceOptions, "parts" | "changes" | "usage">;

/** Creates tasks. */
export class Creation {
  readonly #engine: Creator;
  /**
   * Locks by key, so that requests that replace the task of the same key take
   * turns.
   */
  readonly #locks: KeyLocks;

  /** Takes the components of the engine. */
  constructor(engine: Creator) {
    this.#engine = engine;
    this.#locks = new KeyLocks({ clock: engine.parts.clock });
  }

  /**
   * Begins to create the tasks of the requests; undefined stands for a request
   * that the caller has refused. The caller places and writes the tasks until
   * they are written, and disposes of the creation.
   *
   * @returns undefined when the client has gone away, or too many others change
   * tasks of the same keys; a value at once where no key has to be locked
   */
  begin(
    requests: readonly (CreateRequest | undefined)[],
    options: CreateOptions,
  ): MaybePromise<TaskCreation | undefined> {
    const keys = replacedKeys(requests, options.tenantId);
    const of = { engine: this.#engine, requests, options };
    if (keys.length === 0) return new TaskCreation({ ...of, lock: undefined });
    return this.#locks.acquire(keys, options.client).then((lock) =>
      lock.kind === "ok" ? new TaskCreation({ ...of, lock }) : undefined
    );
  }
}

/** What a creation is made of. */
interface Beginning {
  readonly engine: Creator;
  readonly requests: readonly (CreateRequest | undefined)[];
  readonly options: CreateOptions;
  readonly lock: { readonly release: () => void } | undefined;
}

/** Tasks that are being created: they are placed, then written. */
export class TaskCreation implements Disposable {
  readonly #of: Beginning;
  /** The ids of workers that were found to be removed. */
  readonly #gone = new Set<string>();
  readonly #results: (CreateResult | undefined)[];
  /** The positions of the requests whose tasks are not written yet. */
  #open: readonly number[];
  /** What became of the open requests, in their order. */
  #placements: readonly Placement[] = [];
  #room: TaskRoom | undefined;
  #tries = 0;

  /** Begins without any task; callers use {@linkcode Creation.begin}. */
  constructor(of: Beginning) {
    this.#of = of;
    this.#open = [...of.requests.keys()];
    this.#results = of.requests.map(() => undefined);
  }

  /**
   * Finds out which task each open request leads to, and reserves room for new
   * ones in the tenant's plan. Nothing is written.
   *
   * @returns the results of all requests, once their tasks are written
   * @throws {Error} when the store fails
   */
  async place(): Promise<readonly CreateResult[]> {
    const { engine, requests, options, lock } = this.#of;
    if (lock !== undefined) await restBeforeTry(this.#tries, engine.parts);
    const open = this.#open.map((index) => requests[index]);
    const { placements, room } = await placeTasks(open, {
      ...options,
      ...engine,
      pausing: options.client.pausing,
      gone: this.#gone,
    });
    this.#placements = placements;
    this.#room = room;
    for (const [position, index] of this.#open.entries()) {
      const placement = placements[position];
      this.#results[index] = placement && toResult(placement);
    }
    return this.#allResults();
  }

  /**
   * Writes the tasks that were placed, in one commit or in several.
   *
   * @param extra what is written in the same commit
   * @throws {Error} when the store fails before anything was written
   */
  async write(extra: readonly Write[] = []): Promise<WriteOutcome> {
    const { requests, options } = this.#of;
    // A task must not be written without those that it depends on.
    const isTogether = options.isOneCommit ||
      requests.some((request) => request?.refs !== undefined);
    this.#tries++;
    try {
      if (!isTogether) await this.#writeInPieces();
      else if (await this.#writeTogether(extra) === "answered_elsewhere") {
        return { kind: "answered_elsewhere" };
      }
    } finally {
      this.#endRoom();
    }
    this.#open = this.#open.filter((index) =>
      this.#results[index] === undefined
    );
    const left = this.#open.length;
    if (left > 0 && this.#tries < MAX_TRIES) return { kind: "again" };
    return left > 0 && left === requests.length
      ? { kind: "busy" }
      : { kind: "ok", results: this.#allResults() };
  }

  /** Releases what is reserved and locked. */
  [Symbol.dispose](): void {
    this.#endRoom();
    this.#of.lock?.release();
  }

  #endRoom(): void {
    this.#room?.release();
    this.#room = undefined;
  }

  /** All results; a request that was tried too often is refused as busy. */
  #allResults(): readonly CreateResult[] {
    return this.#results.map((result) => result ?? { kind: "busy" });
  }

  async #writeTogether(
    extra: readonly Write[],
  ): Promise<"ok" | "again" | "answered_elsewhere"> {
    const [own] = this.#pieces(Infinity);
    const reservations = own?.reservations ?? [];
    const writes = [...own?.writes ?? [], ...extra];
    if (writes.length === 0) return "ok";
    const { pausing } = this.#of.options.client;
    const { kind } = await this.#commit({ reservations, writes }, pausing);
    if (kind === "again") this.#results.fill(undefined);
    return kind;
  }

  async #writeInPieces(): Promise<void> {
    const pieces = this.#pieces(MAX_PIECE_TASKS);
    const { pausing } = this.#of.options.client;
    const commits: Promise<Settled<PieceOutcome>>[] = [];
    for (const piece of pieces) {
      commits.push(settle(() => this.#commit(piece)));
      const pause = pausing.pause();
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
    for (const [position, index] of this.#open.entries()) {
      const placement = this.#placements[position];
      if (placement?.kind !== "reserved") continue;
      const outcome = outcomes.get(placement.reservation);
      // A reservation without changes is in no piece.
      if (outcome === undefined || outcome.kind === "ok") continue;
      this.#results[index] = outcome.kind === "again" ? undefined : outcome;
    }
  }

  #pieces(maxTasks: number): readonly Piece[] {
    const { engine, options: { tenantId } } = this.#of;
    const { workers } = engine.parts.repositories;
    const options = { tenantId, workers, maxTasks, room: this.#room };
    return toPieces(this.#placements, options);
  }

  async #commit(
    { reservations, writes }: Piece,
    pausing?: Pausing,
  ): Promise<
    Extract<
      PieceOutcome,
      { readonly kind: "ok" | "again" | "answered_elsewhere" }
    >
  > {
    const { parts: { store }, changes } = this.#of.engine;
    const [result] = await store.commit([{ writes }], pausing);
    if (result?.kind === "ok") {
      for (const { previous, task, made } of reservations) {
        if (previous !== task) changes.announce(previous, task);
        for (const one of made) changes.announce(undefined, one);
      }
      return { kind: "ok" };
    }
    if (result?.reason === "idempotency") return { kind: "answered_elsewhere" };
    const write = result === undefined ? undefined : writes[result.write];
    if (write?.kind === "require") this.#gone.add(write.id);
    // Another instance has taken over a request of the inbox.
    if (write?.kind === "request") return { kind: "answered_elsewhere" };
    // Other instances have filled the plan; the next try refuses what does not
    // fit.
    if (write?.kind === "quota") changes.activeTasks.recount(write.tenantId);
    return { kind: "again" };
  }
}

function toResult(placement: Placement): CreateResult {
  if (placement.kind !== "reserved") return placement;
  const { isNew, reservation: { task, request } } = placement;
  return { kind: isNew ? "created" : "found", task, request };
}
