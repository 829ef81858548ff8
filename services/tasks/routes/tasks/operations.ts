/**
 * Does bulk actions in the background, one step of one after one step of
 * another, and goes on with them after a restart.
 *
 * @module
 */

import type { Engine } from "../../engine/engine.ts";
import type { Timer } from "../../../shared/clock.ts";
import type { Write } from "../../store/store.ts";
import { type AnswerPlace, holdPlace } from "../../http/kept_answer.ts";
import {
  type BulkOrder,
  type BulkProgress,
  NO_PROGRESS,
} from "./bulk_action.ts";
import { firstPosition } from "./bulk_position.ts";
import {
  forgetOperation,
  listOperations,
  namesUnderWay,
  noteEnded,
  noteUnderWay,
  type Operation,
  type OperationName,
  putOperation,
  readOperation,
} from "./operation.ts";
import { takeTurn, writesOfFailure } from "./operation_turn.ts";

/** Most operations of a tenant that are under way at once. */
export const MAX_UNDER_WAY = 10;
/** Operations of a tenant that are kept, whether they have ended or not. */
const MAX_KEPT = 100;
/** How long a step is put off after a failure. */
const PAUSE_MS = 1_000;
/** Failures in a row after which an operation is given up. */
const MAX_FAILURES = 60;

/** What ordering an operation comes to. */
export type OrderOutcome =
  | { readonly kind: "ok"; readonly operation: Operation }
  /** The tenant has too many under way. */
  | { readonly kind: "too_many" }
  /** What goes along did not fit: the same request is answered elsewhere. */
  | { readonly kind: "conflict" };

/** What doing an order for a request with a key comes to. */
export type PerformOutcome =
  | { readonly kind: "done"; readonly progress: BulkProgress }
  /** It goes on in the background; the same request is answered later. */
  | { readonly kind: "under_way" }
  /** The same request is answered elsewhere; nothing was done. */
  | { readonly kind: "conflict" };

/** Options of {@linkcode Operations.perform}. */
export interface PerformOptions {
  /** Where the answer is kept. */
  readonly place: AnswerPlace;
  /** What is written as it begins. */
  readonly writes: readonly Write[];
}

interface Queued extends OperationName {
  readonly failures: number;
}

/** Runs operations. The engine's store has to be open from start to stop. */
export class Operations {
  readonly #engine: Engine;
  readonly #queue: Queued[] = [];
  /** Those that requests wait for. */
  readonly #awaited = new Set<Promise<unknown>>();
  #running: Promise<void> | undefined;
  #timer: Timer | undefined;
  #isStopped = false;

  /** A runner that runs nothing yet. */
  constructor(engine: Engine) {
    this.#engine = engine;
  }

  /**
   * Goes on with what an earlier start left under way.
   *
   * @returns how many operations that are
   * @throws {Error} when the store fails
   */
  async start(): Promise<number> {
    for await (const name of namesUnderWay(this.#engine.parts.store)) {
      this.#queue.push({ ...name, failures: 0 });
    }
    const count = this.#queue.length;
    this.#wake();
    return count;
  }

  /** Ends after the steps that are under way; the next start goes on. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#timer?.cancel();
    await Promise.allSettled(this.#awaited);
    await this.#running;
  }

  /**
   * Takes an order, and keeps with it what goes along.
   *
   * @throws {Error} when the store fails
   */
  async order(
    order: BulkOrder,
    along: (operation: Operation) => readonly Write[],
  ): Promise<OrderOutcome> {
    const { store } = this.#engine.parts;
    const { tenantId } = order;
    const known = await listOperations(store, { tenantId, limit: 1_000 });
    // A request that waits for its action is bound by itself.
    const underWay = known.filter(({ status, answersTo }) =>
      status === "running" && answersTo === undefined
    );
    if (underWay.length >= MAX_UNDER_WAY) return { kind: "too_many" };
    const old = known.filter(({ status }) => status !== "running")
      .slice(0, Math.max(0, known.length + 1 - MAX_KEPT));
    const operation = await this.#begin(order, {
      along: (begun) => [...old.map(forgetOperation), ...along(begun)],
    });
    if (operation === undefined) return { kind: "conflict" };
    this.#enqueue(nameOf(operation));
    return { kind: "ok", operation };
  }

  /**
   * Does an order, for a request with a key: once it has begun it is done to its
   * end, over crashes, too, and the answer kept with the end.
   *
   * @throws {Error} when the store fails before it is known to have begun
   */
  async perform(
    order: BulkOrder,
    { place, writes }: PerformOptions,
  ): Promise<PerformOutcome> {
    const begun = await this.#begin(order, {
      along: () => [...writes, holdPlace(place, order.orderedAtMs)],
      answersTo: place,
    });
    if (begun === undefined) return { kind: "conflict" };
    const turns = this.#takeTurns(begun);
    this.#awaited.add(turns);
    try {
      const ended = await turns;
      return ended?.status === "done"
        ? { kind: "done", progress: ended.progress }
        : { kind: "under_way" };
    } catch (error) {
      this.#warn({ ...nameOf(begun), failures: 1 }, error);
      return { kind: "under_way" };
    } finally {
      this.#awaited.delete(turns);
      // What is left to do, if only to take back the note.
      this.#enqueue(nameOf(begun));
    }
  }

  /** Takes one turn after another until there are no more, or this is stopped. */
  async #takeTurns(begun: Operation): Promise<Operation | undefined> {
    let operation: Operation | undefined = begun;
    while (operation?.status === "running" && !this.#isStopped) {
      operation = await takeTurn(this.#engine, nameOf(begun));
    }
    return operation;
  }

  /** Writes down an operation; undefined when what goes along did not fit. */
  async #begin(
    order: BulkOrder,
    options: {
      readonly along: (operation: Operation) => readonly Write[];
      readonly answersTo?: AnswerPlace;
    },
  ): Promise<Operation | undefined> {
    const { store, newId } = this.#engine.parts;
    const { along, answersTo } = options;
    const operation: Operation = {
      id: newId("opr"),
      version: 1,
      order,
      status: "running",
      progress: NO_PROGRESS,
      from: firstPosition(order),
      updatedAtMs: order.orderedAtMs,
      ...(answersTo === undefined ? {} : { answersTo }),
    };
    const name = nameOf(operation);
    // The note comes first: one without an operation is harmless.
    const [noted] = await store.commit([{ writes: [noteUnderWay(name)] }]);
    if (noted?.kind !== "ok") {
      return await this.#begin(order, options);
    }
    let isKnown = false;
    try {
      const [result] = await store.commit([{
        writes: [putOperation(operation), ...along(operation)],
      }]);
      isKnown = true;
      if (result?.kind === "ok") return operation;
    } finally {
      // Whether it was written is unknown; whoever looks at it finds out.
      if (!isKnown) this.#enqueue(name);
    }
    await store.commit([{ writes: [noteEnded(name)] }]);
    return undefined;
  }

  #enqueue(name: OperationName): void {
    this.#queue.push({ ...name, failures: 0 });
    this.#wake();
  }

  #wake(): void {
    if (this.#running !== undefined || this.#isStopped) return;
    if (this.#timer !== undefined || this.#queue.length === 0) return;
    this.#running = this.#run().finally(() => {
      this.#running = undefined;
      if (this.#timer === undefined) this.#wake();
    });
  }

  async #run(): Promise<void> {
    while (!this.#isStopped) {
      const next = this.#queue.shift();
      if (next === undefined) return;
      try {
        if (await this.#step(next)) this.#queue.push({ ...next, failures: 0 });
      } catch (error) {
        const failures = next.failures + 1;
        this.#warn({ ...next, failures }, error);
        if (failures < MAX_FAILURES) this.#queue.push({ ...next, failures });
        else await this.#giveUp(next);
        this.#pause();
        return;
      }
    }
  }

  #pause(): void {
    if (this.#isStopped) return;
    this.#timer = this.#engine.parts.clock.setTimer(() => {
      this.#timer = undefined;
      this.#wake();
    }, PAUSE_MS);
  }

  /** Does a step; tells whether there are more. */
  async #step(name: OperationName): Promise<boolean> {
    const operation = await takeTurn(this.#engine, name);
    if (operation?.status === "running") return true;
    const { store } = this.#engine.parts;
    await store.commit([{ writes: [noteEnded(name)] }]);
    return false;
  }

  #warn({ id, failures }: Queued, error: unknown): void {
    this.#engine.parts.logger.warn("Cannot go on with bulk action", {
      operation: id,
      failures,
      error: String(error),
    });
  }

  /** What cannot be written down now is tried again at the next start. */
  async #giveUp(name: OperationName): Promise<void> {
    const { store, clock, logger } = this.#engine.parts;
    try {
      const operation = await readOperation(store, name);
      if (operation?.status === "running") {
        const writes = writesOfFailure(operation, clock.nowMs());
        await store.commit([{ writes }]);
      }
      await store.commit([{ writes: [noteEnded(name)] }]);
    } catch (error) {
      logger.error("Cannot give up bulk action: the store failed", {
        operation: name.id,
        error: String(error),
      });
    }
  }
}

function nameOf({ id, order: { tenantId } }: Operation): OperationName {
  return { tenantId, id };
}
