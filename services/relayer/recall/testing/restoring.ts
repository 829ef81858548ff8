/**
 * Restores memories in a test, and compares what is there before and after.
 *
 * @module
 */

import { assert } from "@std/assert";
import { withoutUndefined } from "../../../../tests/support/without_undefined.ts";
import type { RecallOutcome } from "../recall_request.ts";
import type { RestoreService } from "../restore_service.ts";
import { MemoryWorld, OWNER } from "./memory_world.ts";

type RestoreOutcome = Awaited<ReturnType<RestoreService["restore"]>>;

/** Texts of memories. */
export const TEXTS = [
  "Ada drinks green tea",
  "Ada moved to Berlin",
  "Ada has two dogs",
  "Carlo likes green parks",
  "The meeting is on Monday",
];

/** A world with memories `m0`, `m1` and so on, a second apart. */
export async function createWorld(
  texts: readonly string[],
): Promise<MemoryWorld> {
  const world = new MemoryWorld();
  for (const [at, text] of texts.entries()) {
    world.clock.advance(1_000);
    await world.remember({ id: `m${at}`, text });
  }
  return world;
}

/** Restores the namespace of the world. */
export function restoreOutcome(
  world: MemoryWorld,
  limit = 10,
): Promise<RestoreOutcome> {
  return world.restorer().restore(OWNER, { namespace: "n", limit });
}

/** Does the same, and fails unless it ends well. */
export async function restore(
  world: MemoryWorld,
  limit = 10,
): Promise<Extract<RestoreOutcome, { kind: "ok" }>> {
  const outcome = await restoreOutcome(world, limit);
  assert(outcome.kind === "ok", outcome.kind);
  return outcome;
}

/** The counts of an outcome. */
export function counts(
  { skipped, failed, total, isTruncated }: Extract<
    RestoreOutcome,
    { kind: "ok" }
  >,
): Readonly<
  Record<"skipped" | "failed" | "total", number> & { isTruncated: boolean }
> {
  return { skipped, failed, total, isTruncated };
}

/** Rows without what changes with each writing. */
export function plainRows(world: MemoryWorld): Map<string, unknown> {
  const rows = [...world.store.rows.values()];
  return new Map(
    rows.sort((left, right) => left.id < right.id ? -1 : 1)
      .map((
        { change: _, updatedAtMs: __, ...row },
      ) => [row.id, withoutUndefined(row)]),
  );
}

/** The outcomes of some questions. */
export function recallAll(
  world: MemoryWorld,
): Promise<readonly RecallOutcome[]> {
  const service = world.recall();
  return Promise.all(
    ["Ada", "green tea", "Where does Ada live?", "Monday"].map((query) =>
      service.recall({
        owner: OWNER,
        namespace: "n",
        query,
        limit: 10,
        ordering: { kind: "relevance" },
      })
    ),
  );
}

/** The ids that recalls have found. */
export function listIds(outcomes: readonly RecallOutcome[]): readonly string[] {
  return [
    ...new Set(
      outcomes.flatMap((outcome) =>
        outcome.kind === "ok" ? outcome.memories.map(({ id }) => id) : []
      ),
    ),
  ];
}

/** How many memories recalls have found. */
export function countMemories(outcomes: readonly RecallOutcome[]): number {
  return listIds(outcomes).length;
}
