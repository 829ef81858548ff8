/**
 * Watches what no request changes, for tenants that someone listens to: quotas
 * that near their end, and workers that ask for nothing while tasks wait.
 *
 * @module
 */

import { isJsonObject } from "../../../shared/schema/schema.ts";
import type { EventType } from "../../domain/event_types.ts";
import { utcTime } from "../../domain/instant.ts";
import { liveCount } from "../../domain/task.ts";
import type { WorkerName } from "../../store/queries.ts";
import type { Write } from "../../store/store.ts";
import { Maintainer, type MaintainerParts } from "../maintainer.ts";
import type { EngineParts } from "../parts.ts";
import { type UsageCounter, usagePeriod } from "../plan_usage.ts";
import { serviceWrite } from "../record_writes.ts";
import { type Liveness, workerKey } from "../workers.ts";

/** The time between two looks, in milliseconds. */
const INTERVAL_MS = 15_000;
/** After how many milliseconds without a request a worker is stale. */
const STALE_MS = 60_000;
/** From which share of a limit on a quota is near. */
const NEAR = 0.8;
/** Below which share it is no longer, so that it is not told again and again. */
const NOT_NEAR = 0.75;
/** How many tenants, or workers, are read at once. */
const PAGE = 100;
/** The most stale workers of a tenant that are remembered. */
const MAX_STALE = 1_000;
/** The record that has what was told. */
const RECORD_ID = "watch";

/** The quotas that are watched. */
const QUOTAS = ["active_tasks", "executions_per_month"] as const;

type QuotaState = "near" | "reached";

/** What was told of a tenant. */
interface Told {
  readonly quotas: Readonly<Record<string, QuotaState>>;
  /** The ids of workers that are stale. */
  readonly stale: readonly string[];
}

interface EventWatchOptions {
  readonly parts:
    & MaintainerParts
    & Pick<EngineParts, "store" | "workers" | "findLimits">;
  /** When workers last asked for tasks. */
  readonly liveness: Pick<Liveness, "of">;
  /** Counts executions. */
  readonly usage: Pick<UsageCounter, "executions">;
}

/**
 * Looks at each tenant that someone listens to. One instance does it; what was
 * told is a record that is written with the events, so that each change of state
 * is told once, also where two do it for a moment.
 */
export class EventWatch extends Maintainer {
  readonly #options: EventWatchOptions;
  /** Since when a worker has tasks that may be taken and asks for none. */
  #idleSinceMs = new Map<string, number>();

  /** Creates the watch without starting it. */
  constructor(options: EventWatchOptions) {
    super({
      parts: options.parts,
      intervalMs: INTERVAL_MS,
      failure: "Cannot watch quotas and workers: the store failed",
      duty: "watch",
    });
    this.#options = options;
  }

  /** Gives workers time again, as another instance has looked before. */
  protected override onGained(): void {
    this.#idleSinceMs.clear();
  }

  /** Looks at all tenants that someone listens to. */
  override async runOnce(): Promise<void> {
    const { store } = this.#options.parts;
    const listeners = new Set<string>();
    let page: readonly string[];
    let afterId = "";
    do {
      page = await store.listeners(PAGE, afterId);
      for (const id of page) listeners.add(id);
      afterId = page.at(-1) ?? "";
    } while (page.length === PAGE && !this.stopping.aborted);
    const waiting = listeners.size === 0
      ? new Map<string, WorkerName[]>()
      : await this.#findWaiting(listeners);
    for (const tenantId of listeners) {
      if (this.stopping.aborted) return;
      await this.#look(tenantId, waiting.get(tenantId) ?? []);
    }
  }

  /** The workers of tenants with tasks that may be taken. */
  async #findWaiting(
    tenantIds: ReadonlySet<string>,
  ): Promise<Map<string, WorkerName[]>> {
    const { store, clock } = this.#options.parts;
    const found = new Map<string, WorkerName[]>();
    const idle = new Map<string, number>();
    let page: readonly WorkerName[] = [];
    do {
      page = await store.workersWithDueTasks({
        limit: PAGE,
        after: page.at(-1),
      });
      for (const worker of page) {
        if (!tenantIds.has(worker.tenantId)) continue;
        const key = workerKey(worker);
        const workers = found.get(worker.tenantId) ?? [];
        found.set(worker.tenantId, workers);
        workers.push(worker);
        idle.set(key, this.#idleSinceMs.get(key) ?? clock.nowMs());
      }
    } while (page.length === PAGE && !this.stopping.aborted);
    this.#idleSinceMs = idle;
    return found;
  }

  async #look(
    tenantId: string,
    waiting: readonly WorkerName[],
  ): Promise<void> {
    const { store, clock } = this.#options.parts;
    const record = await store.record("service", tenantId, RECORD_ID);
    const told = readTold(record?.text);
    const atMs = clock.nowMs();
    const events: Write[] = [];
    const tell = (type: EventType, data: Record<string, unknown>): void => {
      const text = JSON.stringify(data);
      events.push({ kind: "event", tenantId, type, atMs, text });
    };
    const next: Told = {
      quotas: await this.#lookAtQuotas(tenantId, told, tell),
      stale: await this.#lookAtWorkers({ tenantId, waiting }, told, tell),
    };
    const text = JSON.stringify(next);
    if (text === JSON.stringify(told)) return;
    const place = { tenantId, id: RECORD_ID };
    // A conflict means that another instance has told it.
    await store.commit([{
      writes: [serviceWrite(place, text, record?.version), ...events],
    }]);
  }

  async #lookAtQuotas(
    tenantId: string,
    { quotas: told }: Told,
    tell: (type: EventType, data: Record<string, unknown>) => void,
  ): Promise<Record<string, QuotaState>> {
    const { parts: { store, findLimits, clock }, usage } = this.#options;
    const limits = await findLimits(tenantId);
    const quotas: Record<string, QuotaState> = {};
    for (const quota of QUOTAS) {
      const limit = quota === "active_tasks"
        ? limits.activeTasks
        : limits.executionsPerMonth;
      if (limit === null) continue;
      const used = quota === "active_tasks"
        ? liveCount(await store.counts({ tenantId }))
        : await usage.executions(tenantId);
      const before = told[quota];
      const state = used >= limit ? "reached" : used >= NEAR * limit ||
          before !== undefined && used >= NOT_NEAR * limit
        ? "near"
        : undefined;
      if (state === undefined) continue;
      quotas[quota] = state;
      // One that was reached and is near again is no news.
      if (state === before || before === "reached") continue;
      const period = quota === "active_tasks"
        ? undefined
        : usagePeriod(clock.nowMs());
      tell(`quota.${state}`, { quota, limit, used, period });
    }
    return quotas;
  }

  async #lookAtWorkers(
    { tenantId, waiting }: {
      readonly tenantId: string;
      readonly waiting: readonly WorkerName[];
    },
    { stale: told }: Told,
    tell: (type: EventType, data: Record<string, unknown>) => void,
  ): Promise<readonly string[]> {
    const { parts: { store, workers, clock }, liveness } = this.#options;
    const nowMs = clock.nowMs();
    const seenMs = (workerId: string): number =>
      liveness.of({ tenantId, workerId })?.lastSeenAtMs ?? -Infinity;
    const stale: string[] = [];
    for (const workerId of told) {
      const worker = await workers.get(tenantId, workerId);
      if (worker === undefined || worker.isPaused) continue;
      if (nowMs - seenMs(workerId) >= STALE_MS) {
        stale.push(workerId);
        continue;
      }
      const { name } = worker;
      tell("worker.recovered", {
        worker: workerId,
        name,
        last_seen_at: utcTime(seenMs(workerId)),
      });
    }
    for (const { workerId } of waiting) {
      if (stale.length >= MAX_STALE) break;
      const sinceMs =
        this.#idleSinceMs.get(workerKey({ tenantId, workerId })) ??
          nowMs;
      const lastMs = seenMs(workerId);
      if (nowMs - Math.max(sinceMs, lastMs) < STALE_MS) continue;
      if (stale.includes(workerId)) continue;
      const worker = await workers.get(tenantId, workerId);
      if (worker?.kind !== "pull" || worker.isPaused) continue;
      const { waiting: count = 0, retry = 0 } = await store.counts({
        tenantId,
        workerId,
      });
      stale.push(workerId);
      tell("worker.stale", {
        worker: workerId,
        name: worker.name,
        last_seen_at: lastMs === -Infinity ? null : utcTime(lastMs),
        waiting: count + retry,
      });
    }
    return stale;
  }
}

function readTold(text: string | undefined): Told {
  const read: unknown = text === undefined ? {} : JSON.parse(text);
  const { quotas, stale } = isJsonObject(read) ? read : {};
  // Only this file writes the record.
  return {
    quotas: (quotas ?? {}) as Told["quotas"],
    stale: (stale ?? []) as Told["stale"],
  };
}
