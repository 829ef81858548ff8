/**
 * The engine: combines the components that create, change, hand out and deliver
 * tasks, and starts and stops them.
 *
 * @module
 */

import { Periodic } from "../../shared/periodic.ts";
import type { UserMirror } from "../access/identity_provider.ts";
import { ActivityCounter } from "./activity.ts";
import { TaskChanges } from "./changes.ts";
import { CallbackReports } from "./callback_reports.ts";
import { Claims } from "./claims.ts";
import { Creation } from "./creation.ts";
import { Dependents } from "./dependents.ts";
import { DueClock } from "./due_clock.ts";
import { LeaseClock } from "./lease_clock.ts";
import { Leases } from "./leases.ts";
import { Liveness } from "./workers.ts";
import type { EngineParts } from "./parts.ts";
import { Reconciler } from "./reconciler.ts";
import { Recovery } from "./recovery.ts";
import { tellChanges } from "./told_changes.ts";
import { TaskEnds } from "./task_ends.ts";
import { UsageCounter } from "./plan_usage.ts";
import { UserMirroring } from "./user_mirroring.ts";

/** Milliseconds between two rounds of the sweeper. */
const SWEEP_EVERY_MS = 60_000;
/**
 * The most entries of one step of the sweeper, so that other work gets its
 * turn.
 */
const SWEEP_STEP = 1_000;

/**
 * Runs tasks. The store must be open before the start, and stay open until
 * after the stop.
 */
export class Engine {
  /** The parts that all components share. */
  readonly parts: EngineParts;
  /** Applies events to tasks. */
  readonly changes: TaskChanges;
  /** Creates tasks. */
  readonly creation: Creation;
  /** Hands out tasks. */
  readonly claims: Claims;
  /** The leases of pull workers. */
  readonly leases: Leases;
  /** Requests that wait for the end of tasks. */
  readonly ends: TaskEnds;
  /** When workers last asked for tasks. */
  readonly liveness: Liveness;
  /** Counts the started attempts of each tenant. */
  readonly usage: UsageCounter;
  /** Counts what tasks do over time. */
  readonly activity: ActivityCounter;
  /** Finds tasks that are stuck. */
  readonly reconciler: Reconciler;
  /** Ends the push calls of instances that are gone. */
  readonly recovery: Recovery;
  /** Mirrors users at the identity provider, if there is a mirror. */
  readonly mirroring: UserMirroring;
  readonly #clock: DueClock;
  readonly #dependents: Dependents;
  readonly #callbackReports: CallbackReports;
  readonly #sweeper: Periodic;

  /**
   * Creates the engine without starting it; without a mirror, users are not
   * mirrored.
   */
  constructor(parts: EngineParts, mirror?: UserMirror) {
    this.parts = parts;
    this.changes = new TaskChanges(parts);
    this.mirroring = new UserMirroring({
      mirror,
      parts,
      changes: this.changes,
    });
    this.liveness = new Liveness(parts.notices);
    this.usage = new UsageCounter(parts);
    this.activity = new ActivityCounter(parts);
    this.changes.onChange(this.activity.note);
    this.creation = new Creation({
      parts,
      changes: this.changes,
      usage: this.usage,
    });
    this.claims = new Claims({
      parts,
      changes: this.changes,
      usage: this.usage,
    });
    this.leases = new Leases({
      claims: this.claims,
      changes: this.changes,
      liveness: this.liveness,
      clock: parts.clock,
    });
    this.ends = new TaskEnds({ changes: this.changes, ...parts });
    this.recovery = new Recovery(parts, this.changes);
    this.#dependents = new Dependents(parts, this.changes);
    this.#callbackReports = new CallbackReports(parts, this.changes);
    const leaseClock = new LeaseClock({
      parts,
      changes: this.changes,
      liveness: this.liveness,
    });
    this.reconciler = new Reconciler({
      parts,
      changes: this.changes,
      dependents: this.#dependents,
      leaseClock,
    });
    this.#clock = new DueClock({
      parts,
      changes: this.changes,
      dependents: this.#dependents,
      leaseClock,
    });
    this.#sweeper = sweeper(parts);
    tellChanges(parts, this.changes);
  }

  /**
   * Joins the instances, recovers the attempts that one which is gone has left
   * running, if that is this one's duty, and starts.
   *
   * @returns how many attempts were ended
   * @throws {Error} when the store fails
   */
  async start(): Promise<number> {
    const { instances, notices } = this.parts;
    notices.start();
    await instances.join();
    await this.mirroring.carryOver();
    const recovered = instances.holds("recover")
      ? await this.recovery.runOnce()
      : 0;
    this.recovery.start();
    this.#clock.start();
    this.claims.start();
    this.reconciler.start();
    this.#callbackReports.start();
    this.#sweeper.start();
    return recovered;
  }

  /**
   * Stops: hands out no more tasks, finishes the current writes, and leaves the
   * instances. Push calls have ended before, or others would judge them lost.
   */
  async stop(): Promise<void> {
    this.leases.stop();
    this.ends.stop();
    await this.claims.stop();
    await this.#sweeper.stop();
    await this.reconciler.stop();
    await this.#clock.stop();
    await this.#dependents.stop();
    await this.#callbackReports.stop();
    await this.usage.stop();
    await this.activity.stop();
    await this.recovery.stop();
    await this.parts.instances.leave();
    this.parts.notices.stop();
  }
}

/**
 * Creates the sweeper, which once a minute removes expired entries: answers
 * stored for repeated requests, old activity, and histories of removed tasks that were too
 * long to be removed with them. One instance does it: two would find the same
 * rows.
 */
export function sweeper(
  { store, clock, logger, instances }: Pick<
    EngineParts,
    "store" | "clock" | "logger" | "instances"
  >,
): Periodic {
  return new Periodic({
    clock,
    intervalMs: SWEEP_EVERY_MS,
    run: async (signal) => {
      while (instances.holds("sweep") && !signal.aborted) {
        const removed = await store.sweep(clock.nowMs(), SWEEP_STEP);
        if (removed < SWEEP_STEP) break;
      }
    },
    onError: (error) => {
      logger.error("Cannot remove expired rows: the store failed", {
        error: String(error),
      });
    },
  });
}
