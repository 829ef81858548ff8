/**
 * Counts what tenants' tasks do, by minute: in memory as changes are committed,
 * and in the store each five seconds. Nothing is counted by looking at tasks, so
 * plots cost the same with any number of them. A crash loses the counts of five
 * seconds; it loses no task.
 *
 * @module
 */

import type { Clock } from "../../shared/clock.ts";
import type { Logger } from "../../shared/logger.ts";
import { Periodic } from "../../shared/periodic.ts";
import { type CommittedChange, countChange } from "../domain/counted_change.ts";
import {
  type ActivityCounts,
  type ActivityPoint,
  type ActivityQuery,
  type ActivitySeries,
  addActivity,
  NO_ACTIVITY,
} from "../store/kept_counts.ts";
import type { Store, Transaction, Write } from "../store/store.ts";
import { tenantOfInternal } from "./workers.ts";

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

/** The spans that are kept: their length, and how long they can be read. */
export const ACTIVITY_STEPS = [
  { stepMs: MINUTE_MS, keptMs: 2 * HOUR_MS },
  { stepMs: 5 * MINUTE_MS, keptMs: 25 * HOUR_MS },
  { stepMs: HOUR_MS, keptMs: 8 * 24 * HOUR_MS },
] as const;

/** How long counts are gathered before they are written, in milliseconds. */
const GATHER_MS = 5_000;
/**
 * The most workers and jobs of a tenant that are counted by name within an
 * hour, so that names which are made up cannot fill the store.
 */
const MAX_NAMES = 500;
/** Stands for the workers, or the jobs, beyond the limit. */
export const OTHER_NAMES = "*";
/** The most tenants whose counts are written at once. */
const BATCH = 100;
/**
 * The most counters that wait while the store fails; what comes then is not
 * counted.
 */
const MAX_WAITING = 100_000;

type Activity = Extract<Write, { readonly kind: "activity" }>;

/** The counts of a job in a minute. */
interface Counter {
  readonly tenantId: string;
  readonly series: ActivitySeries;
  readonly atMs: number;
  readonly counts: { -readonly [Name in keyof ActivityCounts]: number };
}

interface ActivityParts {
  readonly store: Pick<Store, "commit" | "activity">;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Counts activity, and reads it. */
export class ActivityCounter {
  readonly #parts: ActivityParts;
  readonly #writing: Periodic;
  #waiting = new Map<string, Counter>();
  /** The names that are counted in an hour, by tenant. */
  readonly #names = new Map<string, Set<string>>();
  #namesOfHour = 0;

  /** Starts without counts. */
  constructor(parts: ActivityParts) {
    this.#parts = parts;
    this.#writing = new Periodic({
      clock: parts.clock,
      run: () => this.#write(),
      retry: { firstMs: GATHER_MS, maxMs: GATHER_MS },
      onError: (error) => {
        parts.logger.warn("Cannot store counted activity: the store failed", {
          error: String(error),
        });
      },
    });
    this.#writing.start();
  }

  /** Counts a change; may be passed on as a function. */
  readonly note = (change: CommittedChange): void => {
    const { next } = change;
    if (next === undefined) return;
    const counted = countChange(change);
    // Callbacks and other tasks of the service itself belong to no tenant.
    if (counted === undefined) return;
    if (tenantOfInternal(next.tenantId) !== undefined) return;
    const counts = this.#find(next);
    if (counts === undefined) return;
    const { startedLateMs, ended } = counted;
    if (counted.isNew) counts.created++;
    if (ended !== undefined) {
      counts.runSumMs += ended.tookMs;
      if (ended.outcome === "completed") counts.succeeded++;
      else if (ended.outcome === "failed") counts.failed++;
      else if (ended.outcome === "lost") counts.lost++;
    }
    if (startedLateMs !== undefined) {
      counts.started++;
      counts.lagSumMs += startedLateMs;
      counts.lagMaxMs = Math.max(counts.lagMaxMs, startedLateMs);
    }
    if (counted.finished === "complete") counts.completed++;
    counts.missed += counted.missed;
  };

  /**
   * The activity of a series, with a point for each span of `fromMs` to
   * `toMs`, which are multiples of the span's length.
   *
   * @throws {Error} when the store fails
   */
  async read(query: ActivityQuery): Promise<readonly ActivityPoint[]> {
    const found = new Map(
      (await this.#parts.store.activity(query)).map((one) => [one.atMs, one]),
    );
    const points: ActivityPoint[] = [];
    for (let atMs = query.fromMs; atMs < query.toMs; atMs += query.stepMs) {
      points.push(found.get(atMs) ?? { ...NO_ACTIVITY, atMs });
    }
    return points;
  }

  /** Writes the remaining counts and stops. */
  async stop(): Promise<void> {
    await this.#writing.runOnce();
    await this.#writing.stop();
  }

  /** The counts that a change adds to; undefined when too many wait. */
  #find(
    { tenantId, workerId, job, updatedAtMs }: {
      readonly tenantId: string;
      readonly workerId: string;
      readonly job: string;
      readonly updatedAtMs: number;
    },
  ): Counter["counts"] | undefined {
    const atMs = floorTo(updatedAtMs, MINUTE_MS);
    const key = `${atMs}\n${tenantId}\n${workerId}\n${job}`;
    const known = this.#waiting.get(key);
    if (known !== undefined) return known.counts;
    if (this.#waiting.size >= MAX_WAITING) return undefined;
    if (this.#waiting.size === 0) this.#writing.wakeIn(GATHER_MS);
    const series = this.#name(tenantId, { workerId, job }, atMs);
    // Those beyond the limit share a counter.
    const nameKey = series.job === job && series.workerId === workerId
      ? key
      : `${atMs}\n${tenantId}\n${series.workerId}\n${series.job}`;
    const shared = this.#waiting.get(nameKey);
    if (shared !== undefined) return shared.counts;
    const counts = { ...NO_ACTIVITY };
    this.#waiting.set(nameKey, { tenantId, series, atMs, counts });
    return counts;
  }

  /** The names under which a job is counted. */
  #name(
    tenantId: string,
    { workerId, job }: ActivitySeries,
    atMs: number,
  ): ActivitySeries {
    const hour = floorTo(atMs, HOUR_MS);
    if (hour > this.#namesOfHour) {
      this.#names.clear();
      this.#namesOfHour = hour;
    }
    let names = this.#names.get(tenantId);
    if (names === undefined) {
      names = new Set();
      this.#names.set(tenantId, names);
    }
    if (!admit(names, workerId)) {
      return { workerId: OTHER_NAMES, job: OTHER_NAMES };
    }
    return admit(names, `${workerId}\n${job}`)
      ? { workerId, job }
      : { workerId, job: OTHER_NAMES };
  }

  async #write(): Promise<void> {
    const { store, clock } = this.#parts;
    const waiting = this.#waiting;
    if (waiting.size === 0) return;
    this.#waiting = new Map();
    const byTenant = [
      ...Map.groupBy(waiting.values(), ({ tenantId }) => tenantId),
    ];
    for (let from = 0; from < byTenant.length; from += BATCH) {
      const batch = byTenant.slice(from, from + BATCH);
      const transactions = batch.map(([tenantId, counters]): Transaction => ({
        writes: buildWrites(tenantId, counters, clock.nowMs()),
      }));
      try {
        await store.commit(transactions);
      } catch (error) {
        // They are written together with the next ones.
        for (const [, counters] of byTenant.slice(from)) {
          for (const counter of counters) this.#keep(counter);
        }
        throw error;
      }
    }
  }

  /** Adds counts that could not be written to those that wait. */
  #keep({ tenantId, series, atMs, counts }: Counter): void {
    const of = { tenantId, ...series, updatedAtMs: atMs };
    const later = this.#find(of);
    if (later !== undefined) Object.assign(later, addActivity(later, counts));
  }
}

/** Whether a name is counted, as it is known or there is room for it. */
function admit(names: Set<string>, name: string): boolean {
  if (names.has(name)) return true;
  if (names.size >= MAX_NAMES) return false;
  names.add(name);
  return true;
}

/**
 * The writes of a tenant's counters: for all its tasks, for each worker and for
 * each job, and in spans of each length, so that a read takes one row a span.
 */
function buildWrites(
  tenantId: string,
  counters: readonly Counter[],
  nowMs: number,
): readonly Activity[] {
  const writes = new Map<string, Activity>();
  for (const { series, atMs: minuteMs, counts } of counters) {
    const { workerId, job } = series;
    for (
      const of of [
        { workerId: "", job: "" },
        { workerId, job: "" },
        { workerId, job },
      ]
    ) {
      for (const { stepMs, keptMs } of ACTIVITY_STEPS) {
        const atMs = floorTo(minuteMs, stepMs);
        // It could not be read any longer.
        if (atMs + keptMs <= nowMs) continue;
        const key = `${stepMs} ${atMs} ${of.workerId}\n${of.job}`;
        const before = writes.get(key)?.counts ?? NO_ACTIVITY;
        writes.set(key, {
          kind: "activity",
          ...{ tenantId, series: of, stepMs, atMs },
          expiresAtMs: atMs + stepMs + keptMs,
          counts: addActivity(before, counts),
        });
      }
    }
  }
  return [...writes.values()];
}

/** The latest multiple of a length at or before an instant. */
export function floorTo(atMs: number, stepMs: number): number {
  return Math.floor(atMs / stepMs) * stepMs;
}
