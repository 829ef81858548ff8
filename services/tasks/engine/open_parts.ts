/**
 * Puts together what the engine's parts share.
 *
 * @module
 */

import type { Clock } from "../../shared/clock.ts";
import type { Logger } from "../../shared/logger.ts";
import type { PlanLimits } from "../domain/plan.ts";
import { createRuleCache } from "../domain/rules.ts";
import type { Tenant } from "../domain/tenant.ts";
import type { Store } from "../store/store.ts";
import { openBooks, REGISTRY } from "./books.ts";
import type { EngineParts } from "./parts.ts";
import { RecordCache } from "./record_cache.ts";
import { tenantOfInternal, Workers } from "./workers.ts";

/** Policies and schedules that are kept as read. */
const MAX_RULES = 10_000;

/** What is given from outside. */
export interface PartsOptions {
  /** Keeps everything. */
  readonly store: Store;
  /** The limits of a plan, by its id. */
  readonly limitsOfPlan: (plan: string) => PlanLimits;
  /** The time. */
  readonly clock: Clock;
  /** Gives a number from 0 to before 1. */
  readonly random: () => number;
  /** Makes ids: a prefix, `_` and 26 characters that sort by time. */
  readonly newId: (prefix: string) => string;
  /** Hears about faults. */
  readonly logger: Logger;
}

/** Puts the parts together; records are remembered between reads from here on. */
export function openParts(options: PartsOptions): EngineParts {
  const { store, limitsOfPlan, newId } = options;
  const cache = new RecordCache(store);
  const books = openBooks({ cache, store });
  const tenantOf = (tenantId: string): Promise<Tenant | undefined> =>
    books.tenants.get(REGISTRY, tenantOfInternal(tenantId) ?? tenantId);
  return {
    store: withCache(store, cache),
    books,
    workers: new Workers(books.workers),
    ruleCache: createRuleCache(MAX_RULES),
    async limitsOf(tenantId) {
      return limitsOfPlan((await tenantOf(tenantId))?.plan ?? "");
    },
    async isServed(tenantId) {
      return (await tenantOf(tenantId))?.status !== "suspended";
    },
    clock: options.clock,
    random: options.random,
    newId,
    bootId: newId("boot"),
    logger: options.logger,
  };
}

/** The same store, whose commits the memory hears of. */
function withCache(store: Store, cache: RecordCache): Store {
  return new Proxy(store, {
    get(target, name) {
      if (name === "commit") return cache.commit.bind(cache);
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}
