/**
 * Groups of writes that are sent over one connection while the one before is
 * under way: each is refused unless that one was applied.
 *
 * @module
 */

import type { StatementBuilder } from "./statement_builder.ts";
import type { Statement } from "./transaction.ts";

/** A group's place among the groups of a connection. */
export interface GroupLink {
  /** Its number. */
  readonly number: number;
  /**
   * The number of the group that must have been applied before; undefined when
   * none is under way.
   */
  readonly after: number | undefined;
}

/** The connection's setting that names the last group that was applied. */
const LAST_GROUP = "tercet.last_group";

/** The statements of a group with the demand and the name of its link. */
export function linked(
  statements: readonly Statement[],
  { number, after }: GroupLink,
): readonly Statement[] {
  return [
    ...(after === undefined ? [] : [{
      sql: `SELECT demand(current_setting('${LAST_GROUP}', true) = $1::text)`,
      parameters: [String(after)],
    }]),
    ...statements,
    {
      sql: `SELECT set_config('${LAST_GROUP}', $1::text, false)`,
      parameters: [String(number)],
    },
  ];
}

/**
 * Refuses a group of one statement unless the one before it was applied. A
 * setting is undone with its transaction, and a new connection has none.
 */
export function addLink(
  builder: StatementBuilder,
  { number, after }: GroupLink,
): void {
  if (after !== undefined) {
    const expected = builder.add(String(after), "text");
    builder.demandThat(`current_setting('${LAST_GROUP}', true) = ${expected}`);
  }
  const own = builder.add(String(number), "text");
  // It comes last, so that nothing is set before all other demands hold.
  builder.demandThat(`set_config('${LAST_GROUP}', ${own}, false) = ${own}`);
}
