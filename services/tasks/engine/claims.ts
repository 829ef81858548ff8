/**
 * Hands out tasks to the workers that wait for them. Each worker has one round
 * at a time, for all its waiters of that moment: the round claims candidates of
 * the store, which starts them in one commit, and hands them out. So claims of
 * one instance never compete for a task, the store keeps those of others apart,
 * and waiters that arrive during a round share the next one.
 *
 * @module
 */

import { Periodic } from "../../shared/periodic.ts";
import {
  type PlanLimits,
  SYSTEM_ACTOR,
  type WorkerDefinition,
} from "../domain/records.ts";
import { StoreBusyError } from "../store/store.ts";
import type { WorkerName } from "../store/queries.ts";
import type { ClaimScope } from "../store/store.ts";
import type {
  Draft,
  EventOutcome,
  EventRequest,
  TaskChanges,
} from "./changes.ts";
import {
  assign,
  type Choice,
  choose,
  reauthorize,
  type Start,
  startRequest,
  UndeliveredTasks,
} from "./claim_round.ts";
import type { EngineParts } from "./parts.ts";
import type { UsageCounter } from "./plan_usage.ts";
import { RateWindows } from "./rate_window.ts";
import { isSharing, RoundRates, SharedGroups } from "./rates.ts";
import {
  type Grant,
  RoundBarrier,
  type RoundFailure,
  type Waiter,
} from "./waiter.ts";
import { workerKey } from "./workers.ts";

/**
 * How often waiters are checked, in milliseconds, even when no change was
 * noticed.
 */
const LOOK_AGAIN_MS = 1_000;
/**
 * The most tasks of one round, which is as many as one waiter may want. While a
 * round is written, nothing of the next one is computed, but workers that have
 * their tasks already work; so several rounds are better than a big one.
 */
const MAX_ROUND = 100;
/** Milliseconds until the next round when no proposed task could be started. */
const RETRY_PAUSE_MS = 50;
/** Milliseconds until the next round after a round that failed. */
const FAULT_PAUSE_MS = 1_000;
/** How long a worker's last served group is remembered, in milliseconds. */
const TURN_MEMORY_MS = 600_000;

interface ClaimsOptions {
  readonly parts: EngineParts;
  /**
   * Starts the tasks, and notifies of changes that may make tasks available.
   */
  readonly changes: TaskChanges;
  /** Counts the attempts that were started. */
  readonly usage: Pick<UsageCounter, "count">;
}

/** Hands out the tasks of all workers. */
export class Claims {
  readonly #options: ClaimsOptions;
  readonly #workers = new Map<string, WorkerClaims>();
  /** The groups that workers share, by tenant. */
  readonly #shared = new Map<string, SharedGroups>();
  readonly #lookingAgain: Periodic;
  #isClosed = false;

  /** Claims without waiters. */
  constructor(options: ClaimsOptions) {
    this.#options = options;
    this.#lookingAgain = new Periodic({
      clock: options.parts.clock,
      intervalMs: LOOK_AGAIN_MS,
      run: () => this.#lookAgain(),
      onError: (error) => {
        options.parts.logger.error("Cannot serve waiting workers", {
          error: String(error),
        });
      },
    });
    options.changes.onChange(({ previous, next, placement }) => {
      const task = next ?? previous;
      if (task === undefined || this.#workers.size === 0) return;
      const hasRoom = previous?.status === "running" &&
        next?.status !== "running";
      if (placement?.rank !== undefined || hasRoom) this.trigger(task);
      if (hasRoom && task.group !== "" && this.#shared.size > 0) {
        this.#shared.get(task.tenantId)
          ?.triggerOthers(this.#workers.get(workerKey(task)));
      }
    }, ["ready", "stopped"]);
    const { instances, notices } = options.parts;
    notices.on("due", (due) => {
      this.trigger(due);
      if (due.group === undefined) return;
      this.#shared.get(due.tenantId)
        ?.triggerOthers(this.#workers.get(workerKey(due)));
    });
    notices.on("gap", () => this.#lookAgain());
    instances.onChange((change) => {
      if (change.kind === "answered" && change.isBack) this.#lookAgain();
    });
  }

  /** Starts to check the waiters periodically. */
  start(): void {
    this.#lookingAgain.start();
  }

  /** Accepts no more waiters, and waits for the rounds that are running. */
  async stop(): Promise<void> {
    this.#isClosed = true;
    await this.#lookingAgain.stop();
    const workers = [...this.#workers.values()];
    await Promise.all(workers.map((worker) => worker.stop()));
  }

  /** Adds a waiter for tasks of a worker; false after the stop. */
  add(of: WorkerName, waiter: Waiter): boolean {
    if (this.#isClosed) return false;
    const key = workerKey(of);
    let worker = this.#workers.get(key);
    if (worker === undefined) {
      worker = new WorkerClaims(of, this.#options, this.#shared);
      this.#workers.set(key, worker);
    }
    worker.add(waiter);
    return true;
  }

  /** Removes a waiter; tasks that are being claimed for it are released. */
  remove(of: WorkerName, waiter: Waiter): void {
    this.#workers.get(workerKey(of))?.remove(waiter);
  }

  /** See {@linkcode RoundBarrier.afterCurrentRound}. */
  async afterCurrentRound(
    of: WorkerName,
    waiter: Waiter,
  ): Promise<RoundFailure | undefined> {
    return await this.#workers.get(workerKey(of))?.barrier
      .afterCurrentRound(waiter);
  }

  /** Starts a round for a worker, because its definition has changed. */
  trigger(of: WorkerName): void {
    this.#workers.get(workerKey(of))?.trigger();
  }

  #lookAgain(): void {
    for (const [key, worker] of this.#workers) {
      if (worker.isIdle) {
        worker.leaveShared();
        this.#workers.delete(key);
      } else worker.trigger();
    }
  }
}

/** Hands out the tasks of one worker. */
class WorkerClaims {
  readonly barrier = new RoundBarrier();
  readonly #of: WorkerName;
  readonly #options: ClaimsOptions;
  readonly #sharedByTenant: Map<string, SharedGroups>;
  readonly #waiters = new Set<Waiter>();
  readonly #windows: RateWindows;
  readonly #undelivered: UndeliveredTasks;
  readonly #rounds: Periodic;
  #lastGroup: string | undefined;
  #lastTurnAtMs = -Infinity;

  constructor(
    of: WorkerName,
    options: ClaimsOptions,
    sharedByTenant: Map<string, SharedGroups>,
  ) {
    const { tenantId, workerId } = of;
    this.#of = { tenantId, workerId };
    this.#windows = new RateWindows(of);
    this.#options = options;
    this.#sharedByTenant = sharedByTenant;
    const { changes, parts: { clock, logger } } = options;
    this.#undelivered = new UndeliveredTasks(changes, logger);
    this.#rounds = new Periodic({
      clock,
      run: async () => {
        if (!this.#hasWork) return;
        await this.barrier.run(this.#waiters, () => this.#round());
      },
      retry: { firstMs: FAULT_PAUSE_MS, maxMs: FAULT_PAUSE_MS },
      onError: (error) => {
        logger.error("Cannot hand out tasks: the store failed", {
          worker: workerId,
          error: String(error),
        });
      },
    });
    this.#rounds.start();
  }

  get #hasWork(): boolean {
    return this.#waiters.size > 0 || this.#undelivered.hasUncertain;
  }

  /** Whether the worker's state can be evicted. */
  get isIdle(): boolean {
    const nowMs = this.#options.parts.clock.nowMs();
    return !this.#hasWork && !this.#rounds.isRunning &&
      nowMs - this.#lastTurnAtMs > TURN_MEMORY_MS;
  }

  /** Removes all waiters, and waits for the current round and its releases. */
  async stop(): Promise<void> {
    for (const waiter of [...this.#waiters]) this.remove(waiter);
    await this.#rounds.stop();
    await this.#undelivered.settled();
  }

  add(waiter: Waiter): void {
    this.#waiters.add(waiter);
    this.barrier.add(waiter);
    this.trigger();
  }

  remove(waiter: Waiter): void {
    this.#waiters.delete(waiter);
    this.barrier.remove(waiter);
  }

  /** Shares the limits of groups no longer. */
  leaveShared(): void {
    const { tenantId } = this.#of;
    const shared = this.#sharedByTenant.get(tenantId);
    shared?.leave(this);
    if (shared?.isEmpty === true) this.#sharedByTenant.delete(tenantId);
  }

  /** The groups whose limits the worker shares, if it does. */
  async #shares(worker: WorkerDefinition): Promise<SharedGroups | undefined> {
    if (!isSharing(worker)) {
      if (this.#sharedByTenant.size > 0) this.leaveShared();
      return undefined;
    }
    const { tenantId } = this.#of;
    let shared = this.#sharedByTenant.get(tenantId);
    if (shared === undefined) {
      const { clock, repositories } = this.#options.parts;
      const repository = repositories.workers;
      shared = new SharedGroups({ tenantId, repository, clock });
      this.#sharedByTenant.set(tenantId, shared);
    }
    await shared.join(this, worker);
    return shared;
  }

  /**
   * Starts a round if there are waiters, because something has changed. Uncertain
   * starts need none: the round that left them is tried again by itself.
   */
  trigger(): void {
    if (this.#waiters.size > 0) this.#rounds.wake();
  }

  /** Runs one round; returns the waiters that it did not consider. */
  async #round(): Promise<ReadonlySet<Waiter>> {
    await this.#undelivered.releaseUncertain();
    const worker = await this.#servedWorker();
    if (worker === undefined) return new Set();
    const shared = await this.#shares(worker);
    if (shared === undefined) return await this.#serve(worker);
    return await shared.inTurn(async () => {
      // It may have been paused while it waited for its turn.
      const now = await this.#servedWorker();
      return now === undefined ? new Set() : await this.#serve(now, shared);
    });
  }

  /** The worker; undefined when it is given nothing now. */
  async #servedWorker(): Promise<WorkerDefinition | undefined> {
    const { parts } = this.#options;
    const { tenantId, workerId } = this.#of;
    if (parts.instances.isFenced && !await parts.instances.mayAct()) {
      return undefined;
    }
    const worker = await parts.workers.get(tenantId, workerId);
    return worker?.isPaused === false && await parts.isServed(tenantId)
      ? worker
      : undefined;
  }

  async #serve(
    worker: WorkerDefinition,
    shared?: SharedGroups,
  ): Promise<ReadonlySet<Waiter>> {
    const { parts, changes } = this.#options;
    const rates = new RoundRates({
      ...{ worker, own: this.#windows, shared, clock: parts.clock },
    });
    // Another server may lack what was read of the one before.
    if (!parts.store.mayEndLeases()) rates.forget();
    let choice: Choice = { proposals: [], isCut: false };
    let starts: readonly Start[] = [];
    let draft: Draft | undefined;
    let outcomes: readonly EventOutcome[] = [];
    try {
      const scope = claimScope(worker, {
        plan: await parts.findLimits(this.#of.tenantId),
        sharesGroups: shared !== undefined,
      });
      const results = await parts.store.claim(scope, async (view) => {
        choice = await choose(worker, {
          waiters: this.#waiters,
          maxTasks: MAX_ROUND,
          afterGroup: this.#lastGroup,
          rates,
          sharesGroups: shared !== undefined,
          view,
          parts,
        });
        // It may ask the store, while the claim keeps others from the tasks: who
        // gets some is known only now, and their credentials are mostly cached.
        await reauthorize(
          choice.proposals,
          (waiter) => !this.barrier.isNew(waiter),
        );
        starts = assign(choice.proposals);
        draft = await changes.draft(
          starts.map((start) => startRequest(start, { worker, rates, parts })),
        );
        return draft.transactions;
      });
      outcomes = draft?.settle(results) ?? [];
    } catch (error) {
      // Without a draft nothing was written.
      if (draft !== undefined && !(error instanceof StoreBusyError)) {
        this.#undelivered.noteUncertain(starts);
      }
      throw error;
    } finally {
      draft?.release();
      for (const [index, { waiter }] of starts.entries()) {
        if (outcomes[index]?.kind !== "changed") waiter.release?.(1);
      }
    }
    if (choice.retryAtMs !== undefined) {
      this.#rounds.wakeIn(choice.retryAtMs - rates.nowMs);
    }
    if (choice.isCut) this.#rounds.wakeIn(RETRY_PAUSE_MS);
    const proposed = choice.proposals.reduce(
      (sum, { tasks }) => sum + tasks.length,
      0,
    );
    // A full round may have left tasks for those who still wait.
    const isFull = proposed === MAX_ROUND;
    if (isFull) this.#rounds.wake();
    const passedOver = new Set(isFull ? this.#waiters : []);
    for (const { waiter } of starts) passedOver.delete(waiter);
    if (starts.length > 0) {
      this.#handOut(starts, outcomes);
      await this.#wakeRefused(outcomes);
    }
    return passedOver;
  }

  /**
   * Wakes refused tasks: a task that is due and cannot be started dates from
   * before the clock was set back. It would be proposed again and again, and
   * keep other tasks from being proposed.
   */
  async #wakeRefused(outcomes: readonly EventOutcome[]): Promise<void> {
    const refused = outcomes.flatMap((outcome): EventRequest[] =>
      outcome.kind !== "refused" ? [] : [{
        tenantId: outcome.task.tenantId,
        id: outcome.task.id,
        event: { kind: "wake" },
        actor: SYSTEM_ACTOR,
      }]
    );
    const woken = await this.#options.changes.applyAll(refused);
    if (woken.some(({ kind }) => kind === "changed")) this.#rounds.wake();
  }

  #handOut(
    starts: readonly Start[],
    outcomes: readonly EventOutcome[],
  ): void {
    const { parts: { clock }, usage } = this.#options;
    const grants = new Map<Waiter, Grant[]>();
    let started = 0;
    for (const [index, { waiter, token }] of starts.entries()) {
      const outcome = outcomes[index];
      if (outcome?.kind !== "changed") continue;
      const { task, previous } = outcome;
      started++;
      this.#lastGroup = task.group;
      this.#lastTurnAtMs = clock.nowMs();
      const mine = grants.get(waiter);
      if (mine === undefined) grants.set(waiter, [{ task, token, previous }]);
      else mine.push({ task, token, previous });
    }
    if (started > 0) usage.count(this.#of.tenantId, started);
    // Tasks that could not be started leave others to be found, but the next
    // round pauses first when no task could be started.
    if (started === 0) this.#rounds.wakeIn(RETRY_PAUSE_MS);
    else if (started < starts.length) this.#rounds.wake();
    for (const [waiter, mine] of grants) {
      if (!waiter.isPush) this.#waiters.delete(waiter);
      if (!waiter.take(mine)) this.#undelivered.release(mine);
      else if (waiter.isPush && waiter.max() > 0) this.#rounds.wake();
    }
  }
}

/**
 * What a claim keeps other instances from: nothing where no limit is set, so
 * that several may claim a worker's tasks at once.
 */
function claimScope(
  { tenantId, id: workerId, concurrency, limits }: WorkerDefinition,
  { plan, sharesGroups }: {
    readonly plan: PlanLimits;
    readonly sharesGroups: boolean;
  },
): ClaimScope {
  if (sharesGroups) return { tenantId, workerId, limits: "tenant" };
  const isLimited = concurrency > 0 || (plan.concurrency ?? 0) > 0 ||
    limits?.groupConcurrency !== undefined || limits?.rate !== undefined;
  return { tenantId, workerId, limits: isLimited ? "worker" : "none" };
}
