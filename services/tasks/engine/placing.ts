/**
 * Places the tasks of requests: each leads to a new task or the live one with
 * its key, unless it is refused. Tasks that the plan has no room for are
 * refused, and those that depend on refused ones.
 *
 * @module
 */

import type { Pausing } from "../../shared/slices.ts";
import { flowOrder } from "../domain/flow_order.ts";
import type { Actor, PlanLimits } from "../domain/records.ts";
import { isFinal } from "../domain/task.ts";
import type { Write } from "../store/store.ts";
import type { TaskChanges } from "./changes.ts";
import {
  type CreateRefusal,
  type CreateRequest,
  refusedDependency,
} from "./create_request.ts";
import {
  KeyReservations,
  type Placement,
  type Reservation,
} from "./key_reservations.ts";
import type { EngineParts } from "./parts.ts";
import type { TaskRoom, UsageCounter } from "./plan_usage.ts";

/** Options of {@linkcode placeTasks}. */
export interface PlaceOptions {
  /** The tenant. */
  readonly tenantId: string;
  /** The actor that asks. */
  readonly actor: Actor;
  /** The limits of the tenant's plan. */
  readonly limits: Pick<
    PlanLimits,
    "activeTasks" | "executionsPerMonth" | "retentionMs"
  >;
  /** The ids of workers that were found to be removed. */
  readonly gone: ReadonlySet<string>;
  /** Gives way to others while the service is busy. */
  readonly pausing: Pausing;
  /** The engine's parts. */
  readonly parts: EngineParts;
  /** Counts the live tasks of tenants, and tells of changes. */
  readonly changes: TaskChanges;
  /** Counts the started attempts of tenants. */
  readonly usage: Pick<UsageCounter, "executions">;
}

/** Tasks with the room that is reserved for them. */
interface Placed {
  /** What became of each request, in their order. */
  readonly placements: readonly Placement[];
  /**
   * The room that is reserved; it has to be released after the commit, whether
   * it succeeded or not.
   *
   * @default no plan limits the tasks
   */
  readonly room?: TaskRoom | undefined;
}

/**
 * Places the tasks of requests; undefined stands for a request that the caller
 * has refused. Nothing is written.
 *
 * @throws {Error} when the store fails
 */
export async function placeTasks(
  requests: readonly (CreateRequest | undefined)[],
  options: PlaceOptions,
): Promise<Placed> {
  const { tenantId, actor, limits, parts, gone, pausing } = options;
  const reservations = new KeyReservations({
    tenantId,
    actor,
    retentionMs: limits.retentionMs,
    parts,
  });
  if (requests.some((request) => request?.definition.key !== undefined)) {
    await reservations.lookUp(requests, pausing);
  }
  const isFlow = requests.some((request) => request?.refs !== undefined);
  const order = isFlow ? flowOrder(requests).order : [...requests.keys()];
  const placed: Placement[] = requests.map(() => ({ kind: "skipped" }));
  for (const position of order) {
    const request = requests[position];
    if (request === undefined) continue;
    placed[position] = gone.has(request.worker.id)
      ? { kind: "unknown_worker", worker: request.worker }
      : reservations.place(request);
    const pause = pausing.pause();
    if (pause !== undefined) await pause;
  }
  const isLimited = limits.activeTasks !== null ||
    limits.executionsPerMonth !== null;
  const { placements, room }: Placed = isLimited
    ? await takeRoom(placed, options)
    : { placements: placed };
  return {
    placements: isFlow
      ? withoutRefused(placements, { requests, order })
      : placements,
    room,
  };
}

/**
 * Reserves room in the tenant's plan for the new tasks, and refuses the tasks
 * that do not fit.
 */
async function takeRoom(
  placements: readonly Placement[],
  { tenantId, limits: { activeTasks, executionsPerMonth }, changes, usage }:
    PlaceOptions,
): Promise<Placed> {
  const wanted =
    placements.filter((one) => one.kind === "reserved" && one.isNew).length;
  if (wanted === 0) return { placements };
  if (executionsPerMonth !== null) {
    const used = await usage.executions(tenantId);
    if (used >= executionsPerMonth) {
      const refusal: CreateRefusal = {
        kind: "over_quota",
        what: "executions this month",
        limit: executionsPerMonth,
        used,
      };
      return { placements: limited(placements, { granted: 0, refusal }) };
    }
  }
  if (activeTasks === null) return { placements };
  const room = await changes.activeTasks.reserve(tenantId, {
    wanted,
    limit: activeTasks,
  });
  const { granted, used } = room;
  const refusal: CreateRefusal = {
    kind: "over_quota",
    what: "active tasks",
    limit: activeTasks,
    used,
  };
  return {
    placements: granted === wanted
      ? placements
      : limited(placements, { granted, refusal }),
    room,
  };
}

/** Keeps the first `granted` new tasks and refuses the others. */
function limited(
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
function withoutRefused(
  placements: readonly Placement[],
  { requests, order }: {
    readonly requests: readonly (CreateRequest | undefined)[];
    /** Positions, each behind those that it depends on. */
    readonly order: readonly number[];
  },
): readonly Placement[] {
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

/** Reservations that are written in one commit. */
export interface Piece {
  /** The reservations. */
  readonly reservations: readonly Reservation[];
  /** Their writes. */
  readonly writes: readonly Write[];
}

/**
 * Groups the reservations that requests still need into commits of at most
 * `maxTasks`.
 */
export function toPieces(
  placements: readonly Placement[],
  { tenantId, workers, maxTasks, room }: {
    readonly tenantId: string;
    readonly workers: EngineParts["repositories"]["workers"];
    readonly maxTasks: number;
    /** The room that the plan has to have for the new tasks. */
    readonly room: TaskRoom | undefined;
  },
): readonly Piece[] {
  const changing = new Set<Reservation>();
  for (const one of placements) {
    if (one.kind !== "reserved") continue;
    if (one.reservation.writes.length > 0) changing.add(one.reservation);
  }
  const all = [...changing];
  const pieces: Piece[] = [];
  for (let from = 0; from < all.length; from += maxTasks) {
    const reservations = all.slice(from, from + maxTasks);
    const workerIds = new Set<string>();
    for (const { task } of reservations) workerIds.add(task.workerId);
    // Writes that only check come first: when they conflict, the store has
    // nothing to undo.
    const writes: Write[] = [];
    for (const id of workerIds) writes.push(workers.assertExists(tenantId, id));
    const added = reservations.filter(({ previous, task }) =>
      previous === undefined && !isFinal(task.status)
    );
    if (room !== undefined) writes.push(...room.require(added.length));
    for (const reservation of reservations) writes.push(...reservation.writes);
    pieces.push({ reservations, writes });
  }
  return pieces;
}
