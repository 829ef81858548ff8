/**
 * The rules as lines for a person, one for each rule with a limit.
 *
 * @module
 */

import type { Snapshot } from "./snapshot.ts";

/**
 * One line for each rule, in the order of the files; the unit of an unlimited
 * one is UNKNOWN, as with the service that this one replaces.
 */
export function describeRules(snapshot: Snapshot): string[] {
  return snapshot.rules.map((rule) => {
    const unit = rule.limit?.unit ?? "UNKNOWN";
    const requests = rule.limit?.requestsPerUnit ?? 0;
    return `${rule.path}: unit=${unit} requests_per_unit=${requests}, ` +
      `shadow_mode: ${rule.shadowMode}, quota_mode: ${rule.quotaMode}`;
  });
}
