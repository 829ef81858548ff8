/**
 * The rules as lines for a person, one for each rule with a limit.
 *
 * @module
 */

import type { Snapshot } from "./snapshot.ts";

/** One line for each rule, in the order of the files. */
export function describeRules(snapshot: Snapshot): string[] {
  return snapshot.rules.map((rule) => {
    const unit = rule.limit?.unit ?? "UNKNOWN";
    const requests = rule.limit?.requestsPerUnit ?? 0;
    return `${rule.path}: unit=${unit} requests_per_unit=${requests}, ` +
      `unlimited: ${rule.limit === undefined}, ` +
      `shadow_mode: ${rule.shadowMode}, quota_mode: ${rule.quotaMode}`;
  });
}
