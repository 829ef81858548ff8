/**
 * Takes requests over from the store's inbox, soon after they were committed.
 *
 * Every instance looks, so that one which dies delays nothing. The inbox shows
 * the requests of a tenant to one instance at a time, and the commit that makes
 * the task removes the request: whatever happens in between, it is taken over
 * once.
 *
 * @module
 */

import { type Clock, steadyClock, type Timer } from "../../../shared/clock.ts";
import type { FairTurns } from "../../../shared/fair_turns.ts";
import { RateLimitedLog } from "../../../shared/logger.ts";
import { Periodic } from "../../../shared/periodic.ts";
import { describeError } from "../../../shared/settled.ts";
import { StoreFailedError } from "../../../shared/store_failed.ts";
import { REGISTRY } from "../../engine/repositories.ts";
import { problemText } from "../../http/answer.ts";
import { suspended } from "../../http/locate.ts";
import {
  type ProblemAnswer,
  problemOfError,
} from "../../http/problem_answer.ts";
import type { Inbox, InboxLook, InboxRequest } from "../../store/inbox.ts";
import { StoreBusyError } from "../../store/store.ts";
import type { MakingParts, TaskMaker } from "./create_task.ts";
import { createEnqueued, type EnqueuedOutcome } from "./enqueued_tasks.ts";

/** Options of {@linkcode InboxWorker}. */
export interface InboxWorkerOptions {
  /** Creates the tasks. */
  readonly parts: MakingParts;
  /** The inbox. */
  readonly inbox: Inbox;
  /** Shares the time of the thread out among tenants. */
  readonly turns: Pick<FairTurns, "begin">;
  /**
   * Called with the outcome of a request, once that is written.
   *
   * @default {() => {}}
   */
  readonly onEnded?: (outcome: "created" | "found" | "refused") => void;
}

/**
 * Milliseconds between two looks while some role may enqueue: soon after a
 * request, and later. A look and the sleep before it took 1.5 ms of the
 * processor's time where nothing else was to do, mostly in the runtime.
 */
const LOOK_MS = 20;
const IDLE_LOOK_MS = 40;
/** For how long after a request the next one is expected, in milliseconds. */
const BUSY_MS = 10_000;
/** Milliseconds between two looks while no role may. */
const CLOSED_LOOK_MS = 2_000;
/** The wait after the store failed, in milliseconds. */
const FAILED_MS = 200;
/** How long a request is set aside at first, and at most; it doubles. */
const ASIDE_MS = 1_000;
const MAX_ASIDE_MS = 60_000;
/** The most requests that are set aside. */
const MAX_ASIDE = 10_000;

/** A request that cannot be taken over for now. */
interface Aside {
  readonly untilMs: number;
  readonly tries: number;
}

/** The result of the last look that succeeded. */
interface LastLook extends Omit<InboxLook, "shown"> {
  readonly atMs: number;
}

/** Takes requests over. */
export class InboxWorker {
  readonly #options: InboxWorkerOptions;
  readonly #clock: Clock;
  readonly #log: RateLimitedLog;
  readonly #periodic: Periodic;
  readonly #aside = new Map<number, Aside>();
  #timer: Timer | undefined;
  #busyUntilMs = -Infinity;
  #last: LastLook;
  #isStopped = false;

  /** Creates the worker without starting it. */
  constructor(options: InboxWorkerOptions) {
    this.#options = options;
    const { clock, logger } = options.parts.engine.parts;
    this.#clock = steadyClock(clock);
    this.#last = { isOpen: true, waitedMs: 0, atMs: this.#clock.nowMs() };
    this.#log = new RateLimitedLog(logger, clock);
    this.#periodic = new Periodic({
      clock,
      run: () => this.#run(),
      onError: (error) =>
        this.#log.warn("Cannot take requests over from the inbox", {
          error: describeError(error),
        }),
    });
  }

  /** How many requests cannot be taken over for now, as far as is known. */
  get aside(): number {
    return this.#aside.size;
  }

  /**
   * For how many milliseconds the oldest request may have been waiting: as long
   * as the last look has found, or as no look has succeeded.
   */
  get waitedMs(): number {
    const { isOpen, waitedMs, atMs } = this.#last;
    return isOpen || waitedMs > 0
      ? Math.max(waitedMs, this.#clock.nowMs() - atMs)
      : 0;
  }

  /** Starts to look. */
  start(): void {
    this.#periodic.start();
    this.#periodic.wake();
  }

  /** Stops after the requests that are being taken over. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#timer?.cancel();
    await this.#periodic.stop();
  }

  /**
   * Looks once and takes over what is found.
   *
   * @returns what was found, and how many requests were removed
   * @throws {Error} when the store fails; the rest waits for the next look
   */
  async runOnce(): Promise<
    Omit<InboxLook, "waitedMs"> & { readonly taken: number }
  > {
    const nowMs = this.#clock.nowMs();
    const except = new Set<number>();
    for (const [number, { untilMs }] of this.#aside) {
      if (untilMs > nowMs) except.add(number);
      // Another instance has taken it over meanwhile, or will.
      else if (nowMs - untilMs > MAX_ASIDE_MS) this.#aside.delete(number);
    }
    let taken = 0;
    const { isOpen, shown, waitedMs } = await this.#options.inbox.take(
      async (requests) => {
        const tenants = Map.groupBy(requests, ({ tenantId }) => tenantId);
        const ended = await Promise.allSettled(
          [...tenants].map(async ([tenantId, some]) => {
            const count = await this.#takeOf(tenantId, some);
            // Added after the wait, as the others add meanwhile.
            taken += count;
          }),
        );
        for (const one of ended) {
          if (one.status === "rejected") throw one.reason;
        }
      },
      except,
    );
    this.#last = { isOpen, waitedMs, atMs: this.#clock.nowMs() };
    return { isOpen, shown, taken };
  }

  async #run(): Promise<void> {
    let nextMs = FAILED_MS;
    try {
      if (this.#options.parts.engine.parts.instances.isFenced) return;
      const { isOpen, shown, taken } = await this.runOnce();
      const nowMs = this.#clock.nowMs();
      if (shown > 0) this.#busyUntilMs = nowMs + BUSY_MS;
      const isBusy = nowMs < this.#busyUntilMs;
      nextMs = taken > 0
        ? 0
        : isBusy
        ? LOOK_MS
        : isOpen
        ? IDLE_LOOK_MS
        : CLOSED_LOOK_MS;
    } finally {
      if (!this.#isStopped) {
        this.#timer = this.#clock.setTimer(() => this.#periodic.wake(), nextMs);
      }
    }
  }

  /** Takes over requests of a tenant; returns how many were removed. */
  async #takeOf(
    tenantId: string,
    requests: readonly InboxRequest[],
  ): Promise<number> {
    const { parts: { engine }, turns } = this.#options;
    const { repositories, findLimits } = engine.parts;
    const tenant = await repositories.tenants.get(REGISTRY, tenantId);
    if (tenant === undefined || tenant.status === "closing") {
      // Of a transaction that was open while the tenant was erased.
      return await this.#options.inbox.erase(tenantId);
    }
    if (tenant.status !== "active") {
      const problem = suspended(tenant);
      return await this.#settle(
        requests,
        requests.map(() => ({ kind: "refused", problem })),
      );
    }
    const begun = await turns.begin(tenantId);
    if (begun.kind !== "ok") return 0;
    const limits = await findLimits(tenantId);
    const common = { tenant, limits, pausing: begun.turn, payloads: true };
    let taken = 0;
    // A commit is one actor's.
    for (const some of inRuns(requests)) {
      taken += await this.#make(some, { ...common, onGone: () => () => {} });
    }
    return taken;
  }

  /**
   * Creates the tasks of requests in one commit. Those that are left are tried
   * again alone, and one that is left even so is set aside: it holds up no other.
   */
  async #make(
    requests: readonly InboxRequest[],
    common: Omit<TaskMaker, "actor" | "requestId">,
  ): Promise<number> {
    const [first] = requests;
    if (first === undefined) return 0;
    const isAlone = requests.length === 1;
    let outcomes: readonly EnqueuedOutcome[];
    try {
      outcomes = await createEnqueued(this.#options.parts, {
        ...common,
        actor: { type: "role", id: first.role },
        requestId: requestIdOf(first),
      }, requests);
    } catch (error) {
      outcomes = isAlone
        ? [await this.#judge(first, error)]
        : requests.map(() => ({ kind: "left" }));
    }
    let taken = await this.#settle(requests, outcomes);
    for (const [index, request] of requests.entries()) {
      if (outcomes[index]?.kind !== "left") continue;
      if (isAlone) this.#setAside(request);
      else taken += await this.#make([request], common);
    }
    return taken;
  }

  /**
   * Decides about a request that could not be written even alone.
   *
   * @throws {Error} when it is the store's fault, not the request's
   */
  async #judge(
    request: InboxRequest,
    error: unknown,
  ): Promise<EnqueuedOutcome> {
    const { store, logger } = this.#options.parts.engine.parts;
    if (error instanceof StoreBusyError) throw error;
    if (error instanceof StoreFailedError) {
      await store.check();
      this.#log.warn("Cannot take over a request of the inbox for now", {
        request: requestIdOf(request),
        error: error.message,
      });
      return { kind: "left" };
    }
    const requestId = requestIdOf(request);
    const problem = problemOfError(error, { requestId, logger });
    return { kind: "refused", problem };
  }

  /** Keeps why requests are refused; returns how many requests are gone. */
  async #settle(
    requests: readonly InboxRequest[],
    outcomes: readonly EnqueuedOutcome[],
  ): Promise<number> {
    const { inbox, onEnded = () => {} } = this.#options;
    const refusals: { number: number; problem: string }[] = [];
    let taken = 0;
    for (const [index, request] of requests.entries()) {
      const outcome = outcomes[index];
      if (outcome === undefined || outcome.kind === "left") continue;
      this.#aside.delete(request.number);
      if (outcome.kind === "refused") {
        refusals.push(toRefusal(request, outcome.problem));
      } else {
        taken++;
        onEnded(outcome.kind);
      }
    }
    if (refusals.length === 0) return taken;
    const refused = await inbox.refuse(refusals);
    for (let count = 0; count < refused; count++) onEnded("refused");
    return taken + refused;
  }

  #setAside({ number }: InboxRequest): void {
    const tries = (this.#aside.get(number)?.tries ?? 0) + 1;
    const ms = Math.min(ASIDE_MS * 2 ** (tries - 1), MAX_ASIDE_MS);
    this.#aside.delete(number);
    this.#aside.set(number, { untilMs: this.#clock.nowMs() + ms, tries });
    if (this.#aside.size <= MAX_ASIDE) return;
    const [oldest] = this.#aside.keys();
    if (oldest !== undefined) this.#aside.delete(oldest);
  }
}

/** The id by which the log and problems name a request. */
function requestIdOf({ number }: InboxRequest): string {
  return `enqueue_${number}`;
}

function toRefusal(
  request: InboxRequest,
  problem: ProblemAnswer,
): { readonly number: number; readonly problem: string } {
  const requestId = requestIdOf(request);
  return {
    number: request.number,
    problem: problemText(problem, { requestId }),
  };
}

/** Requests in their order, split where another role has sent them. */
function inRuns(
  requests: readonly InboxRequest[],
): readonly (readonly InboxRequest[])[] {
  const runs: InboxRequest[][] = [];
  for (const request of requests) {
    const last = runs.at(-1);
    if (last?.[0]?.role === request.role) last.push(request);
    else runs.push([request]);
  }
  return runs;
}
