/**
 * The ledger of a simulation: it sees every write that was applied, and checks
 * after each what must always hold.
 *
 * @module
 */

import {
  type HistoryDraft,
  type HistoryType,
  parseDraft,
} from "../../domain/history.ts";
import { isBlocked } from "../../domain/dependency_rules.ts";
import { findOccurrence, parseTiming } from "../../domain/schedule.ts";
import { isFinal, type Task } from "../../domain/task.ts";
import { CallLedger } from "./call_ledger.ts";
import { WaitLedger } from "./wait_ledger.ts";
import type { Calendar } from "../repositories.ts";
import type { WorkerDefinition } from "../../domain/records.ts";
import type {
  Transaction,
  TransactionResult,
  Write,
} from "../../store/store.ts";

/** How many tasks are running, by worker, and by worker and group. */
type RunningCounts = Map<string, number>;

/** A change that was written. */
interface Change {
  readonly next: Task;
  readonly drafts: readonly HistoryDraft[];
}

/**
 * How many milliseconds after a change of a calendar a write may still follow
 * the one before, since it was decided before the change and waited.
 */
const CALENDAR_LAG_MS = 20_000;

/** A calendar, and the one that it replaced. */
interface KnownCalendar {
  readonly now: Calendar;
  readonly before: Calendar | undefined;
  /** When it was replaced, by the clock of the machine. */
  readonly sinceMs: number;
}

/** History records after which a schedule's slots may occur again. */
const REDATES: readonly HistoryType[] = ["updated", "moved", "requeued"];

/** Records and checks the applied writes. */
export class SimulationLedger {
  /** The broken promises found so far. */
  readonly violations: string[] = [];
  /** All tasks as they were last written. */
  readonly tasks = new Map<string, Task>();
  /** Tasks that were removed. */
  readonly removed = new Set<string>();
  /** Tasks that the owner removes or has removed. */
  readonly ownerRemovals = new Set<string>();
  /** Attempts that were canceled while they ran. */
  readonly canceledAttempts = new Set<string>();
  /** How many attempts were started. */
  starts = 0;
  /** How many writes were applied. */
  writes = 0;
  readonly #workers: ReadonlyMap<string, WorkerDefinition>;
  readonly #running: RunningCounts = new Map();
  readonly #succeeded = new Set<string>();
  readonly #completedRuns = new Set<string>();
  readonly #settled = new Set<string>();
  /** When a task took another one as dependency, by the ids of both. */
  readonly #dependsSince = new Map<string, number>();
  /** Slots that have created a task, by the id of the schedule. */
  readonly #slots = new Map<string, Set<number>>();
  /** Times of starts by worker, for the rate limits. */
  readonly #startsByWorker = new Map<string, number[]>();
  readonly #calls = new CallLedger((what) => this.broken(what));
  /** Checks what becomes of events. */
  readonly waits: WaitLedger = new WaitLedger((what) => this.broken(what));
  /** The calendars by name. */
  readonly #calendars = new Map<string, KnownCalendar>();
  readonly #elapsedMs: () => number;

  /**
   * Takes the workers whose limits are checked, and the milliseconds since the
   * start.
   */
  constructor(
    workers: readonly WorkerDefinition[],
    elapsedMs: () => number = () => 0,
  ) {
    this.#elapsedMs = elapsedMs;
    this.#workers = new Map(workers.map((worker) => [worker.id, worker]));
  }

  /** Checks a commit that was applied. */
  applied(
    transactions: readonly Transaction[],
    options: {
      readonly results: readonly TransactionResult[];
      /** Whether slots and times of removals are checked, too. */
      readonly isCalm: boolean;
      /**
       * Whether the times of starts are right, so that rates can be checked.
       *
       * @default as `isCalm`
       */
      readonly isOnTime?: boolean;
      /** The present, in milliseconds since the epoch. */
      readonly nowMs: number;
    },
  ): void {
    for (const [index, { writes }] of transactions.entries()) {
      if (options.results[index]?.kind !== "ok") continue;
      for (const write of writes) {
        this.writes++;
        if (write.kind === "task") this.#written(write, options);
        if (write.kind === "record" && write.recordKind === "calendar") {
          this.#replaced(write);
        }
      }
      for (const write of writes) {
        if (write.kind === "task") this.#checkLinks(write.next);
      }
    }
  }

  /** Checks that the dependencies of a task are there, or were once. */
  #checkLinks(next: Task | undefined): void {
    for (const id of next?.dependencies ?? []) {
      if (this.tasks.has(id) || this.removed.has(id)) continue;
      this.broken(`${next?.id} depends on ${id}, which never was`);
    }
  }

  /** Records a broken promise. */
  broken(what: string): void {
    this.violations.push(what);
  }

  #written(
    write: Extract<Write, { readonly kind: "task" }>,
    { isCalm, isOnTime = isCalm, nowMs }: {
      readonly isCalm: boolean;
      readonly isOnTime?: boolean;
      readonly nowMs: number;
    },
  ): void {
    const { id, next, history } = write;
    const previous = this.tasks.get(id);
    if (next === undefined) {
      if (previous !== undefined) this.#checkRemoval(previous, isCalm && nowMs);
      this.tasks.delete(id);
      this.removed.add(id);
      this.#settled.add(id);
      return;
    }
    const drafts = history.map(parseDraft);
    this.#checkShape(previous, { next, drafts });
    this.tasks.set(id, next);
    if (next.lastOutcome === "succeeded" || isSuccess(next)) {
      this.#succeeded.add(id);
    }
    if (isFinal(next.status) || next.status === "done") this.#settled.add(id);
    this.#checkDependencies(previous, { next, drafts });
    this.#calls.check(previous, next);
    this.waits.check(previous, next);
    for (const draft of drafts) this.#checkDraft(next, draft);
    if (next.settled?.outcome === "canceled") {
      this.canceledAttempts.add(next.settled.id);
    }
    if (next.status === "running" && previous?.status !== "running") {
      this.#started(previous, next, isOnTime);
    } else if (next.status !== "running" && previous?.status === "running") {
      this.#ended(previous);
    }
    if (isCalm) this.#checkSlot(previous, { next, drafts });
    this.#checkClosed(previous, next);
    this.#checkKept(previous, next);
    for (const dependency of next.dependencies) {
      if (previous?.dependencies.includes(dependency) === true) continue;
      this.#dependsSince.set(`${id} ${dependency}`, next.updatedAtMs);
    }
  }

  /** Checks that a task that ends is kept as long as it, or its worker, says. */
  #checkKept(previous: Task | undefined, next: Task): void {
    const { id, status, retain, workerId, finishedAtMs = 0, purgeAtMs } = next;
    // The end of its window decides about the next request with its key.
    const { calls } = next;
    const hasEnded = isFinal(status) &&
      (previous === undefined || !isFinal(previous.status));
    const worker = this.#workers.get(workerId);
    if (!hasEnded || worker === undefined) return;
    const key = status === "complete" ? "succeededMs" : "failedMs";
    const keptMs = retain?.[key] ?? worker.retain?.[key];
    const untilMs = keptMs === undefined ? undefined : Math.max(
      finishedAtMs + Math.max(keptMs, 60_000),
      calls?.kind === "throttle" ? calls.untilMs : 0,
    );
    if (purgeAtMs !== untilMs) {
      this.broken(`${id} is kept until ${purgeAtMs}, not ${untilMs}`);
    }
  }

  /**
   * Checks that a task that the owner does not remove has ended, long enough
   * ago, and that no task waits for it.
   */
  #checkRemoval(
    { id, status, purgeAtMs = Infinity }: Task,
    nowMs: number | false,
  ): void {
    if (this.ownerRemovals.has(id)) return;
    if (!isFinal(status)) this.broken(`${id} was removed while ${status}`);
    if (nowMs !== false && nowMs < purgeAtMs) {
      this.broken(`${id} was removed ${purgeAtMs - nowMs} ms early`);
    }
    // Those that failed count as failed for who waits, there or removed.
    if (status !== "complete") return;
    for (const other of this.tasks.values()) {
      if (!isBlocked(other) || !other.dependencies.includes(id)) continue;
      // Who refers to a task that is about to go may come too late.
      const sinceMs = this.#dependsSince.get(`${other.id} ${id}`) ?? Infinity;
      if (sinceMs >= purgeAtMs) continue;
      this.broken(`${id} was removed although ${other.id} waits for it`);
    }
  }

  #replaced({ id, next }: Extract<Write, { readonly kind: "record" }>): void {
    if (next === undefined) return;
    this.#calendars.set(id, {
      now: JSON.parse(next.text),
      before: this.#calendars.get(id)?.now,
      sinceMs: this.#elapsedMs(),
    });
  }

  /**
   * Checks that no task becomes due for a slot that its schedule leaves out, and
   * that none is made for one. A run by hand is for no slot.
   */
  #checkClosed(previous: Task | undefined, next: Task): void {
    const parent = this.tasks.get(next.parentId ?? "");
    if (previous === undefined && parent !== undefined) {
      this.#checkOpen(parent, next.firstDateMs);
    }
    const isNew = next.isDue && previous?.isDue !== true &&
      previous?.status !== "running" && next.firstTriedAtMs === undefined &&
      next.isRepetition !== false && next.held === undefined;
    // A task that was moved to before its slot runs for that slot.
    if (isNew && next.slotMs <= next.updatedAtMs) {
      this.#checkOpen(next, next.slotMs);
    }
  }

  #checkOpen(task: Task, slotMs: number): void {
    const { id, repeat, timezone, firstDateMs: anchorMs } = task;
    if (repeat === undefined || !isSlot(task, slotMs)) return;
    if (repeat.exclude?.includes(dateIn(timezone, slotMs))) {
      this.broken(
        `${id} runs on ${dateIn(timezone, slotMs)}, which is left out`,
      );
    }
    for (const name of repeat.calendars ?? []) {
      const known = this.#calendars.get(name);
      const isFresh = known !== undefined &&
        this.#elapsedMs() < known.sinceMs + CALENDAR_LAG_MS;
      if (known === undefined || !isIn(known.now, slotMs)) continue;
      if (
        isFresh && (known.before === undefined || !isIn(known.before, slotMs))
      ) continue;
      this.broken(
        `${id} of ${anchorMs} runs at ${slotMs}, which "${name}" closes`,
      );
    }
  }

  /**
   * Checks that a slot creates only one task, unless the owner has set the
   * schedule back.
   */
  #checkSlot(
    previous: Task | undefined,
    { next, drafts }: Change,
  ): void {
    const { id, parentId, firstDateMs } = next;
    if (drafts.some(({ type }) => REDATES.includes(type))) {
      this.#slots.delete(id);
    }
    if (previous !== undefined || parentId === undefined) return;
    const slots = this.#slots.get(parentId) ?? new Set();
    this.#slots.set(parentId, slots);
    if (slots.has(firstDateMs)) {
      this.broken(`slot ${firstDateMs} of ${parentId} made two tasks`);
    }
    slots.add(firstDateMs);
  }

  #checkShape(
    previous: Task | undefined,
    { next, drafts }: Change,
  ): void {
    const { id, version, status, attempt, historyCount } = next;
    const expected = (previous?.version ?? 0) + 1;
    if (version !== expected) {
      this.broken(`${id} has version ${version} after ${expected - 1}`);
    }
    if ((status === "running") !== (attempt !== undefined)) {
      this.broken(`${id} is ${status} and its attempt ${attempt?.id}`);
    }
    if (historyCount !== (previous?.historyCount ?? 0) + drafts.length) {
      this.broken(`${id} counts ${historyCount} records`);
    }
    const told = drafts.at(-1)?.status ?? previous?.status;
    if (told !== status) {
      this.broken(`${id} is ${status} and its history says ${told}`);
    }
  }

  #checkDependencies(
    previous: Task | undefined,
    { next, drafts }: Change,
  ): void {
    const isBorn = previous === undefined && next.parentId === undefined &&
      next.status !== "blocked" && next.pausedFrom !== "blocked" &&
      next.status !== "expired";
    const isFreed = drafts.some(({ type }) => type === "unblocked");
    if (!isBorn && !isFreed) return;
    const wanted = next.onDependencyFailure === "run"
      ? this.#settled
      : this.#succeeded;
    for (const id of next.dependencies) {
      if (wanted.has(id) || this.#succeeded.has(id)) continue;
      this.broken(`${next.id} goes on before its dependency ${id}`);
    }
  }

  #checkDraft(next: Task, { type, run }: HistoryDraft): void {
    if (type !== "succeeded") return;
    const name = `${next.id} run ${run}`;
    if (this.#completedRuns.has(name)) this.broken(`${name} completed twice`);
    this.#completedRuns.add(name);
  }

  #started(previous: Task | undefined, next: Task, isOnTime: boolean): void {
    const { id, workerId, group, attempt } = next;
    this.starts++;
    const startedAtMs = attempt?.startedAtMs ?? 0;
    if (previous === undefined || startedAtMs < previous.dateMs) {
      this.broken(`${id} was started before its date`);
    }
    if (startedAtMs >= (next.expiresAtMs ?? Infinity)) {
      this.broken(`${id} was started after its expiry`);
    }
    if (previous !== undefined && startedAtMs > latestStartMs(previous)) {
      this.broken(`${id} was started too late for its slot`);
    }
    const worker = this.#workers.get(workerId);
    if (worker === undefined) return;
    const all = this.#count(workerId, 1);
    if (worker.concurrency > 0 && all > worker.concurrency) {
      this.broken(`${worker.name} has ${all} tasks under way`);
    }
    const ofGroup = this.#count(`${workerId} ${group}`, 1);
    const bound = worker.limits?.groupConcurrency ?? Infinity;
    if (group !== "" && ofGroup > bound) {
      this.broken(`${worker.name} has ${ofGroup} under way of "${group}"`);
    }
    if (worker.limits?.groupScope === "tenant" && group !== "") {
      const shared = this.#count(` ${group}`, 1);
      if (shared > bound) {
        this.broken(`${shared} of "${group}" are under way, ${bound} may be`);
      }
    }
    if (isOnTime) this.#checkRate(worker, { group, startedAtMs });
  }

  #ended({ workerId, group }: Task): void {
    this.#count(workerId, -1);
    this.#count(`${workerId} ${group}`, -1);
    const scope = this.#workers.get(workerId)?.limits?.groupScope;
    if (scope === "tenant" && group !== "") this.#count(` ${group}`, -1);
  }

  #count(name: string, change: number): number {
    const count = (this.#running.get(name) ?? 0) + change;
    this.#running.set(name, count);
    return count;
  }

  #checkRate(
    worker: WorkerDefinition,
    start: { readonly group: string; readonly startedAtMs: number },
  ): void {
    const rate = worker.limits?.rate;
    if (rate === undefined || rate.per === "group" && start.group === "") {
      return;
    }
    const isShared = worker.limits?.groupScope === "tenant";
    const name = rate.per === "group"
      ? `${isShared ? "" : worker.id} ${start.group}`
      : worker.id;
    const starts = this.#startsByWorker.get(name) ?? [];
    this.#startsByWorker.set(name, starts);
    starts.push(start.startedAtMs);
    const earlier = starts[starts.length - 1 - rate.count];
    if (
      earlier !== undefined && start.startedAtMs - earlier < rate.periodMs
    ) this.broken(`${name} started more than ${rate.count} in a period`);
  }
}

/** The latest instant at which a due task may start, by its catch-up rule. */
function latestStartMs(task: Task): number {
  const { repeat, dateMs, slotMs, firstTriedAtMs, held } = task;
  const isByHand = task.isRepetition === false || held !== undefined;
  if (firstTriedAtMs !== undefined || isByHand) return Infinity;
  if (repeat === undefined) return dateMs + (task.startWithinMs ?? Infinity);
  const { onTimeMs = 10_000 } = repeat;
  return repeat.catchUp === "none"
    ? Math.max(dateMs, slotMs) + onTimeMs
    : Infinity;
}

/** Tells whether an instant is on the grid of a task, closed or not. */
function isSlot(task: Task, slotMs: number): boolean {
  const { repeat, timezone, firstDateMs: anchorMs } = task;
  const { interval, cron } = repeat ?? {};
  const outcome = parseTiming({ interval, cron }, { timezone, afterMs: 0 });
  return outcome.kind === "ok" &&
    findOccurrence(outcome.timing, slotMs - 1, { anchorMs, timezone }) ===
      slotMs;
}

/** Looks at each span in turn. */
function isIn({ instants }: Calendar, atMs: number): boolean {
  return instants.some((startMs, index) =>
    index % 2 === 0 && startMs <= atMs && atMs < (instants[index + 1] ?? 0)
  );
}

/** The date that a clock of the zone shows, by `Intl`. */
function dateIn(timezone: string, atMs: number): string {
  return new Intl.DateTimeFormat("sv-SE", { timeZone: timezone }).format(atMs);
}

function isSuccess({ status }: Task): boolean {
  return status === "complete" || status === "done";
}
