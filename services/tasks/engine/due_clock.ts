/**
 * The clock that wakes tasks when their instant has come: their date, their
 * expiry, the end of their lease or of their retention. It asks the store each
 * time and at least once a second, and keeps only the time of the next query in
 * memory; so neither a restart nor a clock that jumps makes it lose a task.
 *
 * Of several instances, the one that holds the duty wakes tasks at their
 * instant, and is told of those that others have written and that come before
 * its next query. The others wake what is overdue by half a second. So a holder
 * that has died or stands still delays tasks by that, and a notice that was
 * lost by as much. Two may wake the same task; its version lets one of them.
 *
 * @module
 */

import { Periodic } from "../../shared/periodic.ts";
import { SYSTEM_ACTOR } from "../domain/records.ts";
import { computePlacement } from "../domain/placement.ts";
import { isFinal, type Task } from "../domain/task.ts";
import type { TaskEvent } from "../domain/task_event.ts";
import type { WakingPosition } from "../store/queries.ts";
import { StoreBusyError } from "../store/store.ts";
import type { EventRequest, TaskChanges } from "./changes.ts";
import type { Dependents } from "./dependents.ts";
import type { LeaseClock } from "./lease_clock.ts";
import type { EngineParts } from "./parts.ts";

/** The most tasks of one commit. */
const BATCH = 500;
/**
 * The number of tasks that a tenant may have in a round before the tasks of
 * other tenants are woken ahead of its own.
 */
const SHARE = 50;
/** The tasks of one look for other tenants'; it takes 1 or 2 milliseconds. */
const LOOKED = 1_000;
/** The most looks before the next commit. */
const LOOKS = 10;
/** For how long a task is kept that blocked tasks depend on, at a time. */
const KEEP_MS = 600_000;
/** The longest time between two queries of the store, in milliseconds. */
const LOOK_AGAIN_MS = 1_000;

/** How late a task has to be before another one than the holder wakes it. */
const OVERDUE_MS = 500;

/** What a round has done. */
interface Round {
  /** How many tasks changed. */
  readonly changed: number;
  /** The instant up to which all tasks were seen to. */
  readonly seenMs: number;
}

interface DueClockOptions {
  readonly parts: EngineParts;
  readonly changes: TaskChanges;
  /** Knows which tasks others depend on. */
  readonly dependents: Dependents;
  /** Notices when the machine's clock was set. */
  readonly leaseClock: LeaseClock;
}

/** Wakes tasks when their instant has come. */
export class DueClock {
  readonly #parts: EngineParts;
  readonly #changes: TaskChanges;
  readonly #dependents: Dependents;
  readonly #leaseClock: LeaseClock;
  readonly #periodic: Periodic;
  /** The instant that the holder was told last. */
  #toldMs = -Infinity;

  /** Creates the clock without starting it. */
  constructor({ parts, changes, dependents, leaseClock }: DueClockOptions) {
    this.#parts = parts;
    this.#changes = changes;
    this.#dependents = dependents;
    this.#leaseClock = leaseClock;
    this.#periodic = new Periodic({
      clock: parts.clock,
      intervalMs: LOOK_AGAIN_MS,
      run: () => this.#look(),
      onError: (error) => {
        parts.logger.error("Cannot find due tasks: the store failed", {
          error: String(error),
        });
      },
    });
    changes.onChange(({ next, placement }) => {
      if (placement?.wakeAtMs === undefined) return;
      this.#wakeAt(placement.wakeAtMs);
      // That a task is removed is not urgent.
      if (next !== undefined && !isFinal(next.status)) {
        this.#tell(placement.wakeAtMs);
      }
    }, ["timed"]);
    const { instances, notices } = parts;
    notices.on("wake", ({ atMs }) => this.#wakeAt(atMs));
    let isHolder = instances.holds("wake");
    instances.onChange(() => {
      if (instances.holds("wake") === isHolder) return;
      isHolder = !isHolder;
      if (isHolder) this.#periodic.wakeIn(0);
    });
  }

  /** Starts the clock; the first query follows at once. */
  start(): void {
    this.#periodic.start();
    this.#periodic.wakeIn(0);
  }

  /** Stops after the round that is running. */
  async stop(): Promise<void> {
    await this.#periodic.stop();
  }

  /**
   * Wakes all tasks whose instant has come. When the machine's clock was set,
   * running leases are adjusted first.
   *
   * @returns how many tasks changed
   * @throws {Error} when the store fails
   */
  async runOnce(): Promise<number> {
    const { changed } = await this.#round();
    return changed;
  }

  async #round(): Promise<Round> {
    const settling = this.#leaseClock.settle();
    // When leases cannot be adjusted, they wait; other tasks need not.
    const [settled] = await Promise.allSettled([settling]);
    const round = await this.#wakeAll();
    if (settled?.status === "rejected") throw settled.reason;
    return round;
  }

  async #wakeAll(): Promise<Round> {
    const { store, clock } = this.#parts;
    let changed = 0;
    let seenMs = clock.nowMs() - this.#patienceMs;
    let after: WakingPosition | undefined;
    let ahead: WakingPosition | undefined;
    const tenants = new RoundTenants();
    while (!this.#periodic.signal.aborted) {
      seenMs = clock.nowMs() - this.#patienceMs;
      const tasks = await store.waking(seenMs, BATCH, after);
      const last = tasks.at(-1);
      if (last === undefined) break;
      const end = {
        wakeAtMs: computePlacement(last).wakeAtMs ?? seenMs,
        id: last.id,
      };
      tenants.count(tasks);
      if (tenants.withMany.size > 0) {
        const others = await this.#wakeOthers(tenants, {
          after: ahead !== undefined && isBefore(end, ahead) ? ahead : end,
          nowMs: seenMs,
        });
        changed += others.changed;
        ahead = others.ahead;
      }
      const moved = await this.#wake(tasks, tenants);
      changed += moved;
      // Tasks that did not change would be found again forever, and keep the
      // tasks behind them from being found.
      if (moved < tasks.length) after = end;
    }
    return { changed, seenMs };
  }

  /**
   * Wakes tasks that stand behind those of tenants with very many, so that they
   * do not wait until all of these are woken. Each task is looked at once in a
   * round.
   *
   * @returns how many tasks changed, and the last one that was looked at
   */
  async #wakeOthers(
    tenants: RoundTenants,
    { after, nowMs }: {
      readonly after: WakingPosition;
      readonly nowMs: number;
    },
  ): Promise<{ readonly changed: number; readonly ahead: WakingPosition }> {
    const { store } = this.#parts;
    let changed = 0;
    let ahead = after;
    for (let looks = 0; looks < LOOKS; looks++) {
      const { tasks, next } = await store.wakingOfOthers({
        nowMs,
        except: tenants.withMany,
        after: ahead,
        maxLooked: LOOKED,
      });
      if (next === undefined) break;
      ahead = next;
      if (tasks.length === 0) continue;
      tenants.count(tasks);
      changed += await this.#wake(tasks, tenants);
    }
    return { changed, ahead };
  }

  /**
   * Wakes tasks, except those of refused tenants: too much of theirs waits to
   * be written. A tenant that turns out to be such a one is added.
   *
   * @returns how many tasks changed
   */
  async #wake(
    tasks: readonly Task[],
    { refused }: RoundTenants,
  ): Promise<number> {
    const needed = await this.#dependents.needed(tasks);
    const keep = (): TaskEvent => ({
      kind: "keep",
      untilMs: this.#parts.clock.nowMs() + KEEP_MS,
    });
    const requests = tasks.filter(({ tenantId }) => !refused.has(tenantId))
      .map((task): EventRequest => ({
        tenantId: task.tenantId,
        id: task.id,
        event: (now) =>
          isFinal(now.status) && needed.has(now.id)
            ? keep()
            : this.#pickEvent(now),
        actor: SYSTEM_ACTOR,
        cachedTask: task,
      }));
    try {
      const outcomes = await this.#changes.applyAll(requests);
      return outcomes.filter(({ kind }) =>
        kind === "changed" || kind === "purged"
      ).length;
    } catch (error) {
      const tenants = new Set(requests.map(({ tenantId }) => tenantId));
      // Tasks of several tenants are refused only when the store has no room
      // for anything.
      if (!(error instanceof StoreBusyError) || tenants.size > 1) throw error;
      for (const tenantId of tenants) refused.add(tenantId);
      return 0;
    }
  }

  /**
   * Leaves running tasks alone while leases are not adjusted: a lease may only
   * seem to have ended because the clock was set.
   */
  #pickEvent({ status }: Task): TaskEvent | undefined {
    return status === "running" && this.#leaseClock.isBehind()
      ? undefined
      : { kind: "wake" };
  }

  async #look(): Promise<void> {
    const { seenMs } = await this.#round();
    // Tasks that are still overdue could not be changed; they are tried again
    // in a second, and the others are woken in time.
    const nextMs = await this.#parts.store.nextWakeMs(seenMs);
    if (nextMs !== undefined) this.#wakeAt(nextMs);
  }

  #wakeAt(atMs: number): void {
    const delayMs = atMs + this.#patienceMs - this.#parts.clock.nowMs();
    if (delayMs < LOOK_AGAIN_MS) this.#periodic.wakeIn(delayMs);
  }

  /** How overdue a task has to be for this instance. */
  get #patienceMs(): number {
    return this.#parts.instances.holds("wake") ? 0 : OVERDUE_MS;
  }

  /**
   * Tells the holder of a task that comes before its next query. It finds the
   * later ones itself, so only an earlier one is news.
   */
  #tell(atMs: number): void {
    const { notices, instances, clock } = this.#parts;
    if (!notices.areNeeded || instances.holds("wake")) return;
    const nowMs = clock.nowMs();
    if (atMs >= nowMs + LOOK_AGAIN_MS) return;
    if (this.#toldMs > nowMs && this.#toldMs <= atMs) return;
    this.#toldMs = atMs;
    notices.tell({ kind: "wake", atMs });
  }
}

/** What a round has learned about tenants. */
class RoundTenants {
  /** The tenants of whom too much waits to be written. */
  readonly refused = new Set<string>();
  /** The tenants with many tasks in the round. */
  readonly withMany = new Set<string>();
  readonly #tasks = new Map<string, number>();

  /** Counts tasks of the round. */
  count(tasks: readonly Task[]): void {
    for (const { tenantId } of tasks) {
      const count = (this.#tasks.get(tenantId) ?? 0) + 1;
      this.#tasks.set(tenantId, count);
      if (count >= SHARE) this.withMany.add(tenantId);
    }
  }
}

function isBefore(one: WakingPosition, other: WakingPosition): boolean {
  return one.wakeAtMs === other.wakeAtMs
    ? one.id < other.id
    : one.wakeAtMs < other.wakeAtMs;
}
