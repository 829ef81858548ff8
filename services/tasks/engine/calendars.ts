/**
 * Looks up the calendars of tenants: the times at which schedules that name
 * them have no slots.
 *
 * @module
 */

import { andThen, type MaybePromise } from "../../shared/settled.ts";
import { type Calendars, NO_CALENDARS } from "../domain/schedule.ts";
import type { RepeatRule } from "../domain/task.ts";
import type { RecordRepository } from "./record_repository.ts";
import type { Calendar } from "./repositories.ts";

/**
 * The calendars with some names; those that do not exist are left out.
 * Synchronous when all are cached.
 */
export function calendarsOf(
  repository: RecordRepository<Calendar>,
  tenantId: string,
  names: readonly string[],
): MaybePromise<Calendars> {
  let found: MaybePromise<Calendars> = NO_CALENDARS;
  for (const name of names) {
    found = andThen(
      found,
      (before) =>
        andThen(repository.get(tenantId, name), (calendar) => {
          if (calendar === undefined) return before;
          const { walls, instants } = calendar;
          const closed = { calendar: name, walls, instants };
          return new Map([...before, [name, closed]]);
        }),
    );
  }
  return found;
}

/** The calendars that a rule names. */
export function calendarsOfRule(
  repository: RecordRepository<Calendar>,
  { tenantId, repeat }: {
    readonly tenantId: string;
    readonly repeat: RepeatRule | undefined;
  },
): MaybePromise<Calendars> {
  const { calendars } = repeat ?? {};
  return calendars === undefined
    ? NO_CALENDARS
    : calendarsOf(repository, tenantId, calendars);
}
