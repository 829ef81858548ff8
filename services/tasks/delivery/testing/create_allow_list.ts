/**
 * Allow lists for tests.
 *
 * @module
 */

import { type AllowList, parseAllowList } from "../address_guard.ts";

/**
 * Builds an allow list from its entries.
 *
 * @throws {Error} when an entry is invalid
 */
export function createAllowList(...entries: readonly string[]): AllowList {
  const outcome = parseAllowList(entries);
  if (outcome.kind === "ok") return outcome.allowList;
  throw new Error(outcome.problems.join("; "));
}
