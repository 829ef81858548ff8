/**
 * Runs candidate rules beside the rules in force: each request is decided a
 * second time by the candidate's rules and counters, after its answer and
 * without delaying it, and the two decisions are compared.
 *
 * @module
 */

import { CODE } from "../../../proto/rate_limit_response.ts";
import { RequestView } from "../../../proto/request_view.ts";
import { quote } from "../../shared/quote.ts";
import { type Pausing, Slices } from "../../shared/slices.ts";
import type {
  CounterAnswer,
  CounterOperation,
  CounterResult,
  CounterStore,
} from "../counters/counter_store.ts";
import { windowStartSeconds } from "../counters/fixed_window.ts";
import type { DecisionWatcher, MadeDecision } from "../decision/decide.ts";
import type { DecisionRules } from "../decision/explain.ts";
import {
  composeResponse,
  judgeDescriptor,
  judgePlanned,
} from "../decision/judge.ts";
import {
  type Plan,
  type PlannedDescriptor,
  type PlannedLimit,
  planRequest,
} from "../decision/plan.ts";
import { CounterKeyWriter } from "../rules/counter_key.ts";
import {
  formatPath,
  type Limit,
  type Rule,
  type Snapshot,
} from "../rules/snapshot.ts";
import type { Counter, Stats } from "../stats/stats.ts";
import {
  type CountedDifference,
  type DifferenceKind,
  Differences,
  findDifference,
} from "./differences.ts";

/** How a {@linkcode CandidateComparison} is made. */
interface CandidateComparisonOptions {
  /** Keeps the candidate's counters and no others. */
  readonly store: CounterStore;
  /** How decisions are made; the same as those of the rules in force. */
  readonly rules: DecisionRules;
  /** Share of the candidate's counters that are kept, from 0 to 1. */
  readonly share: number;
  /** Most requests that wait for their comparison; further ones are dropped. */
  readonly maxInFlight: number;
  /** Gets the statistics `ratelimit.service.candidate.…`. */
  readonly stats: Stats;
  /**
   * Calls back when the answers in progress have been sent.
   *
   * @default setTimeout() without a delay
   */
  readonly later?: ((callback: () => void) => void) | undefined;
  /**
   * Lets other work run between comparisons.
   *
   * @default slices of their own
   */
  readonly pausing?: Pausing | undefined;
  /**
   * Gets the error of a comparison that threw, which is a fault of this
   * program.
   */
  readonly onError: (error: unknown) => void;
}

/** Totals of the comparisons, by the names of the statistics. */
type CandidateTotals = Readonly<Record<TotalName, number>>;

/** Report on a candidate: its rules, and how its decisions differ. */
export interface CandidateReport {
  /** The candidate's rules; undefined while there are none. */
  readonly snapshot: Snapshot | undefined;
  /** When those rules were loaded, in Unix seconds. */
  readonly sinceSeconds: number;
  /** Totals since the start of the process. */
  readonly totals: CandidateTotals;
  /**
   * Differences by pair of rules since the candidate's rules were loaded, the
   * most frequent first.
   */
  readonly differences: readonly CountedDifference[];
  /** Number of differences of pairs that found no room in `differences`. */
  readonly otherDifferences: number;
}

type TotalName = typeof TOTALS[number];

/** Names of the totals: those of descriptors first, then those of requests. */
const TOTALS = [
  "compared",
  "same",
  "would_refuse",
  "would_allow",
  "other_limit",
  "other_rule",
  "too_early",
  "requests_compared",
  "requests_would_refuse",
  "requests_would_allow",
  "requests_dropped",
  "requests_failed",
] as const;

/** Most bytes of memory that waiting requests take, approximately. */
const MAX_WAITING_BYTES = 8_388_608;
/**
 * Most copies of requests that are kept for reuse, and bytes of the largest.
 */
const MAX_SPARE_VIEWS = 256;
const MAX_SPARE_BYTES = 4_096;

interface Serving {
  readonly snapshot: Snapshot;
  readonly sinceSeconds: number;
  /** Unix seconds since which the counters of each rule have been kept. */
  readonly countedSince: ReadonlyMap<Rule, number>;
}

interface Waiting {
  readonly view: RequestView;
  readonly nowSeconds: number;
  readonly live: MadeDecision;
  readonly bytes: number;
}

/** Compares every decision with the one that the candidate would have made. */
export class CandidateComparison implements DecisionWatcher {
  readonly #options: CandidateComparisonOptions;
  readonly #counters: Readonly<Record<TotalName, Counter>>;
  readonly #totals: Record<TotalName, number>;
  readonly #differences = new Differences();
  /** Copies of requests that can be reused. */
  readonly #spare: RequestView[] = [];
  readonly #slices = new Slices();
  readonly #later: (callback: () => void) => void;
  #serving: Serving | undefined;
  #waiting: Waiting[] = [];
  #isDraining = false;
  #isStopped = false;
  /** When the candidate last missed counting a request, in Unix seconds. */
  #gapSeconds = -Infinity;
  #inFlight = 0;
  #inFlightBytes = 0;

  /** Makes a comparison; it does nothing before it has rules. */
  constructor(options: CandidateComparisonOptions) {
    this.#options = options;
    this.#later = options.later ?? ((callback) => void setTimeout(callback, 0));
    const byName = <T>(make: (name: TotalName) => T) =>
      Object.fromEntries(TOTALS.map((name) => [name, make(name)])) as Record<
        TotalName,
        T
      >;
    this.#totals = byName(() => 0);
    this.#counters = byName((name) =>
      options.stats.counter(`ratelimit.service.candidate.${name}`)
    );
  }

  /** The candidate's rules; undefined before the first. */
  get snapshot(): Snapshot | undefined {
    return this.#serving?.snapshot;
  }

  /**
   * Takes new rules of the candidate; differences under earlier rules are
   * forgotten.
   */
  adopt(snapshot: Snapshot, nowSeconds: number): void {
    const before = new Map<string | undefined, number>();
    for (const [rule, since] of this.#serving?.countedSince ?? []) {
      before.set(ageKey(rule), since);
    }
    const countedSince = new Map<Rule, number>();
    for (const rule of snapshot.rules) {
      if (rule.limit === undefined) continue;
      countedSince.set(rule, before.get(ageKey(rule)) ?? nowSeconds);
    }
    this.#serving = { snapshot, sinceSeconds: nowSeconds, countedSince };
    this.#differences.clear();
  }

  /**
   * Copies the request for its comparison, or drops it when too many wait
   * already.
   */
  begin(
    view: RequestView,
    nowSeconds: number,
  ): ReturnType<DecisionWatcher["begin"]> {
    if (this.#serving === undefined || this.#isStopped) return undefined;
    const bytes = view.footprintBytes;
    if (
      this.#inFlight >= this.#options.maxInFlight ||
      this.#inFlightBytes + bytes > MAX_WAITING_BYTES
    ) {
      this.#count("requests_dropped");
      this.#gapSeconds = nowSeconds;
      return undefined;
    }
    this.#inFlight++;
    this.#inFlightBytes += bytes;
    const copy = this.#spare.pop() ?? new RequestView();
    view.copyInto(copy);
    return (live) => {
      if (live === undefined) return this.#release({ view: copy, bytes });
      this.#waiting.push({ view: copy, nowSeconds, live, bytes });
      if (this.#isDraining) return;
      this.#isDraining = true;
      this.#later(() => void this.#drain());
    };
  }

  /** Returns what the comparisons have found so far. */
  report(): CandidateReport {
    return {
      snapshot: this.#serving?.snapshot,
      sinceSeconds: this.#serving?.sinceSeconds ?? 0,
      totals: { ...this.#totals },
      differences: this.#differences.list(),
      otherDifferences: this.#differences.others,
    };
  }

  /** Ends the comparison; requests that wait are dropped. */
  stop(): void {
    this.#isStopped = true;
    this.#waiting = [];
  }

  async #drain(): Promise<void> {
    const pausing = this.#options.pausing ?? this.#slices.open();
    while (this.#waiting.length > 0) {
      const waiting = this.#waiting;
      this.#waiting = [];
      for (const one of waiting) {
        if (this.#isStopped) return;
        this.#guarded(one, () => this.#compare(one));
        const wait = pausing.pause();
        if (wait !== undefined) await wait;
      }
    }
    this.#isDraining = false;
  }

  #compare(waiting: Waiting): void {
    const serving = this.#serving!;
    const { view, nowSeconds } = waiting;
    const { rules, share, store } = this.#options;
    const plan = planRequest(view, {
      snapshot: serving.snapshot,
      keys: new CounterKeyWriter(rules.keyFormat),
    });
    // A request that is invalid is so under any rules: nothing to compare.
    if (plan.kind === "invalid") return this.#release(waiting);
    const kept = plan.operations.filter((operation) =>
      isKept(plan.keys, operation, share)
    );
    const settle = (answer: CounterAnswer): void => {
      if (answer.kind === "unavailable") {
        this.#count("requests_failed");
        this.#gapSeconds = nowSeconds;
      } else {
        const results = new Map(
          kept.map((operation, index) => [operation, answer.results[index]!]),
        );
        this.#judge(waiting, { plan, results, serving });
      }
      this.#release(waiting);
    };
    if (kept.length === 0) return settle({ kind: "counted", results: [] });
    const answer = store.apply({
      domain: plan.domain ?? "",
      keys: plan.keys,
      operations: kept,
      nowSeconds,
      stopWhenOver: !plan.countWhenLimited || rules.stopWhenOver,
    });
    if (answer instanceof Promise) {
      void answer.then((settled) =>
        this.#guarded(waiting, () => settle(settled))
      );
    } else settle(answer);
  }

  /**
   * Runs a part of a comparison and catches its errors: none may end the
   * process, which makes the real decisions.
   */
  #guarded(waiting: Waiting, work: () => void): void {
    try {
      work();
    } catch (error) {
      this.#release(waiting);
      this.#count("requests_failed");
      this.#options.onError(error);
    }
  }

  #judge(
    { view, nowSeconds, live }: Waiting,
    { plan, results, serving }: {
      readonly plan: Plan;
      readonly results: ReadonlyMap<CounterOperation, CounterResult>;
      readonly serving: Serving;
    },
  ): void {
    const { rules } = this.#options;
    const findResult = (limit: PlannedLimit): CounterResult | undefined =>
      results.get(plan.operations[limit.operation]!);
    const judged = plan.descriptors.map((planned) =>
      judgeDescriptor(planned, (limit) => {
        const result = findResult(limit);
        return result === undefined ? undefined : judgePlanned(limit, result, {
          nowSeconds,
          nearLimitRatio: rules.nearLimitRatio,
        });
      })
    );
    let isWhole = true;
    let isEarly = false;
    for (const [index, planned] of plan.descriptors.entries()) {
      if (
        listLimits(planned).some((limit) => findResult(limit) === undefined)
      ) {
        isWhole = false;
        continue;
      }
      const sides = {
        live: {
          planned: live.plan.descriptors[index]!,
          code: live.response.statuses[index]!.code,
        },
        candidate: { planned, code: judged[index]!.status.code },
      };
      const kind = findDifference(sides.live, sides.candidate);
      if (
        kind === "would_allow" &&
        listLimits(planned).some((limit) =>
          isTooEarly(limit, {
            serving,
            nowSeconds,
            gapSeconds: this.#gapSeconds,
          })
        )
      ) {
        isEarly = true;
        this.#count("compared");
        this.#count("too_early");
        continue;
      }
      this.#count("compared");
      this.#count(kind ?? "same");
      if (kind === undefined) continue;
      const example = () => describeDescriptor(view, index);
      this.#differences.add({ kind, ...sides, nowSeconds, example });
    }
    if (!isWhole || isEarly) return;
    const { overallCode } = composeResponse(judged, {
      quotaMode: rules.quotaMode,
      headers: undefined,
      requestMetadata: undefined,
    });
    const code = rules.shadowMode ? CODE.OK : overallCode;
    this.#count("requests_compared");
    if (code === live.response.overallCode) return;
    this.#count(
      code === CODE.OVER_LIMIT
        ? "requests_would_refuse"
        : "requests_would_allow",
    );
  }

  #count(name: TotalName | DifferenceKind): void {
    this.#totals[name]++;
    this.#counters[name].add();
  }

  #release({ view, bytes }: Pick<Waiting, "view" | "bytes">): void {
    this.#inFlight--;
    this.#inFlightBytes -= bytes;
    if (bytes <= MAX_SPARE_BYTES && this.#spare.length < MAX_SPARE_VIEWS) {
      this.#spare.push(view);
    }
  }
}

/**
 * Returns what tells the counters of a rule from others, whatever its limit;
 * rules with the same text share their counters. Undefined for an unlimited
 * rule.
 */
function ageKey(rule: Rule): string | undefined {
  const { limit } = rule;
  return limit && `${limit.window} ${limit.algorithm} ${formatPath(rule)}`;
}

/** Returns the limits of a descriptor, each of which has a counter. */
function listLimits(planned: PlannedDescriptor): readonly PlannedLimit[] {
  return planned.kind === "limited" ? [planned, ...planned.others ?? []] : [];
}

/**
 * True when the candidate has not counted the whole window, so that it may
 * allow what it would refuse if it had counted from the beginning.
 */
function isTooEarly(
  { rule, limit }: PlannedLimit,
  { serving, nowSeconds, gapSeconds }: {
    readonly serving: Serving;
    readonly nowSeconds: number;
    readonly gapSeconds: number;
  },
): boolean {
  const since = (rule && serving.countedSince.get(rule)) ??
    serving.sinceSeconds;
  const begin = windowBegin(limit, nowSeconds);
  return begin < since || begin <= gapSeconds;
}

function windowBegin(limit: Limit, nowSeconds: number): number {
  return limit.algorithm === "fixed_window"
    ? windowStartSeconds(nowSeconds, limit.windowSeconds)
    : nowSeconds - limit.windowSeconds;
}

const TWO_POW_32 = 0x1_0000_0000;

/**
 * True for counters that are kept. They are chosen by a hash of their keys that
 * is the same in every process, so that instances which share a store choose
 * the same counters.
 */
function isKept(
  keys: Uint8Array,
  { keyStart, keyEnd }: CounterOperation,
  share: number,
): boolean {
  if (share >= 1) return true;
  // FNV-1a, then the last steps of MurmurHash3, since keys differ at their end.
  let hash = 0x811c9dc5;
  for (let at = keyStart; at < keyEnd; at++) {
    hash = Math.imul(hash ^ keys[at]!, 0x01000193);
  }
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return ((hash ^ (hash >>> 16)) >>> 0) / TWO_POW_32 < share;
}

const MAX_EXAMPLE_CHARS = 200;

function describeDescriptor(view: RequestView, descriptor: number): string {
  const pairs: string[] = [];
  const last = view.lastEntry(descriptor);
  let length = 0;
  for (let entry = view.firstEntry(descriptor); entry < last; entry++) {
    const key = view.keyText(entry);
    const value = view.valueText(entry);
    length += key.length + value.length;
    pairs.push(`${key}=${value}`);
    if (length > MAX_EXAMPLE_CHARS) break;
  }
  return quote(pairs.join(","), { maxChars: MAX_EXAMPLE_CHARS });
}
