/**
 * Counts of each rule in the last minute and hour. The statistics of rules only
 * grow, so they are sampled: a decision does nothing for it.
 *
 * @module
 */

import { type Clock, steadyClock } from "../../shared/clock.ts";
import type { Logger } from "../../shared/logger.ts";
import { Periodic } from "../../shared/periodic.ts";
import { describeError } from "../../shared/settled.ts";
import type { Pausing } from "../../shared/slices.ts";
import type { Part } from "../../shared/stopper.ts";
import type { StatsRegistry } from "../stats/registry.ts";
import type { CounterCell } from "../stats/stat_cell.ts";
import { SlotRing } from "./slot_ring.ts";

/** What was counted, in hits. */
export interface RuleFigures {
  /** All hits. */
  readonly hits: number;
  /** Hits beyond the limit. */
  readonly over: number;
  /** Hits within the limit but near it. */
  readonly near: number;
  /** Hits of calls that were within the limit. */
  readonly within: number;
  /** Hits beyond the limit that shadow mode let pass. */
  readonly shadow: number;
}

/** What was counted lately. */
export interface RecentFigures {
  /** Within the last minute, to five seconds. */
  readonly minute: RuleFigures;
  /** Within the last hour, to a minute. */
  readonly hour: RuleFigures;
}

/** What a rule counted lately by one path of statistics. */
export interface PathActivity extends RecentFigures {
  /** The path, as `statPathText()` shows it; a part may hold dots. */
  readonly path: string;
}

/** What a rule did in each minute of the last hour, the oldest first. */
export type RuleHistory = {
  readonly [F in keyof RuleFigures]: readonly number[];
};

/** What the statistics of a rule end in, in the order of its figures. */
const ENDINGS: readonly string[] = [
  "total_hits",
  "over_limit",
  "near_limit",
  "within_limit",
  "shadow_mode",
];

/** Milliseconds between two samples. */
const SAMPLE_MS = 1_000;
const HOUR_MS = 3_600_000;
const MINUTE_RING = { slotMs: 5_000, slots: 12, figures: ENDINGS.length };
const HOUR_RING = { slotMs: 60_000, slots: 60, figures: ENDINGS.length };
/** Paths with rings, which take about 2 kB each. */
const MAX_RECENT = 15_000;
/** Paths that are sampled at a time. */
const STRETCH = 1_000;
/** Separates the parts of a path; no part contains it. */
const SEPARATOR = "\n";

interface Recent {
  readonly minute: SlotRing;
  readonly hour: SlotRing;
  changedMs: number;
}

interface Tracked {
  readonly path: string;
  readonly rule: string | undefined;
  /** The counters by figure; one that no thread used may be missing. */
  readonly cells: (CounterCell | undefined)[];
  /** The totals at the sample before; undefined before the first hit. */
  seen: number[] | undefined;
  recent: Recent | undefined;
}

/** How a {@linkcode RuleActivity} is made. */
interface RuleActivityOptions {
  /** Keeps the statistics. */
  readonly registry: Pick<StatsRegistry, "watch">;
  /** Lets decisions run in between. */
  readonly pausing: Pausing;
  /** Gives the time. */
  readonly clock: Clock;
  /** Gets the line about a sample that failed. */
  readonly logger: Pick<Logger, "error">;
}

/**
 * Samples the statistics of rules each second. Only paths with hits within the
 * last hour take memory, fifteen thousand at most.
 */
export class RuleActivity implements Part {
  /** The name of the part in logs. */
  readonly name = "rule activity";
  readonly #clock: Pick<Clock, "nowMs">;
  readonly #pausing: Pausing;
  readonly #tracked: Tracked[] = [];
  readonly #byPath = new Map<string, Tracked>();
  readonly #recent = new Set<Tracked>();
  readonly #samples: Periodic;

  /** Makes an activity that begins with its start. */
  constructor({ registry, pausing, clock, logger }: RuleActivityOptions) {
    this.#clock = steadyClock(clock);
    this.#pausing = pausing;
    registry.watch((cell) => {
      if (cell.kind === "counter") this.#track(cell);
    });
    this.#samples = new Periodic({
      clock,
      intervalMs: SAMPLE_MS,
      run: () => this.sample(),
      onError: (error) =>
        logger.error("Cannot sample the statistics of rules", {
          error: describeError(error),
        }),
    });
  }

  /** Begins to sample. */
  start(): Promise<void> {
    this.#samples.start();
    return Promise.resolve();
  }

  /** Ends sampling. */
  stop(): Promise<void> {
    return this.#samples.stop();
  }

  /** Takes one sample, a few statistics at a time. */
  async sample(): Promise<void> {
    for (let next = 0; next < this.#tracked.length; next += STRETCH) {
      const nowMs = this.#clock.nowMs();
      for (const tracked of this.#tracked.slice(next, next + STRETCH)) {
        this.#sampleOne(tracked, nowMs);
      }
      await this.#pausing.pause();
    }
  }

  /**
   * Returns what each rule did, by its path as configured (`fixedStatPath()`);
   * the empty path has what belongs to no rule. Rules without hits are left
   * out.
   */
  byRule(): ReadonlyMap<string, RecentFigures> {
    const nowMs = this.#clock.nowMs();
    const sums = new Map<string, RecentFigures>();
    for (const { rule = "", recent } of this.#recent) {
      const own = readRecent(recent!, nowMs);
      const before = sums.get(rule);
      sums.set(rule, before === undefined ? own : addRecent(before, own));
    }
    return sums;
  }

  /**
   * Returns what a rule counted by each of its paths: several when its
   * statistics show values of requests.
   */
  paths(rule: string): readonly PathActivity[] {
    const nowMs = this.#clock.nowMs();
    return this.#ofRule(rule).map(({ path, recent }) => ({
      path: path.replaceAll(SEPARATOR, "."),
      ...readRecent(recent!, nowMs),
    }));
  }

  /** Returns what a rule did in each minute of the last hour. */
  history(rule: string): RuleHistory {
    const nowMs = this.#clock.nowMs();
    const own = this.#ofRule(rule);
    const seriesOf = (figure: number): readonly number[] => {
      const series = new Array<number>(HOUR_RING.slots).fill(0);
      for (const { recent } of own) {
        recent!.hour.addSeries(figure, series, nowMs);
      }
      return series;
    };
    return {
      hits: seriesOf(0),
      over: seriesOf(1),
      near: seriesOf(2),
      within: seriesOf(3),
      shadow: seriesOf(4),
    };
  }

  #ofRule(path: string): readonly Tracked[] {
    return [...this.#recent].filter(({ rule = "" }) => rule === path);
  }

  #track(cell: CounterCell): void {
    const { segments = [], rule } = cell.origin ?? {};
    const figure = ENDINGS.indexOf(segments.at(-1) ?? "");
    if (figure === -1) return;
    const path = segments.slice(0, -1).join(SEPARATOR);
    let tracked = this.#byPath.get(path);
    if (tracked === undefined) {
      tracked = { path, rule, cells: [], seen: undefined, recent: undefined };
      this.#byPath.set(path, tracked);
      this.#tracked.push(tracked);
    }
    tracked.cells[figure] = cell;
  }

  #sampleOne(tracked: Tracked, nowMs: number): void {
    const { cells, recent } = tracked;
    // Nothing else grows without the hits.
    const hits = cells[0]?.total ?? 0;
    if (hits === (tracked.seen?.[0] ?? 0)) {
      if (recent !== undefined && nowMs - recent.changedMs > HOUR_MS) {
        tracked.recent = undefined;
        this.#recent.delete(tracked);
      }
      return;
    }
    const seen = tracked.seen ??= new Array<number>(ENDINGS.length).fill(0);
    const kept = recent ?? this.#makeRecent(tracked);
    for (const [figure, before] of seen.entries()) {
      const total = cells[figure]?.total ?? 0;
      if (total === before) continue;
      seen[figure] = total;
      if (kept === undefined) continue;
      // A total below what was seen has begun again.
      const amount = total < before ? total : total - before;
      kept.minute.add(figure, amount, nowMs);
      kept.hour.add(figure, amount, nowMs);
    }
    if (kept !== undefined) kept.changedMs = nowMs;
  }

  #makeRecent(tracked: Tracked): Recent | undefined {
    if (this.#recent.size >= MAX_RECENT) return undefined;
    this.#recent.add(tracked);
    return tracked.recent = {
      minute: new SlotRing(MINUTE_RING),
      hour: new SlotRing(HOUR_RING),
      changedMs: 0,
    };
  }
}

function readRecent({ minute, hour }: Recent, nowMs: number): RecentFigures {
  return { minute: readRing(minute, nowMs), hour: readRing(hour, nowMs) };
}

function readRing(ring: SlotRing, nowMs: number): RuleFigures {
  return {
    hits: ring.sum(0, nowMs),
    over: ring.sum(1, nowMs),
    near: ring.sum(2, nowMs),
    within: ring.sum(3, nowMs),
    shadow: ring.sum(4, nowMs),
  };
}

/** Adds what two rules, or two paths of a rule, did. */
export function addRecent(
  left: RecentFigures,
  right: RecentFigures,
): RecentFigures {
  return {
    minute: addFigures(left.minute, right.minute),
    hour: addFigures(left.hour, right.hour),
  };
}

function addFigures(left: RuleFigures, right: RuleFigures): RuleFigures {
  return {
    hits: left.hits + right.hits,
    over: left.over + right.over,
    near: left.near + right.near,
    within: left.within + right.within,
    shadow: left.shadow + right.shadow,
  };
}
