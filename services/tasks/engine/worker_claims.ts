/**
 * The claims of one worker. One round runs at a time, for all who want tasks
 * then: it asks the store for candidates, starts them in one commit and hands
 * them out. So claims of one server never fight over a task, and what arrives
 * during a round shares the next one.
 *
 * @module
 */

import type { Timer } from "../../shared/clock.ts";
import { SYSTEM_ACTOR, type WorkerDefinition } from "../domain/records.ts";
import { StoreBusyError } from "../store/store.ts";
import type { EventOutcome, EventRequest, TaskChanges } from "./changes.ts";
import type { Demand, Grant } from "./claim_demand.ts";
import { ClaimReturns } from "./claim_returns.ts";
import { askAgain, deal, type Start, startRequest } from "./claim_starts.ts";
import { choose } from "./claim_choice.ts";
import { ClaimSight, type RoundFailure } from "./claim_sight.ts";
import type { EngineParts } from "./parts.ts";
import { WorkerRates } from "./worker_rates.ts";

/**
 * Most tasks of one round, as many as one demand may want. While a round is
 * written nothing of the next one is computed, but those who have their tasks
 * go on; so several are better than one.
 */
const MAX_ROUND = 100;
/** How long a round waits when nothing that was proposed could be started. */
const RETRY_PAUSE_MS = 50;
/** How long a round that failed waits before the next one. */
const FAULT_PAUSE_MS = 1_000;
/** How long it is remembered which group had its turn last. */
const TURN_MEMORY_MS = 600_000;

/** Options of {@linkcode WorkerClaims}. */
export interface WorkerClaimsOptions {
  /** The tenant. */
  readonly tenantId: string;
  /** The worker's id. */
  readonly workerId: string;
  /** The engine's parts. */
  readonly parts: EngineParts;
  /** Starts the tasks. */
  readonly changes: TaskChanges;
  /** Counts the attempts that were started. */
  readonly count: (tenantId: string, executions: number) => void;
}

/** Hands out the tasks of one worker. */
export class WorkerClaims {
  readonly #options: WorkerClaimsOptions;
  readonly #demands = new Set<Demand>();
  readonly #rates = new WorkerRates();
  readonly #sight = new ClaimSight();
  readonly #returns: ClaimReturns;
  #isRunning = false;
  #isAskedAgain = false;
  #isClosed = false;
  #lastGroup: string | undefined;
  #lastTurnAtMs = -Infinity;
  #timer: Timer | undefined;
  #idle = Promise.withResolvers<void>();

  /** Claims without demands. */
  constructor(options: WorkerClaimsOptions) {
    this.#options = options;
    const { changes, parts } = options;
    this.#returns = new ClaimReturns({ changes, logger: parts.logger });
    this.#idle.resolve();
  }

  /** Whether it can be forgotten. */
  get isIdle(): boolean {
    const nowMs = this.#options.parts.clock.nowMs();
    return this.#demands.size === 0 && !this.#returns.hasUnanswered &&
      !this.#isRunning &&
      nowMs - this.#lastTurnAtMs > TURN_MEMORY_MS && this.#rates.isIdle(nowMs);
  }

  /** Whether somebody wants tasks. */
  get hasDemands(): boolean {
    return this.#demands.size > 0;
  }

  /** Waits until no round runs and what it left over is given back. */
  async settled(): Promise<void> {
    await this.#idle.promise;
    await this.#returns.settled();
  }

  /** Adds a demand and looks for tasks at once. */
  add(demand: Demand): void {
    this.#demands.add(demand);
    this.#sight.add(demand);
    this.trigger();
  }

  /** Withdraws a demand; what is being claimed for it is given back. */
  remove(demand: Demand): void {
    this.#demands.delete(demand);
    this.#sight.drop(demand);
  }

  /**
   * Waits until a demand has been seen by a round, and by the one that runs;
   * answers with why the last one failed, if it did.
   */
  lastLook(demand: Demand): Promise<RoundFailure | undefined> {
    return this.#sight.lastLook(demand);
  }

  /** When a task of a group may start; undefined when no rate holds it back. */
  nextSlotMs(worker: WorkerDefinition, group: string): number | undefined {
    const nowMs = this.#options.parts.clock.nowMs();
    const atMs = Math.max(
      this.#rates.nextAtMs(worker, nowMs),
      // Tasks without a group share nothing.
      group === "" ? nowMs : this.#rates.groupNextAtMs(worker, {
        group,
        nowMs,
      }),
    );
    return atMs > nowMs ? atMs : undefined;
  }

  /** Looks for tasks, as something has changed. */
  trigger(): void {
    if (this.#demands.size === 0 && !this.#returns.hasUnanswered) return;
    if (this.#isRunning) {
      this.#isAskedAgain = true;
      return;
    }
    this.#isRunning = true;
    this.#idle = Promise.withResolvers();
    void this.#rounds();
  }

  /** Forgets all demands and ends the waiting for a rate limit. */
  close(): void {
    this.#isClosed = true;
    for (const demand of [...this.#demands]) this.remove(demand);
    this.#timer?.cancel();
  }

  async #rounds(): Promise<void> {
    try {
      do {
        this.#isAskedAgain = false;
        await this.#sight.during(this.#demands, () => this.#round());
      } while (this.#isAskedAgain && this.#demands.size > 0);
    } catch (error) {
      const { logger } = this.#options.parts;
      logger.error("Cannot hand out tasks: the store failed", {
        worker: this.#options.workerId,
        error: String(error),
      });
      this.#triggerIn(FAULT_PAUSE_MS);
    } finally {
      this.#isRunning = false;
      this.#idle.resolve();
    }
  }

  /** Answers with the demands that it did not come to. */
  async #round(): Promise<ReadonlySet<Demand>> {
    const { tenantId, workerId, parts } = this.#options;
    await this.#returns.settleUnanswered();
    const worker = await parts.workers.get(tenantId, workerId);
    if (worker === undefined || worker.isPaused) return new Set();
    if (!await parts.isServed(tenantId)) return new Set();
    const { proposals, retryAtMs } = await choose(worker, {
      demands: this.#demands,
      maxTasks: MAX_ROUND,
      afterGroup: this.#lastGroup,
      rates: this.#rates,
      parts,
    });
    if (retryAtMs !== undefined) {
      this.#triggerIn(retryAtMs - parts.clock.nowMs());
    }
    await askAgain(proposals, (demand) => !this.#sight.isNew(demand));
    const starts = deal(proposals);
    const proposed = proposals.reduce(
      (sum, { tasks }) => sum + tasks.length,
      0,
    );
    // There may be more for those who are still waiting.
    const isFull = proposed === MAX_ROUND;
    if (isFull) this.#isAskedAgain = true;
    const passedOver = new Set(isFull ? this.#demands : []);
    for (const { demand } of starts) passedOver.delete(demand);
    if (starts.length > 0) await this.#start(starts, worker);
    return passedOver;
  }

  async #start(
    starts: readonly Start[],
    worker: WorkerDefinition,
  ): Promise<void> {
    const { parts, changes } = this.#options;
    let outcomes: readonly EventOutcome[] = [];
    try {
      outcomes = await changes.applyAll(
        starts.map((start) => startRequest(start, { worker, parts })),
      );
    } catch (error) {
      if (!(error instanceof StoreBusyError)) {
        this.#returns.noteUnanswered(starts);
      }
      throw error;
    } finally {
      for (const [index, { demand }] of starts.entries()) {
        if (outcomes[index]?.kind !== "changed") demand.letGo?.(1);
      }
    }
    this.#handOut(starts, outcomes);
    await this.#wake(outcomes);
  }

  /**
   * A task that may be taken and cannot be started is one from before the clock
   * was set back. It would be proposed again and again, and keep others from it.
   */
  async #wake(outcomes: readonly EventOutcome[]): Promise<void> {
    const refused = outcomes.flatMap((outcome): EventRequest[] =>
      outcome.kind !== "refused" ? [] : [{
        tenantId: outcome.task.tenantId,
        id: outcome.task.id,
        event: { kind: "wake" },
        actor: SYSTEM_ACTOR,
      }]
    );
    const woken = await this.#options.changes.applyAll(refused);
    if (woken.some(({ kind }) => kind === "changed")) this.#isAskedAgain = true;
  }

  #handOut(
    starts: readonly Start[],
    outcomes: readonly EventOutcome[],
  ): void {
    const { tenantId, parts, count } = this.#options;
    const grants = new Map<Demand, Grant[]>();
    let started = 0;
    for (const [index, { demand, token }] of starts.entries()) {
      const outcome = outcomes[index];
      if (outcome?.kind !== "changed") continue;
      const { task, previous } = outcome;
      started++;
      this.#lastGroup = task.group;
      this.#lastTurnAtMs = parts.clock.nowMs();
      this.#rates.add(task.group, parts.clock.nowMs());
      const mine = grants.get(demand);
      if (mine === undefined) grants.set(demand, [{ task, token, previous }]);
      else mine.push({ task, token, previous });
    }
    if (started > 0) count(tenantId, started);
    // What was proposed and could not be started leaves others to be found, but
    // without haste when it is all that is proposed.
    if (started === 0) this.#triggerIn(RETRY_PAUSE_MS);
    else if (started < starts.length) this.#isAskedAgain = true;
    for (const [demand, mine] of grants) {
      if (!demand.isLasting) this.#demands.delete(demand);
      if (!demand.take(mine)) this.#returns.giveBack(mine);
      else if (demand.isLasting && demand.max() > 0) this.#isAskedAgain = true;
    }
  }

  #triggerIn(delayMs: number): void {
    this.#timer?.cancel();
    if (this.#isClosed) return;
    this.#timer = this.#options.parts.clock.setTimer(
      () => this.trigger(),
      delayMs,
    );
  }
}
