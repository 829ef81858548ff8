/**
 * The rate limit of a worker, for the whole worker or for each group, and the
 * limits of groups that several workers of a tenant share. Rounds of such
 * workers take turns at an instance, and the store's claims do the same among
 * instances, so that no two of them fill the same room.
 *
 * @module
 */

import { type Clock, steadyClock } from "../../shared/clock.ts";
import type { WorkerDefinition } from "../domain/records.ts";
import type { Task } from "../domain/task.ts";
import type { ClaimView, Store, Write } from "../store/store.ts";
import type { EngineParts } from "./parts.ts";
import { type RateBound, RateWindows } from "./rate_window.ts";
import { MAX_RECORD_AGE_MS } from "./record_cache.ts";
import type { RecordRepository } from "./record_repository.ts";

/** The rates that hold for a round of claims. */
interface RoundRatesOptions {
  /** The worker. */
  readonly worker: WorkerDefinition;
  /** The windows of the worker. */
  readonly own: RateWindows;
  /** The groups whose limits the worker shares with others, if it does. */
  readonly shared: SharedGroups | undefined;
  /** Tells the time where no rate is set. */
  readonly clock: Clock;
}

/**
 * The rates of a worker for one round of claims: what may start, and what has
 * to be written of what starts. Nothing is read or written where none is set.
 */
export class RoundRates {
  /** The present, by the store's time. */
  nowMs: number;
  readonly #worker: WorkerDefinition;
  readonly #own: RateWindows;
  readonly #shared: RateWindows | undefined;
  /** The bound that covers all rates of groups that are shared. */
  readonly #widest: RateBound | undefined;

  /** Takes the rates; {@linkcode RoundRates.read} comes first. */
  constructor({ worker, own, shared, clock }: RoundRatesOptions) {
    this.#worker = worker;
    this.#own = own;
    this.#shared = shared?.windows;
    // The worker may have changed since it joined those that share.
    this.#widest = shared && widen(shared.widest, worker);
    this.nowMs = clock.nowMs();
  }

  /** Whether only what was started just now is left to read. */
  get areFollowed(): boolean {
    const { windows, kept } = this.#followed() ?? {};
    return windows === undefined || kept === undefined || windows.follows(kept);
  }

  /**
   * Reads the starts that count.
   *
   * @throws {StoreFailedError} when the store fails
   */
  async read(source: Pick<Store, "starts">): Promise<void> {
    const followed = this.#followed();
    if (followed === undefined) return;
    this.nowMs = await followed.windows.follow(source, followed.kept);
  }

  /** Forgets the starts that were read. */
  forget(): void {
    this.#followed()?.windows.forget();
  }

  /** How many tasks of the worker may start now. */
  room(): number {
    const rate = this.#worker.limits?.rate;
    return rate?.per === "worker"
      ? this.#own.room("", rate, this.nowMs)
      : Infinity;
  }

  /**
   * When the next task of the worker may start; the present when no limit holds
   * it back.
   */
  nextAtMs(): number {
    const rate = this.#worker.limits?.rate;
    return rate?.per === "worker"
      ? this.#own.nextAtMs("", rate, this.nowMs)
      : this.nowMs;
  }

  /** How many tasks of a group may start now. */
  groupRoom(group: string): number {
    const rate = this.#worker.limits?.rate;
    return rate?.per === "group"
      ? (this.#shared ?? this.#own).room(group, rate, this.nowMs)
      : Infinity;
  }

  /** The writes that count the start of a task. */
  writesOf({ group, startedAtMs = 0 }: Task): readonly Write[] {
    const { tenantId, id, limits } = this.#worker;
    // The store's time may have come first.
    const atMs = Math.max(startedAtMs, this.nowMs);
    const count = (
      of: { readonly workerId: string; readonly group: string },
      { periodMs }: RateBound,
    ): Write => (
      { kind: "start", tenantId, ...of, atMs, expiresAtMs: atMs + periodMs }
    );
    const writes: Write[] = [];
    const rate = limits?.rate;
    if (rate?.per === "worker") {
      writes.push(count({ workerId: id, group: "" }, rate));
    }
    // Tasks without a group have no group limit.
    if (group === "") return writes;
    if (this.#widest !== undefined) {
      writes.push(count({ workerId: "", group }, this.#widest));
    } else if (rate?.per === "group") {
      writes.push(count({ workerId: id, group }, rate));
    }
    return writes;
  }

  /** The windows that have to be read, with the bound that they cover. */
  #followed():
    | { readonly windows: RateWindows; readonly kept: RateBound }
    | undefined {
    const rate = this.#worker.limits?.rate;
    if (rate === undefined) return undefined;
    return rate.per === "worker" || !this.#shared || !this.#widest
      ? { windows: this.#own, kept: rate }
      : { windows: this.#shared, kept: this.#widest };
  }
}

/**
 * When the rate limit of a worker allows the next start in a group; undefined
 * when it allows one now.
 *
 * @throws {StoreFailedError} when the store fails
 */
export async function nextStartMs(
  worker: WorkerDefinition,
  group: string,
  store: Pick<Store, "starts">,
): Promise<number | undefined> {
  const { tenantId, id, limits: { rate } = {} } = worker;
  const isPerGroup = rate?.per === "group";
  if (rate === undefined || isPerGroup && group === "") return undefined;
  const workerId = isPerGroup && isSharing(worker) ? "" : id;
  const windows = new RateWindows({ tenantId, workerId });
  const nowMs = await windows.follow(store, rate);
  const atMs = windows.nextAtMs(isPerGroup ? group : "", rate, nowMs);
  return atMs > nowMs ? atMs : undefined;
}

/** Tells whether a worker shares the limits of its groups. */
export function isSharing({ limits }: WorkerDefinition): boolean {
  return limits?.groupScope === "tenant";
}

/**
 * How many tasks of each group are running, at all workers of the tenant that
 * share their limits.
 */
export async function sharedRunning(
  tenantId: string,
  { view, workers }: Pick<EngineParts, "workers"> & {
    readonly view: Pick<ClaimView, "runningGroups">;
  },
): Promise<ReadonlyMap<string, number>> {
  const groups = new Map<string, number>();
  for (
    const { workerId, group, count } of await view.runningGroups(tenantId)
  ) {
    const worker = await workers.get(tenantId, workerId);
    if (worker === undefined || !isSharing(worker)) continue;
    groups.set(group, (groups.get(group) ?? 0) + count);
  }
  return groups;
}

/** The claims of a worker that shares the limits of its groups. */
interface Member {
  /** Starts a round if there are waiters. */
  trigger(): void;
}

/** Options of {@linkcode SharedGroups}. */
interface SharedGroupsOptions {
  /** The tenant whose workers share. */
  readonly tenantId: string;
  /** The workers. */
  readonly repository: Pick<RecordRepository<WorkerDefinition>, "pages">;
  /** Tells how old is what was read. */
  readonly clock: Clock;
}

/** The groups that workers of one tenant share. */
export class SharedGroups {
  /** The starts that count for the rates of groups. */
  readonly windows: RateWindows;
  readonly #options: SharedGroupsOptions;
  readonly #clock: Clock;
  readonly #members = new Set<Member>();
  #widest: RateBound | undefined;
  #readAtMs = -Infinity;
  #turn: Promise<unknown> = Promise.resolve();

  /** Takes the tenant, of which no worker is known that shares. */
  constructor(options: SharedGroupsOptions) {
    this.#options = options;
    this.#clock = steadyClock(options.clock);
    this.windows = new RateWindows({ ...options, workerId: "" });
  }

  /** Whether no worker is known that shares. */
  get isEmpty(): boolean {
    return this.#members.size === 0;
  }

  /**
   * The bound that covers the rates of all workers that share; undefined when
   * none has a rate, so that nothing has to be counted.
   */
  get widest(): RateBound | undefined {
    return this.#widest;
  }

  /**
   * Adds a worker's claims. What one worker starts counts for the rates of the
   * others, which may ask for tasks at other instances only; so all workers of
   * the tenant are looked through, every few seconds.
   *
   * @throws {StoreFailedError} when the store fails
   */
  async join(member: Member, worker: WorkerDefinition): Promise<void> {
    this.#members.add(member);
    const nowMs = this.#clock.nowMs();
    if (nowMs - this.#readAtMs >= MAX_RECORD_AGE_MS) {
      const { repository, tenantId } = this.#options;
      let widest: RateBound | undefined;
      for await (const page of repository.pages(tenantId, PAGE)) {
        for (const each of page) widest = widen(widest, each);
      }
      this.#widest = widest;
      this.#readAtMs = nowMs;
    }
    this.#widest = widen(this.#widest, worker);
  }

  /** Removes a worker's claims. */
  leave(member: Member): void {
    this.#members.delete(member);
  }

  /** Runs a round when those before it have ended. */
  async inTurn<Result>(round: () => Promise<Result>): Promise<Result> {
    const before = this.#turn;
    const turn = before.then(round, round);
    this.#turn = turn.catch(() => {});
    return await turn;
  }

  /** Starts rounds of the other members, since tasks of a group have ended. */
  triggerOthers(ended: Member | undefined): void {
    for (const member of this.#members) if (member !== ended) member.trigger();
  }
}

/** How many workers are read at once. */
const PAGE = 100;

/** A bound that covers the rate of a worker's groups as well, if it shares. */
function widen(
  bound: RateBound | undefined,
  worker: WorkerDefinition,
): RateBound | undefined {
  const rate = worker.limits?.rate;
  if (rate?.per !== "group" || !isSharing(worker)) return bound;
  return {
    count: Math.max(rate.count, bound?.count ?? 0),
    periodMs: Math.max(rate.periodMs, bound?.periodMs ?? 0),
  };
}
