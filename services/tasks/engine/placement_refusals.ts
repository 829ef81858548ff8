/**
 * Refuses placements of a request to create tasks that cannot stay because of
 * others: those that the plan has no room for, and those that depend on tasks
 * that were refused.
 *
 * @module
 */

import {
  type CreateRefusal,
  type CreateRequest,
  refusedDependency,
} from "./create_request.ts";
import type { Placement, Reservation } from "./key_reservations.ts";

/** Keeps the first `granted` new tasks and refuses the others. */
export function limited(
  placements: readonly Placement[],
  { granted, refusal }: {
    readonly granted: number;
    readonly refusal: CreateRefusal;
  },
): readonly Placement[] {
  const refused = new Map<Reservation, CreateRefusal>();
  let left = granted;
  for (const one of placements) {
    if (one.kind !== "reserved" || !one.isNew) continue;
    if (left > 0) left--;
    else refused.set(one.reservation, refusal);
  }
  return without(placements, refused);
}

/** Refuses tasks that depend on others of the request that are refused. */
export function withoutRefused(
  placements: readonly Placement[],
  { requests, order }: {
    readonly requests: readonly (CreateRequest | undefined)[];
    /** Positions, each behind those that it depends on. */
    readonly order: readonly number[];
  },
): readonly Placement[] {
  if (!requests.some((request) => request?.refs)) return placements;
  const refused = new Map<Reservation, CreateRefusal>();
  const names = new Set<string>();
  for (const position of order) {
    const placement = placements[position];
    const { ref, refs, at = "", definition } = requests[position] ?? {};
    const broken = [...refs ?? []].filter((name) => names.has(name));
    if (placement?.kind === "reserved" && broken.length > 0) {
      const faults = broken.map((name) => {
        const index = definition?.dependencies.indexOf(name) ?? 0;
        return refusedDependency(at, { index, name });
      });
      refused.set(placement.reservation, { kind: "invalid", faults });
    }
    const isRefused = placement?.kind !== "reserved" ||
      refused.has(placement.reservation);
    if (isRefused && ref !== undefined) names.add(ref);
  }
  return without(placements, refused);
}

/** Requests that share a refused task are refused, too. */
function without(
  placements: readonly Placement[],
  refused: ReadonlyMap<Reservation, CreateRefusal>,
): readonly Placement[] {
  if (refused.size === 0) return placements;
  return placements.map((one) =>
    (one.kind === "reserved" ? refused.get(one.reservation) : one) ?? one
  );
}
