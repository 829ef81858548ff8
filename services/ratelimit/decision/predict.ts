/**
 * Predicts the answer to a request, from counters that are only read.
 *
 * @module
 */

import {
  CODE,
  type RateLimitResponse,
} from "../../../proto/rate_limit_response.ts";
import {
  canStop,
  type CounterBatch,
  type CounterResult,
  countSeen,
  getCapacity,
  hitsWhenStopping,
  stoppableOperations,
} from "../counters/counter_store.ts";
import type { DecisionRules } from "./explain.ts";
import { composeResponse, judgeDescriptor, judgePlanned } from "./judge.ts";
import type { Plan } from "./plan.ts";

/** The answer that a request would get now. */
export interface Prediction {
  /** The whole answer, without headers and metadata. */
  readonly response: RateLimitResponse;
  /** True when only SHADOW_MODE makes it OK. */
  readonly isShadowed: boolean;
}

/**
 * Computes what a store would answer, from its answer to a look, and judges
 * that as a decision does.
 *
 * @param looks The answer of the store to the operations of `plan` without
 * their hits.
 */
export function predict(
  plan: Plan,
  options: {
    readonly looks: readonly CounterResult[];
    readonly nowSeconds: number;
    readonly rules: DecisionRules;
  },
): Prediction {
  const { looks, nowSeconds, rules } = options;
  const batch: CounterBatch = {
    keys: plan.keys,
    operations: plan.operations,
    nowSeconds,
    stopWhenOver: !plan.countWhenLimited || rules.stopWhenOver,
  };
  const results = expectedResults(batch, looks);
  const judged = plan.descriptors.map((planned) =>
    judgeDescriptor(
      planned,
      (limit) =>
        judgePlanned(limit, results[limit.operation]!, {
          nowSeconds,
          nearLimitRatio: rules.nearLimitRatio,
        }),
    )
  );
  const response = composeResponse(judged, {
    quotaMode: rules.quotaMode,
    headers: undefined,
    requestMetadata: undefined,
  });
  const isOver = response.overallCode === CODE.OVER_LIMIT;
  const isShadowed = isOver && rules.shadowMode;
  return {
    response: isShadowed ? { ...response, overallCode: CODE.OK } : response,
    isShadowed,
  };
}

/** Returns the batch that reads the counters of a plan. */
export function lookBatch(plan: Plan, nowSeconds: number): CounterBatch {
  return batchWithHits(plan, { hits: 0, nowSeconds });
}

/** Returns the batch that gives back all hits of a plan's counters. */
export function resetBatch(plan: Plan, nowSeconds: number): CounterBatch {
  return batchWithHits(plan, { hits: -Number.MAX_SAFE_INTEGER, nowSeconds });
}

function batchWithHits(
  plan: Plan,
  { hits, nowSeconds }: { readonly hits: number; readonly nowSeconds: number },
): CounterBatch {
  return {
    domain: plan.domain ?? "",
    keys: plan.keys,
    operations: plan.operations.map((operation) => ({ ...operation, hits })),
    nowSeconds,
  };
}

function expectedResults(
  batch: CounterBatch,
  looks: readonly CounterResult[],
): readonly CounterResult[] {
  const { operations } = batch;
  const stoppable = stoppableOperations(batch);
  const used = looks.map((look, at) => countSeen(look, operations[at]!));
  const hits = batch.stopWhenOver === true && canStop(operations)
    ? hitsWhenStopping(stoppable, used)
    : operations.map((operation) => operation.hits);
  // Operations on one counter see the hits of those before them.
  const counters = new Map<string, CounterResult>();
  return operations.map((operation, at) => {
    const { counter } = stoppable[at]!;
    const before = counters.get(counter) ?? looks[at]!;
    const after = afterHits(before, {
      hits: hits[at]!,
      capacity: getCapacity(operation),
    });
    counters.set(counter, after.kept);
    return after.told;
  });
}

/**
 * The result of an operation, and the state that the next one on its counter
 * finds.
 */
interface AfterHits {
  readonly told: CounterResult;
  readonly kept: CounterResult;
}

function afterHits(
  before: CounterResult,
  { hits, capacity }: { readonly hits: number; readonly capacity: number },
): AfterHits {
  if (typeof before === "number") {
    const after = Math.max(0, before + hits);
    return { told: after, kept: after };
  }
  if (before.isFromCache === true) {
    const hitsOver = Math.max(0, hits);
    return { told: { ...before, hitsOver }, kept: before };
  }
  if (hits > before.remaining) {
    // Refused hits are not charged.
    return {
      told: { ...before, isOver: true, hitsOver: hits },
      kept: before,
    };
  }
  const remaining = Math.min(capacity, before.remaining - hits);
  const kept = { ...before, remaining, isOver: remaining === 0, hitsOver: 0 };
  return {
    told: hits === 0 ? before : { ...kept, isOver: false },
    kept,
  };
}
