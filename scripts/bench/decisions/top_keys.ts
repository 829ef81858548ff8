/**
 * Times the search for the counters that refuse most, without a service: two
 * processes of the same code differ by a sixth in the time of a call, of which
 * the search takes less than a hundredth.
 *
 * @module
 */

import { OverLimitKeys } from "../../../services/ratelimit/activity/over_limit_keys.ts";
import type { CounterOperation } from "../../../services/ratelimit/counters/counter_store.ts";
import { median } from "../kit/numbers.ts";

/** Seconds of the simulated time: the first ones compile the code. */
const SECONDS = 30;
const WARM_SECONDS = 5;
const OPERATION: Omit<CounterOperation, "keyStart" | "keyEnd"> = {
  algorithm: "fixed_window",
  hits: 1,
  limit: 0,
  windowSeconds: 3_600,
};

/** A load whose calls are all over the limits of two descriptors. */
export interface RefusedLoad {
  /** Calls a second. */
  readonly perSecond: number;
  /** Different values of the first descriptor. */
  readonly values: number;
  /** Whether the counters are in a store that answers later. */
  readonly isRemote: boolean;
}

/** The keys of a call, and the counters with their places in them. */
interface Call {
  readonly keys: Uint8Array;
  readonly operations: readonly CounterOperation[];
}

/**
 * Returns the time that a call takes longer by the search, in microseconds: the
 * median over seconds of the load, the fading of each second included.
 */
export function timeTopKeys(
  { perSecond, values, isRemote }: RefusedLoad,
): number {
  const found = new OverLimitKeys();
  const calls = Array.from({ length: values }, (_, value) => makeCall(value));
  const costs: number[] = [];
  let next = 0;
  for (let second = 0; second < SECONDS; second++) {
    const start = performance.now();
    found.fade(second * 1_000);
    for (let call = 0; call < perSecond; call++) {
      const { keys, operations } = calls[next]!;
      next = next + 1 < values ? next + 1 : 0;
      if (isRemote) {
        const note = found.keep(keys, keys.length);
        if (note === undefined) continue;
        for (const operation of operations) note(operation);
      } else {
        for (const operation of operations) found.note(keys, operation);
      }
    }
    costs.push((performance.now() - start) * 1_000 / perSecond);
  }
  return median(costs.slice(WARM_SECONDS));
}

function makeCall(value: number): Call {
  const parts = [
    `bench_remote_address_${String(value).padStart(9, "0")}_`,
    "bench_path_/api/v1/items_method_GET_",
  ];
  const keys = new TextEncoder().encode(parts.join(""));
  const split = parts[0]!.length;
  return {
    keys,
    operations: [
      { ...OPERATION, keyStart: 0, keyEnd: split },
      { ...OPERATION, keyStart: split, keyEnd: keys.length },
    ],
  };
}
