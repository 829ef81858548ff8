/**
 * Allow lists for tests.
 *
 * @module
 */

import { type AllowList, parseAllowList } from "../address_guard.ts";

/**
 * The list of these entries.
 *
 * @throws {Error} When one of them is no good.
 */
export function allowListOf(...entries: readonly string[]): AllowList {
  const outcome = parseAllowList(entries);
  if (outcome.kind === "ok") return outcome.allowList;
  throw new Error(outcome.problems.join("; "));
}
