/**
 * What a change of a calendar means for the tasks that name it.
 *
 * @module
 */

import { SYSTEM_ACTOR } from "../domain/records.ts";
import { calendarLink } from "../domain/task.ts";
import type { Engine } from "./engine.ts";
import type { EventRequest } from "./event_plan.ts";

/** How many tasks are looked at in one commit. */
const PAGE = 100;

/** Tells whether a live task names a calendar. */
export async function isCalendarUsed(
  { store }: Pick<Engine["parts"], "store">,
  tenantId: string,
  name: string,
): Promise<boolean> {
  const ids = await store.dependents({
    tenantId,
    ids: [calendarLink(name)],
    limit: 1,
  });
  return ids.length > 0;
}

/**
 * Finds the coming slots of all live tasks again that name a calendar.
 *
 * @returns how many tasks have another slot
 * @throws {Error} when the store fails; calling it again does the rest
 */
export async function followCalendar(
  { parts: { store }, changes }: Pick<Engine, "parts" | "changes">,
  tenantId: string,
  name: string,
): Promise<number> {
  let moved = 0;
  let afterId: string | undefined;
  for (;;) {
    const ids = await store.dependents({
      tenantId,
      ids: [calendarLink(name)],
      limit: PAGE,
      afterId,
    });
    const outcomes = await changes.applyAll(ids.map((id): EventRequest => ({
      tenantId,
      id,
      event: { kind: "calendar_changed" },
      actor: SYSTEM_ACTOR,
    })));
    moved += outcomes.filter(({ kind }) => kind === "changed").length;
    afterId = ids.at(-1);
    if (ids.length < PAGE) return moved;
  }
}
