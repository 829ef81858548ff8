/**
 * The plans and prices that are in force.
 *
 * @module
 */

import { type Plan, type Price, UNLIMITED_PLAN } from "../domain/records.ts";

/** Plans by id, and what they cost. */
export class PlanBook {
  /** All plans, in the order they are shown in. */
  readonly plans: readonly Plan[];
  /** All prices. */
  readonly prices: readonly Price[];
  /** The plan of new tenants, and of those whose plan is gone. */
  readonly defaultPlan: Plan;

  /**
   * A book of these plans; the unlimited one alone when there are none.
   *
   * @throws {RangeError} when the default is none of the plans
   */
  constructor(
    plans: readonly Plan[] = [],
    options: {
      readonly prices?: readonly Price[];
      readonly defaultPlanId?: string;
    } = {},
  ) {
    const { prices = [], defaultPlanId } = options;
    this.plans = plans.length === 0 ? [UNLIMITED_PLAN] : plans;
    this.prices = prices;
    const first = this.plans[0] ?? UNLIMITED_PLAN;
    const chosen = defaultPlanId === undefined
      ? first
      : this.#find(defaultPlanId);
    if (chosen === undefined) {
      throw new RangeError(
        `Cannot take "${defaultPlanId}" as default plan: there is none such`,
      );
    }
    this.defaultPlan = chosen;
  }

  /** The plan of that id, or the default one when it is gone. */
  plan(id: string): Plan {
    return this.#find(id) ?? this.defaultPlan;
  }

  /** Whether there is a plan of that id. */
  has(id: string): boolean {
    return this.#find(id) !== undefined;
  }

  /** The unlimited plan is there always, though it is shown only where it is listed. */
  #find(id: string): Plan | undefined {
    return this.plans.find((plan) => plan.id === id) ??
      (id === UNLIMITED_PLAN.id ? UNLIMITED_PLAN : undefined);
  }
}
