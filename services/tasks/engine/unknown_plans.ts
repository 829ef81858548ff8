/**
 * Tenants whose plan is gone: they have the limits of the default plan although
 * they do not say so, which the operator has to hear of.
 *
 * @module
 */

import type { Logger } from "../../shared/logger.ts";
import { REGISTRY, type Repositories } from "./repositories.ts";
import type { PlanBook } from "./plan_book.ts";

const PAGE = 100;

/** Options of {@linkcode warnOfUnknownPlans}. */
export interface UnknownPlansOptions {
  /** All tenants. */
  readonly repositories: Pick<Repositories, "tenants">;
  /** The plans that are in force. */
  readonly plans: PlanBook;
  /** Hears of plans that are gone. */
  readonly logger: Logger;
  /** Ends it early. */
  readonly signal: AbortSignal;
}

/**
 * Warns of each plan that tenants have and that is gone; never rejects. It is
 * looked for beside the work of the service, page by page.
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
    logger.warn("Cannot look for plans that are gone: the store failed", {
      error: String(error),
    });
  }
}

/** How many tenants have which plan that is gone. */
async function countUnknown(
  { repositories, plans, signal }: UnknownPlansOptions,
): Promise<ReadonlyMap<string, number>> {
  const counts = new Map<string, number>();
  let afterId: string | undefined;
  do {
    const { values, hasMore } = await repositories.tenants.list(REGISTRY, {
      limit: PAGE,
      ...(afterId === undefined ? {} : { afterId }),
    });
    for (const { plan, status } of values) {
      if (status === "closing" || plans.has(plan)) continue;
      counts.set(plan, (counts.get(plan) ?? 0) + 1);
    }
    afterId = hasMore ? values.at(-1)?.id : undefined;
  } while (afterId !== undefined && !signal.aborted);
  return counts;
}
