/**
 * A line of the audit log as the API shows it.
 *
 * @module
 */

import type { AuditEntry } from "../../store/store.ts";
import { isJsonObject } from "../../../shared/schema/schema.ts";
import { utcTime } from "../../domain/utc_time.ts";

/** Returns a line of the audit log as the API shows it. */
export function viewAudit(
  entry: AuditEntry,
): Readonly<Record<string, unknown>> {
  const fact: unknown = JSON.parse(entry.text);
  const { actor, target, detail } = isJsonObject(fact) ? fact : {};
  return {
    number: entry.number,
    at: utcTime(entry.atMs),
    action: entry.action,
    actor: actor ?? null,
    target: target ?? null,
    detail: detail ?? {},
  };
}
