/**
 * Orders tasks that are created together and name each other as dependencies,
 * so that each comes after those that it depends on.
 *
 * @module
 */

/** A task of a flow. */
export interface FlowItem {
  /** The name by which others of the flow depend on it. */
  readonly ref?: string | undefined;
  /** The names of those that it depends on. */
  readonly refs?: ReadonlySet<string> | undefined;
}

/** The order of a flow. */
interface FlowOrder {
  /** The positions of all items, each behind those that it depends on. */
  readonly order: readonly number[];
  /** The positions of items that depend on each other in a circle. */
  readonly circular: ReadonlySet<number>;
}

/**
 * Orders the items of a flow; the order given stays as far as it can. Names
 * that no item has are passed over. Items in a circle, and those that depend on
 * them, come last.
 */
export function flowOrder(
  items: readonly (FlowItem | undefined)[],
): FlowOrder {
  const positions = [...items.keys()];
  if (!items.some((item) => item?.refs)) {
    return { order: positions, circular: new Set() };
  }
  const named = new Map(
    positions.flatMap((position) => {
      const ref = items[position]?.ref;
      return ref === undefined ? [] : [[ref, position] as const];
    }),
  );
  const needs = items.map((item) =>
    [...item?.refs ?? []].flatMap((ref) => named.get(ref) ?? [])
  );
  const neededBy = positions.map((): number[] => []);
  for (const [position, needed] of needs.entries()) {
    for (const one of needed) neededBy[one]?.push(position);
  }
  const order = withoutCircles(positions, { needs, neededBy });
  const left = new Set(positions).difference(new Set(order));
  // The rest of these, from behind, are circles and the tasks between them.
  const behind = withoutCircles(
    [...left].reverse(),
    { needs: neededBy, neededBy: needs },
  );
  return {
    order: [...order, ...left],
    circular: left.difference(new Set(behind)),
  };
}

/** Those of some positions that need no other one that stays, in order. */
function withoutCircles(
  positions: readonly number[],
  { needs, neededBy }: {
    readonly needs: readonly (readonly number[])[];
    readonly neededBy: readonly (readonly number[])[];
  },
): readonly number[] {
  const among = new Set(positions);
  const open = new Map(
    positions.map((position) => [
      position,
      (needs[position] ?? []).filter((one) => among.has(one)).length,
    ]),
  );
  const order = positions.filter((position) => open.get(position) === 0);
  // Positions are added while they are gone through.
  for (const position of order) {
    for (const next of neededBy[position] ?? []) {
      const left = open.get(next);
      if (left === undefined) continue;
      open.set(next, left - 1);
      if (left === 1) order.push(next);
    }
  }
  return order;
}
