/**
 * Whether the plan has room for new tasks.
 *
 * @module
 */

import type { PlanLimits } from "../../domain/records.ts";
import type { Engine } from "../../engine/engine.ts";
import { problem, type ProblemAnswer } from "../../http/problem_answer.ts";
import type { Placed } from "./task_slots.ts";

/** Whose quota it is. */
export interface QuotaOptions {
  /** The tenant. */
  readonly tenantId: string;
  /** The id of its plan. */
  readonly plan: string;
  /** The limits of that. */
  readonly limits: Pick<PlanLimits, "activeTasks" | "executionsPerMonth">;
}

/** Requests of which those that there is no room for have become problems. */
export interface QuotaOutcome {
  /** The requests in their order. */
  readonly placed: readonly Placed[];
  /** Gives the room back; to be called after the tasks were written, or not. */
  release(): void;
}

/** Keeps to plans. */
export class TaskQuota {
  readonly #engine: Engine;

  /** Keeps to the plans of an engine's tenants. */
  constructor(engine: Engine) {
    this.#engine = engine;
  }

  /** Takes room for the new tasks, as much as there is. */
  async take(
    placed: readonly Placed[],
    { tenantId, plan, limits }: QuotaOptions,
  ): Promise<QuotaOutcome> {
    const { activeTasks, executionsPerMonth } = limits;
    const wanted = placed.filter((one) => one.kind === "slot" && one.isNew);
    if (wanted.length === 0) return { placed, release };
    if (executionsPerMonth !== null) {
      const used = await this.#engine.usage.executions(tenantId);
      if (used >= executionsPerMonth) {
        const what = "executions this month";
        const limit = executionsPerMonth;
        const refusal = overQuota({ what, limit, used, plan });
        return { placed: without(placed, { granted: 0, refusal }), release };
      }
    }
    if (activeTasks === null) return { placed, release };
    const reservation = await this.#engine.changes.activeTasks.reserve(
      tenantId,
      {
        wanted: wanted.length,
        limit: activeTasks,
      },
    );
    const { granted, used } = reservation;
    const refusal = overQuota({
      what: "active tasks",
      limit: activeTasks,
      used,
      plan,
    });
    return {
      placed: granted === wanted.length
        ? placed
        : without(placed, { granted, refusal }),
      release: () => reservation.release(),
    };
  }
}

/** No room was taken. */
function release(): void {}

/** Leaves the first `granted` new slots; others become problems. */
function without(
  placed: readonly Placed[],
  { granted, refusal }: {
    readonly granted: number;
    readonly refusal: ProblemAnswer;
  },
): readonly Placed[] {
  const refused = new Set<number>();
  let left = granted;
  for (const one of placed) {
    if (one.kind !== "slot" || !one.isNew) continue;
    if (left > 0) left--;
    else refused.add(one.index);
  }
  // What shares a slot that there is no room for has none either.
  return placed.map((one): Placed =>
    one.kind === "slot" && refused.has(one.index) ? refusal : one
  );
}

function overQuota(
  { what, limit, used, plan }: {
    readonly what: string;
    readonly limit: number;
    readonly used: number;
    readonly plan: string;
  },
): ProblemAnswer {
  return problem("quota_exceeded", {
    detail: `Cannot create task: the plan allows ${limit} ${what}`,
    extensions: { limit, used, plan },
  });
}
