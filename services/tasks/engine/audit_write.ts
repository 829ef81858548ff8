/**
 * Lines of the audit log: who changed what about a tenant.
 *
 * @module
 */

import type { Actor } from "../domain/records.ts";
import type { Write } from "../store/store.ts";
import type { JsonObject } from "../../shared/schema/schema.ts";

/** Something that was done, as the audit log keeps it. */
export interface AuditFact {
  /** When, in milliseconds since the epoch. */
  readonly atMs: number;
  /** What was done, such as `user.created`. */
  readonly action: string;
  /** Who did it. */
  readonly actor: Actor;
  /** The id of what it was done to. */
  readonly target: string;
  /**
   * More facts. They hold neither secrets nor personal data, since the log
   * outlives both.
   * @default nothing
   */
  readonly detail?: JsonObject;
}

/** The write that adds a line to a tenant's audit log; it belongs into the transaction of the change. */
export function auditWrite(tenantId: string, fact: AuditFact): Write {
  const { atMs, action, actor, target, detail = {} } = fact;
  return {
    kind: "audit",
    tenantId,
    entry: { atMs, action, text: JSON.stringify({ actor, target, detail }) },
  };
}
