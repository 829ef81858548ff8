/**
 * The parts that all components of the engine share, such as the store, the
 * repositories and the clock, and the calendars that they have.
 *
 * @module
 */

import type { Clock } from "../../shared/clock.ts";
import type { Logger } from "../../shared/logger.ts";
import { andThen, type MaybePromise } from "../../shared/settled.ts";
import type { PlanLimits, Tenant } from "../domain/records.ts";
import { RuleCache } from "../domain/rules.ts";
import { type Calendars, NO_CALENDARS } from "../domain/schedule.ts";
import type { RepeatRule } from "../domain/task.ts";
import type { Store } from "../store/store.ts";
import { Instances } from "../../shared/instances.ts";
import { EventFeeds } from "./events/event_feeds.ts";
import { Notices } from "./notices.ts";
import { RecordCache } from "./record_cache.ts";
import type { RecordRepository } from "./record_repository.ts";
import {
  type Calendar,
  openRepositories,
  REGISTRY,
  type Repositories,
} from "./repositories.ts";
import { withCommit } from "../store/wrapped_store.ts";
import type { WriteParts } from "./task_writes.ts";
import { tenantOfInternal, Workers } from "./workers.ts";

/**
 * The background work that one instance at a time does, the most urgent first.
 * Each of them may be done twice for a moment without harm.
 */
export const DUTIES = [
  "recover",
  "wake",
  "bulk",
  "reconcile",
  "callbacks",
  "erase",
  "secrets",
  "sweep",
  "audit",
  "watch",
  "webhooks",
  "alerts",
] as const;

/** The name of a duty. */
export type DutyName = typeof DUTIES[number];

/** The parts, which are created once and shared. */
export interface EngineParts extends WriteParts {
  /** The store of all data. Commits through it also update the record cache. */
  readonly store: Store;
  /** Typed access to records. */
  readonly repositories: Repositories;
  /** The workers, including the service's own internal ones. */
  readonly workers: Workers;
  /** The cache of parsed retry policies and schedules. */
  readonly ruleCache: RuleCache;
  /** The limits of a tenant's plan. */
  readonly findLimits: (tenantId: string) => MaybePromise<PlanLimits>;
  /**
   * Whether a tenant's tasks may start; false while the tenant is suspended.
   */
  readonly isServed: (tenantId: string) => MaybePromise<boolean>;
  /** Returns a random number from 0 to before 1. */
  readonly random: () => number;
  /** This instance of the service among those that share the store. */
  readonly instances: Instances<DutyName>;
  /** What this instance tells the others. */
  readonly notices: Notices;
  /** Those who read events at this instance. */
  readonly events: EventFeeds;
  /** Logs faults. */
  readonly logger: Logger;
}

/** The most parsed policies, and the most schedules, that are cached. */
const MAX_RULES = 10_000;

/** Options of {@linkcode openParts}. */
interface PartsOptions {
  /** The store of all data. */
  readonly store: Store;
  /** The limits of a plan, by its id. */
  readonly limitsOfPlan: (plan: string) => PlanLimits;
  /** The store's time, by which the engine judges all instants. */
  readonly clock: Clock;
  /** Returns a random number from 0 to before 1. */
  readonly random: () => number;
  /**
   * Where this instance listens, for people.
   *
   * @default nowhere
   */
  readonly address?: string | undefined;
  /** Creates ids: a prefix, `_` and 26 characters that sort by time. */
  readonly newId: (prefix: string) => string;
  /** Logs faults. */
  readonly logger: Logger;
}

/**
 * Creates the parts. From here on records are cached, and commits update the
 * cache.
 */
export function openParts(options: PartsOptions): EngineParts {
  const { store, limitsOfPlan, newId } = options;
  const cache = new RecordCache(store, options);
  const repositories = openRepositories({ cache, store });
  const findTenant = (tenantId: string): MaybePromise<Tenant | undefined> =>
    repositories.tenants.get(REGISTRY, tenantOfInternal(tenantId) ?? tenantId);
  const instances = new Instances({ ...options, duties: DUTIES });
  const limitsOfTenant = (tenant: Tenant | undefined): PlanLimits =>
    limitsOfPlan(tenant?.plan ?? "");
  const notices = new Notices({ store, instances });
  const events = new EventFeeds({ ...options, notices });
  return {
    store: withCommit(withCommit(store, cache.commit), events.commit),
    repositories,
    workers: new Workers(repositories.workers),
    ruleCache: new RuleCache(MAX_RULES),
    findLimits: (tenantId) => andThen(findTenant(tenantId), limitsOfTenant),
    isServed: (tenantId) => andThen(findTenant(tenantId), isServed),
    clock: options.clock,
    random: options.random,
    newId,
    instances,
    notices,
    events,
    logger: options.logger,
  };
}

function isServed(tenant: Tenant | undefined): boolean {
  return tenant?.status !== "suspended";
}

/**
 * The calendars with some names; those that do not exist are left out.
 * Synchronous when all are cached. When another instance changes a calendar, it
 * moves the tasks whose slots were computed before; here it holds as soon as
 * this one is told, and four seconds later where the notice is lost. A slot that
 * is computed in between follows the calendar as it was.
 */
export function loadCalendars(
  repository: RecordRepository<Calendar>,
  tenantId: string,
  names: readonly string[],
): MaybePromise<Calendars> {
  let found: MaybePromise<Calendars> = NO_CALENDARS;
  for (const name of names) {
    found = andThen(
      found,
      (before) =>
        andThen(repository.get(tenantId, name), (calendar) => {
          if (calendar === undefined) return before;
          const { walls, instants } = calendar;
          const closed = { calendar: name, walls, instants };
          return new Map([...before, [name, closed]]);
        }),
    );
  }
  return found;
}

/** The calendars that a rule names. */
export function calendarsOfRule(
  repository: RecordRepository<Calendar>,
  { tenantId, repeat }: {
    readonly tenantId: string;
    readonly repeat: RepeatRule | undefined;
  },
): MaybePromise<Calendars> {
  const { calendars } = repeat ?? {};
  return calendars === undefined
    ? NO_CALENDARS
    : loadCalendars(repository, tenantId, calendars);
}
