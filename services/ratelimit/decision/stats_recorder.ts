/**
 * Statistics of decisions, taken from the judgements after the fact.
 *
 * @module
 */

import { CODE } from "../../../proto/rate_limit_response.ts";
import type { Pausing } from "../../shared/slices.ts";
import type { Rule, Snapshot } from "../rules/snapshot.ts";
import {
  type Counter,
  maxStatNameLength,
  type RuleStats,
  type RuleStatsCache,
  type Stats,
  statSegment,
} from "../stats/stats.ts";
import type { Judgement } from "./judge.ts";
import type { PlannedDescriptor } from "./plan.ts";
import { fixedStatPath } from "./stat_path.ts";

/** What is planned for a descriptor, of one kind. */
type Planned<K extends PlannedDescriptor["kind"]> = Extract<
  PlannedDescriptor,
  { readonly kind: K }
>;

/** Where the counters of rules are found. */
interface RuleStatsCaches {
  /** For the paths of the configuration. */
  readonly configured: RuleStatsCache;
  /**
   * For paths that callers make: with a bound of its own, so that no caller
   * takes the room of a rule that comes with the next configuration.
   */
  readonly requested: RuleStatsCache;
}

/** Most unknown domains with a counter of their own. */
const MAX_UNKNOWN_DOMAINS = 1_000;

/** Takes the statistics of everything that isn't about one rule. */
export class StatsRecorder {
  readonly #stats: Stats;
  readonly #caches: RuleStatsCaches;
  readonly #globalShadow: Counter;
  readonly #unknownDomains = new Map<string, Counter>();

  /** A recorder that counts in `stats`, the counters of rules through `caches`. */
  constructor(stats: Stats, caches: RuleStatsCaches) {
    this.#stats = stats;
    this.#caches = caches;
    this.#globalShadow = stats.counter("ratelimit.service.global_shadow_mode");
  }

  /** The tally of one snapshot's rules. */
  rulesOf(snapshot: Snapshot): RuleTally {
    return new RuleTally(snapshot, this.#caches);
  }

  /** Descriptors of a request whose domain has no rules. */
  domainNotFound(domain: string, descriptors: number): void {
    const known = this.#unknownDomains.get(domain);
    if (known !== undefined) {
      known.add(descriptors);
      return;
    }
    const isFull = this.#unknownDomains.size >= MAX_UNKNOWN_DOMAINS ||
      domain.length > maxStatNameLength;
    const segment = isFull ? "overflow" : statSegment(domain);
    const counter = this.#stats.counter(
      `ratelimit.service.rate_limit.${segment}.domain_not_found`,
      [segment, "domain_not_found"],
    );
    if (!isFull) this.#unknownDomains.set(domain, counter);
    counter.add(descriptors);
  }

  /** A request that was let through by global shadow mode alone. */
  globalShadow(): void {
    this.#globalShadow.add();
  }
}

/** Takes the statistics of one snapshot's rules. */
export class RuleTally {
  readonly #caches: RuleStatsCaches;
  readonly #rules: readonly Rule[];
  readonly #fixed: (RuleStats | undefined)[] = [];

  /** Looks the statistics of a rule up once, with its first hit at the latest. */
  constructor(snapshot: Snapshot, caches: RuleStatsCaches) {
    this.#caches = caches;
    this.#rules = snapshot.rules;
  }

  /**
   * Looks the statistics of all rules up, so that each of them shows from now
   * on, a few at a time between other work.
   */
  async showAll(pausing: Pausing): Promise<void> {
    // The rules are in force: what has waited for them comes first.
    await pausing.pause();
    for (const rule of this.#rules) {
      this.#statsOfRule(rule);
      const wait = pausing.pause();
      if (wait !== undefined) await wait;
    }
  }

  /** A descriptor whose rule has no limit. */
  unlimited(planned: Planned<"unlimited">): void {
    const stats = this.#statsOf(planned);
    if (planned.hits < 0) {
      stats.totalNegativeHits.add(-planned.hits);
    } else {
      stats.totalHits.add(planned.hits);
      stats.withinLimit.add(planned.hits);
    }
  }

  /** A descriptor that touched a counter. */
  limited(planned: Planned<"limited">, judgement: Judgement): void {
    const stats = this.#statsOf(planned);
    if (planned.hits < 0) {
      stats.totalNegativeHits.add(-planned.hits);
      return;
    }
    stats.totalHits.add(planned.hits);
    stats.overLimit.add(judgement.overHits);
    stats.nearLimit.add(judgement.nearHits);
    stats.withinLimit.add(judgement.withinHits);
    if (judgement.isFromCache) {
      stats.overLimitWithLocalCache.add(judgement.overHits);
    }
    const over = judgement.code === CODE.OVER_LIMIT;
    if (over && planned.rule?.shadowMode === true) {
      stats.shadowMode.add(judgement.overHits);
    }
  }

  #statsOf(planned: Planned<"limited"> | Planned<"unlimited">): RuleStats {
    if (planned.statPath !== undefined) {
      return this.#caches.requested.forPath(planned.statPath);
    }
    // Only a limit that came with the request has no rule, and its path is set.
    return this.#statsOfRule(planned.rule!);
  }

  #statsOfRule(rule: Rule): RuleStats {
    return this.#fixed[rule.id] ??= this.#caches.configured.forPath(
      fixedStatPath(rule),
    );
  }
}
