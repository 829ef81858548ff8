/**
 * Counts the statistics of decisions, from their judgements.
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
  statDomain,
  type Stats,
} from "../stats/stats.ts";
import type { Judgement } from "./judge.ts";
import type { PlannedDescriptor } from "./plan.ts";
import { fixedStatPath } from "./stat_path.ts";

/** A planned descriptor of one kind. */
type Planned<K extends PlannedDescriptor["kind"]> = Extract<
  PlannedDescriptor,
  { readonly kind: K }
>;

/** The caches of the counters of rules. */
interface RuleStatsCaches {
  /** Counters for the paths of the configuration. */
  readonly configured: RuleStatsCache;
  /**
   * Counters for paths with values of requests. This cache has its own bound,
   * so that callers cannot use up the room for rules of the next configuration.
   */
  readonly requested: RuleStatsCache;
}

/** Most unknown domains that have a counter of their own. */
const MAX_UNKNOWN_DOMAINS = 1_000;

/** Counts the statistics that aren't about one rule. */
export class StatsRecorder {
  readonly #stats: Stats;
  readonly #caches: RuleStatsCaches;
  readonly #globalShadow: Counter;
  readonly #domainNotFound: Counter;
  readonly #unknownDomains = new Map<string, Counter>();

  /**
   * Makes a recorder that counts in `stats`, the hits of rules through
   * `caches`.
   */
  constructor(stats: Stats, caches: RuleStatsCaches) {
    this.#stats = stats;
    this.#caches = caches;
    this.#globalShadow = stats.counter("ratelimit.service.global_shadow_mode");
    this.#domainNotFound = stats.counter("ratelimit.service.domain_not_found");
  }

  /** Returns the tally of a snapshot's rules. */
  createTally(snapshot: Snapshot): RuleTally {
    return new RuleTally(snapshot, this.#caches);
  }

  /**
   * Counts the descriptors of a request whose domain has no rules: for the
   * domain, and in all.
   */
  domainNotFound(domain: string, descriptors: number): void {
    this.#domainNotFound.add(descriptors);
    const known = this.#unknownDomains.get(domain);
    if (known !== undefined) {
      known.add(descriptors);
      return;
    }
    const isFull = this.#unknownDomains.size >= MAX_UNKNOWN_DOMAINS ||
      domain.length > maxStatNameLength;
    const segment = isFull ? "overflow" : statDomain(domain);
    const counter = this.#stats.counter(
      `ratelimit.service.rate_limit.${segment}.domain_not_found`,
      { segments: [segment, "domain_not_found"] },
    );
    if (!isFull) this.#unknownDomains.set(domain, counter);
    counter.add(descriptors);
  }

  /** Counts a request that only global shadow mode let through. */
  globalShadow(): void {
    this.#globalShadow.add();
  }
}

/** Counts the statistics of one snapshot's rules. */
export class RuleTally {
  readonly #caches: RuleStatsCaches;
  readonly #rules: readonly Rule[];
  readonly #fixed: (RuleStats | undefined)[] = [];

  /**
   * Makes a tally; it looks up the statistics of a rule once, at its first hit
   * at the latest.
   */
  constructor(snapshot: Snapshot, caches: RuleStatsCaches) {
    this.#caches = caches;
    this.#rules = snapshot.rules;
  }

  /**
   * Looks up the statistics of all rules, so that all of them are shown from
   * now on; works on a few rules at a time between other work.
   */
  async showAll(pausing: Pausing): Promise<void> {
    // The rules are in force: work that waited for them goes first.
    await pausing.pause();
    for (const rule of this.#rules) {
      this.#statsOfRule(rule);
      const wait = pausing.pause();
      if (wait !== undefined) await wait;
    }
  }

  /** Counts a descriptor whose rule has no limit. */
  unlimited(planned: Planned<"unlimited">): void {
    const stats = this.#getStats(planned);
    if (planned.hits < 0) {
      stats.totalNegativeHits.add(-planned.hits);
    } else {
      stats.totalHits.add(planned.hits);
      stats.withinLimit.add(planned.hits);
    }
  }

  /** Counts a descriptor that touched a counter. */
  limited(planned: Planned<"limited">, judgement: Judgement): void {
    const stats = this.#getStats(planned);
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

  #getStats(planned: Planned<"limited"> | Planned<"unlimited">): RuleStats {
    const { statPath, rule } = planned;
    if (statPath !== undefined) {
      const { requested } = this.#caches;
      return requested.find(statPath) ??
        requested.forPath(statPath, rule && fixedStatPath(rule));
    }
    // The rule is there: only a limit that came with the request has no rule,
    // and such a limit has its own path.
    return this.#statsOfRule(rule!);
  }

  #statsOfRule(rule: Rule): RuleStats {
    return this.#fixed[rule.id] ??= this.#showRule(fixedStatPath(rule));
  }

  #showRule(path: string): RuleStats {
    return this.#caches.configured.forPath(path, path);
  }
}
