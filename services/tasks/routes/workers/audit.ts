/**
 * Lines of the audit log about workers.
 *
 * @module
 */

import { actorOf } from "../../access/caller.ts";
import type { Write } from "../../store/store.ts";
import { type CallContext, callerOf, tenantOf } from "../../http/call.ts";
import { type AuditFact, auditWrite } from "../../engine/audit_write.ts";

/** What a call does, for the audit log. */
export type Deed = Omit<AuditFact, "atMs" | "actor">;

/** The write that notes what a call does; it belongs into the transaction of it. */
export function auditOf(
  call: Pick<CallContext, "caller" | "tenant" | "nowMs">,
  deed: Deed,
): Write {
  return auditWrite(tenantOf(call).id, {
    ...deed,
    atMs: call.nowMs,
    actor: actorOf(callerOf(call)),
  });
}
