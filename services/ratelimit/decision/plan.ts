/**
 * Plans which counters a request touches: every descriptor is matched, replaced
 * rules are dropped, and what is left becomes one batch for the store.
 *
 * @module
 */

import type { RequestView } from "../../../proto/request_view.ts";
import type { CounterOperation } from "../counters/counter_store.ts";
import type { CounterKeyWriter, RuleKeys } from "../rules/counter_key.ts";
import {
  type DomainRules,
  type Limit,
  matchDescriptor,
  type Rule,
  type Snapshot,
} from "../rules/snapshot.ts";
import { UNIT_SECONDS, unitOfNumber } from "../rules/unit.ts";
import { overrideStatPath, ruleStatPath } from "./stat_path.ts";

/** The plan for one descriptor. */
export type PlannedDescriptor =
  /** No limit applies. */
  | { readonly kind: "free" }
  /** The rule that applies has no limit. */
  | {
    readonly kind: "unlimited";
    readonly rule: Rule;
    readonly hits: number;
    readonly statPath: string | undefined;
  }
  /** A counter is touched. */
  | {
    readonly kind: "limited";
    readonly limit: Limit;
    /** Undefined when the limit came with the request. */
    readonly rule: Rule | undefined;
    /** Hits to count; less than 0 when they are given back. */
    readonly hits: number;
    /** Path of the statistics; undefined for the rule's own path. */
    readonly statPath: string | undefined;
    /** Index of the operation in the batch. */
    readonly operation: number;
    /** The other limits of the descriptor; undefined for a single one. */
    readonly others: readonly PlannedLimit[] | undefined;
  };

/** The plan for a limit: a counter is touched. */
export type PlannedLimit = Extract<
  PlannedDescriptor,
  { readonly kind: "limited" }
>;

/** The plan for a request. */
export interface Plan {
  /** Tells a plan from a request that is wrong. */
  readonly kind: "plan";
  /** One plan for each descriptor, in the order of the request. */
  readonly descriptors: readonly PlannedDescriptor[];
  /** The bytes of all counter keys; a later plan may overwrite them. */
  readonly keys: Uint8Array;
  /** The counters to touch. */
  readonly operations: readonly CounterOperation[];
  /** The domain of the request; undefined when it has no rules. */
  readonly domain: string | undefined;
  /** False when a call that one limit refuses is not counted by the others. */
  readonly countWhenLimited: boolean;
}

/** A request that can't be answered, and why. */
export interface InvalidRequest {
  /** Tells it from a plan. */
  readonly kind: "invalid";
  /** The message for the caller. */
  readonly reason: string;
}

const FREE: PlannedDescriptor = { kind: "free" };

/**
 * Plans one request against one snapshot.
 *
 * @param options.keys Takes the keys of the counters. It is cleared first, so
 * the keys of a plan are valid until it is used again.
 */
export function planRequest(
  view: RequestView,
  options: {
    readonly snapshot: Snapshot;
    readonly keys: CounterKeyWriter;
  },
): Plan | InvalidRequest {
  if (view.domainStart === view.domainEnd) {
    return invalid("rate limit domain must not be empty");
  }
  if (view.descriptorCount === 0) {
    return invalid("rate limit descriptor list must not be empty");
  }
  const unit = invalidOverrideUnit(view);
  if (unit !== undefined) {
    return invalid(
      `rate limit override has no usable unit: ${unit}, expected 1 (SECOND) ` +
        "to 7 (WEEK)",
    );
  }
  const domain = options.snapshot.domains.get(
    view.bytes,
    view.domainStart,
    view.domainEnd,
  );
  if (domain === undefined) {
    return {
      kind: "plan",
      descriptors: new Array<PlannedDescriptor>(view.descriptorCount).fill(
        FREE,
      ),
      keys: new Uint8Array(0),
      operations: [],
      domain: undefined,
      countWhenLimited: true,
    };
  }
  return new Planner(view, domain, {
    keys: options.keys,
    ruleKeys: options.snapshot.ruleKeys,
  }).plan();
}

class Planner {
  readonly #view: RequestView;
  readonly #domain: DomainRules;
  readonly #keys: CounterKeyWriter;
  readonly #ruleKeys: RuleKeys;
  readonly #operations: CounterOperation[] = [];

  constructor(
    view: RequestView,
    domain: DomainRules,
    { keys, ruleKeys }: {
      readonly keys: CounterKeyWriter;
      readonly ruleKeys: RuleKeys;
    },
  ) {
    this.#view = view;
    this.#domain = domain;
    this.#keys = keys;
    this.#ruleKeys = ruleKeys;
    keys.clear();
  }

  plan(): Plan {
    const count = this.#view.descriptorCount;
    const rules = new Array<Rule | undefined>(count);
    let replaced: Set<string> | undefined;
    for (let descriptor = 0; descriptor < count; descriptor++) {
      if (this.#view.hasLimit(descriptor)) continue;
      const rule = matchDescriptor(this.#domain, this.#view, descriptor)?.rule;
      rules[descriptor] = rule;
      if (rule === undefined) continue;
      if (rule.replaces.length > 0) replaced = addNames(replaced, rule);
      for (const other of rule.others) replaced = addNames(replaced, other);
    }
    const descriptors = new Array<PlannedDescriptor>(count);
    for (let descriptor = 0; descriptor < count; descriptor++) {
      descriptors[descriptor] = this.#view.hasLimit(descriptor)
        ? this.#override(descriptor)
        : this.#matched(descriptor, { rule: rules[descriptor], replaced });
    }
    return {
      kind: "plan",
      descriptors,
      keys: this.#keys.bytes,
      operations: this.#operations,
      domain: this.#domain.domain,
      countWhenLimited: this.#domain.countWhenLimited,
    };
  }

  #matched(
    descriptor: number,
    found: {
      readonly rule: Rule | undefined;
      readonly replaced: ReadonlySet<string> | undefined;
    },
  ): PlannedDescriptor {
    const { rule, replaced } = found;
    if (rule === undefined) return FREE;
    // An unlimited rule is handled first: it takes no hits, so it does not
    // matter whether it is replaced.
    if (rule.limit === undefined) {
      const statPath = this.#statPath(descriptor, rule);
      const hits = countHits(this.#view, descriptor);
      return { kind: "unlimited", rule, hits, statPath };
    }
    if (rule.others.length > 0) return this.#several(descriptor, found);
    return isReplaced(rule, replaced)
      ? FREE
      : this.#limited(descriptor, { rule, limit: rule.limit });
  }

  /** Plans a descriptor with several limits, of which some may be replaced. */
  #several(
    descriptor: number,
    { rule, replaced }: {
      readonly rule: Rule | undefined;
      readonly replaced: ReadonlySet<string> | undefined;
    },
  ): PlannedDescriptor {
    const planned: PlannedLimit[] = [];
    for (const one of [rule!, ...rule!.others]) {
      const { limit } = one;
      if (limit === undefined || isReplaced(one, replaced)) continue;
      planned.push(this.#limited(descriptor, { rule: one, limit }));
    }
    const [first, ...others] = planned;
    if (first === undefined) return FREE;
    return others.length === 0 ? first : { ...first, others };
  }

  #limited(
    descriptor: number,
    { rule, limit }: { readonly rule: Rule; readonly limit: Limit },
  ): PlannedLimit {
    const hits = countHits(this.#view, descriptor);
    const start = this.#keys.length;
    this.#writeRuleKey(descriptor, rule);
    const refuses = !rule.shadowMode || this.#domain.countWhenLimited;
    return {
      kind: "limited",
      limit,
      rule,
      hits,
      statPath: this.#statPath(descriptor, rule),
      operation: this.#operation({ start, hits, limit, refuses }),
      others: undefined,
    };
  }

  #statPath(descriptor: number, rule: Rule): string | undefined {
    return rule.hasDynamicPath
      ? ruleStatPath(rule, { view: this.#view, descriptor })
      : undefined;
  }

  #override(descriptor: number): PlannedDescriptor {
    const view = this.#view;
    const unit = unitOfNumber(view.limitUnit(descriptor))!;
    const limit: Limit = {
      requestsPerUnit: view.limitRequestsPerUnit(descriptor),
      unit,
      windowSeconds: UNIT_SECONDS[unit],
      window: unit.toLowerCase(),
      // The protocol cannot name another algorithm.
      algorithm: "fixed_window",
      burst: undefined,
    };
    const hits = countHits(view, descriptor);
    const start = this.#keys.length;
    this.#writeOverrideKey(descriptor, limit);
    return {
      kind: "limited",
      limit,
      rule: undefined,
      hits,
      statPath: overrideStatPath(this.#domain.domain, { view, descriptor }),
      operation: this.#operation({ start, hits, limit, refuses: true }),
      others: undefined,
    };
  }

  #writeRuleKey(descriptor: number, rule: Rule): void {
    const view = this.#view;
    const first = view.firstEntry(descriptor);
    const { keyPrefix } = this.#domain;
    for (const part of this.#ruleKeys.getParts(rule, keyPrefix)) {
      this.#keys.raw(part.bytes);
      if (part.valueOfEntry === -1) continue;
      const entry = first + part.valueOfEntry;
      this.#keys.text(view.bytes, view.valueStart(entry), view.valueEnd(entry));
    }
  }

  #writeOverrideKey(descriptor: number, limit: Limit): void {
    const view = this.#view;
    const { bytes } = view;
    this.#keys.raw(this.#domain.keyPrefix);
    const last = view.lastEntry(descriptor);
    for (let entry = view.firstEntry(descriptor); entry < last; entry++) {
      this.#keys.text(bytes, view.keyStart(entry), view.keyEnd(entry));
      this.#keys.separator();
      this.#keys.text(bytes, view.valueStart(entry), view.valueEnd(entry));
      this.#keys.separator();
    }
    this.#keys.window(limit);
  }

  #operation(
    from: {
      readonly start: number;
      readonly hits: number;
      readonly limit: Limit;
      readonly refuses: boolean;
    },
  ): number {
    return this.#operations.push({
      algorithm: from.limit.algorithm,
      keyStart: from.start,
      keyEnd: this.#keys.length,
      hits: from.hits,
      limit: from.limit.requestsPerUnit,
      burst: from.limit.burst,
      windowSeconds: from.limit.windowSeconds,
      refuses: from.refuses,
    }) - 1;
  }
}

function addNames(
  names: Set<string> | undefined,
  { replaces }: Rule,
): Set<string> | undefined {
  if (replaces.length === 0) return names;
  const all = names ?? new Set();
  for (const name of replaces) all.add(name);
  return all;
}

function isReplaced(
  { name }: Rule,
  replaced: ReadonlySet<string> | undefined,
): boolean {
  return name !== "" && replaced?.has(name) === true;
}

/**
 * Returns the hits of a descriptor: its own number if it brings one, where 0
 * only looks; else the request's, where 0 means that none was sent and counts
 * as 1.
 */
function countHits(view: RequestView, descriptor: number): number {
  const hits = view.hasHitsAddend(descriptor)
    ? view.descriptorHitsAddend(descriptor)
    : Math.max(1, view.hitsAddend);
  return view.isNegativeHits(descriptor) && hits !== 0 ? -hits : hits;
}

function invalidOverrideUnit(view: RequestView): number | undefined {
  for (let at = 0; at < view.descriptorCount; at++) {
    if (!view.hasLimit(at)) continue;
    const unit = view.limitUnit(at);
    if (unitOfNumber(unit) === undefined) return unit;
  }
  return undefined;
}

function invalid(reason: string): InvalidRequest {
  return { kind: "invalid", reason };
}
