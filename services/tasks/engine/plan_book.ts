/**
 * The current plans and prices, and a warning about tenants whose plan no
 * longer exists.
 *
 * @module
 */

import type { Logger } from "../../shared/logger.ts";
import {
  type Plan,
  type PlanLimits,
  type Price,
  UNLIMITED_PLAN,
} from "../domain/records.ts";
import { REGISTRY, type Repositories } from "./repositories.ts";

/**
 * Plans by id, and what they cost. Each instance reads its own file, and has a
 * plan's limits judged by that: the operator gives all of them the same file.
 */
export class PlanBook {
  readonly #defaultPlanId: string | undefined;
  #plans: readonly Plan[] = [];
  #prices: readonly Price[] = [];
  #defaultPlan: Plan = UNLIMITED_PLAN;

  /**
   * Takes the plans; without any, the unlimited plan is the only one.
   *
   * @throws {RangeError} when the default plan does not exist
   */
  constructor(
    plans: readonly Plan[] = [],
    options: {
      readonly prices?: readonly Price[];
      readonly defaultPlanId?: string | undefined;
    } = {},
  ) {
    this.#defaultPlanId = options.defaultPlanId;
    this.replace(plans, options.prices ?? []);
  }

  /** All plans, in the order they are shown in. */
  get plans(): readonly Plan[] {
    return this.#plans;
  }

  /** All prices. */
  get prices(): readonly Price[] {
    return this.#prices;
  }

  /** The plan of new tenants, and of those whose plan no longer exists. */
  get defaultPlan(): Plan {
    return this.#defaultPlan;
  }

  /**
   * Puts other plans and prices in the place of these.
   *
   * @throws {RangeError} when the default plan is not among them; nothing has
   * changed then
   */
  replace(given: readonly Plan[], prices: readonly Price[]): void {
    const plans = given.length === 0 ? [UNLIMITED_PLAN] : given;
    const id = this.#defaultPlanId;
    const chosen = id === undefined ? plans[0] : planIn(plans, id);
    if (chosen === undefined) {
      throw new RangeError(
        `Cannot use "${id}" as default plan: it does not exist`,
      );
    }
    this.#plans = plans;
    this.#prices = prices;
    this.#defaultPlan = chosen;
  }

  /** The plan with an id, or the default plan when there is no such one. */
  plan(id: string): Plan {
    return planIn(this.#plans, id) ?? this.#defaultPlan;
  }

  /** The limits of {@linkcode plan}; may be passed on as a function. */
  readonly getLimits = (id: string): PlanLimits => this.plan(id).limits;

  /** Tells whether a plan has an id. */
  has(id: string): boolean {
    return planIn(this.#plans, id) !== undefined;
  }
}

/**
 * The unlimited plan always exists, though it is only listed when it is
 * configured.
 */
function planIn(plans: readonly Plan[], id: string): Plan | undefined {
  return plans.find((plan) => plan.id === id) ??
    (id === UNLIMITED_PLAN.id ? UNLIMITED_PLAN : undefined);
}

const PAGE = 100;

/** Options of {@linkcode warnOfUnknownPlans}. */
interface UnknownPlansOptions {
  /** The repository of all tenants. */
  readonly repositories: Pick<Repositories, "tenants">;
  /** The current plans. */
  readonly plans: PlanBook;
  /** Logs plans that no longer exist. */
  readonly logger: Logger;
  /** Stops the search early. */
  readonly signal: AbortSignal;
}

/**
 * Logs a warning for each plan that tenants have and that no longer exists;
 * never rejects. It reads the tenants page by page while the service works.
 */
export async function warnOfUnknownPlans(
  options: UnknownPlansOptions,
): Promise<void> {
  const { plans, logger } = options;
  try {
    const counts = await countUnknown(options);
    for (const [plan, tenants] of counts) {
      logger.warn(
        "Cannot find the plan of tenants: they have the limits of the default",
        { plan, tenants, default: plans.defaultPlan.id },
      );
    }
  } catch (error) {
    logger.warn("Cannot find removed plans: the store failed", {
      error: String(error),
    });
  }
}

/** Counts tenants by their plan, for plans that no longer exist. */
async function countUnknown(
  { repositories, plans, signal }: UnknownPlansOptions,
): Promise<ReadonlyMap<string, number>> {
  const counts = new Map<string, number>();
  for await (const tenants of repositories.tenants.pages(REGISTRY, PAGE)) {
    for (const { plan, status } of tenants) {
      if (status === "closing" || plans.has(plan)) continue;
      counts.set(plan, (counts.get(plan) ?? 0) + 1);
    }
    if (signal.aborted) break;
  }
  return counts;
}
