/**
 * Does bulk actions in the background, one step of one after one step of
 * another, and goes on with them after a restart.
 *
 * @module
 */

import type { Engine } from "../../../engine/engine.ts";
import type { Timer } from "../../../../shared/clock.ts";
import type { Write } from "../../../store/store.ts";
import { addResults, type BulkOrder, NO_PROGRESS } from "./bulk_action.ts";
import { firstPosition } from "./bulk_position.ts";
import { bulkStep } from "./bulk_steps.ts";
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

interface Queued extends OperationName {
  readonly failures: number;
}

/** Runs operations. The engine's store has to be open from start to stop. */
export class Operations {
  readonly #engine: Engine;
  readonly #queue: Queued[] = [];
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

  /** Ends after the step that is under way; the next start goes on. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#timer?.cancel();
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
    const { store, newId } = this.#engine.parts;
    const { tenantId } = order;
    const known = await listOperations(store, { tenantId, limit: 1_000 });
    const underWay = known.filter(({ status }) => status === "running");
    if (underWay.length >= MAX_UNDER_WAY) return { kind: "too_many" };
    const operation: Operation = {
      id: newId("opr"),
      version: 1,
      order,
      status: "running",
      progress: NO_PROGRESS,
      from: firstPosition(order),
      updatedAtMs: order.orderedAtMs,
    };
    const name = { tenantId, id: operation.id };
    const old = known.filter(({ status }) => status !== "running")
      .slice(0, Math.max(0, known.length + 1 - MAX_KEPT));
    // The note comes first: one without an operation is harmless.
    const [noted] = await store.commit([{ writes: [noteUnderWay(name)] }]);
    if (noted?.kind !== "ok") return await this.order(order, along);
    const [result] = await store.commit([{
      writes: [
        putOperation(operation),
        ...old.map(forgetOperation),
        ...along(operation),
      ],
    }]);
    if (result?.kind !== "ok") {
      await store.commit([{ writes: [noteEnded(name)] }]);
      return { kind: "conflict" };
    }
    this.#queue.push({ ...name, failures: 0 });
    this.#wake();
    return { kind: "ok", operation };
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
        this.#engine.parts.logger.warn("Cannot go on with bulk action", {
          operation: next.id,
          failures,
          error: String(error),
        });
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
    const { store, clock } = this.#engine.parts;
    const operation = await readOperation(store, name);
    if (operation === undefined || operation.status !== "running") {
      await store.commit([{ writes: [noteEnded(name)] }]);
      return false;
    }
    const { order, from, progress, version } = operation;
    const step = await bulkStep(this.#engine, order, {
      from,
      matched: progress.matched,
    });
    const nowMs = clock.nowMs();
    const common = {
      ...operation,
      version: version + 1,
      progress: addResults(progress, step.results),
      updatedAtMs: nowMs,
    };
    const next: Operation = step.next === undefined
      ? { ...common, status: "done", finishedAtMs: nowMs }
      : { ...common, from: step.next };
    const [result] = await store.commit([{ writes: [putOperation(next)] }]);
    // What was not noted down is done again, which does no harm.
    if (result?.kind !== "ok" || next.status === "running") return true;
    await store.commit([{ writes: [noteEnded(name)] }]);
    return false;
  }

  /** What cannot be written down now is tried again at the next start. */
  async #giveUp(name: OperationName): Promise<void> {
    const { store, clock, logger } = this.#engine.parts;
    try {
      const operation = await readOperation(store, name);
      if (operation === undefined) return;
      const nowMs = clock.nowMs();
      const failed: Operation = {
        ...operation,
        version: operation.version + 1,
        status: "failed",
        updatedAtMs: nowMs,
        finishedAtMs: nowMs,
      };
      await store.commit([{ writes: [putOperation(failed)] }]);
      await store.commit([{ writes: [noteEnded(name)] }]);
    } catch (error) {
      logger.error("Cannot give up bulk action: the store failed", {
        operation: name.id,
        error: String(error),
      });
    }
  }
}
