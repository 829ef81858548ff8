/**
 * Who calls, as a text.
 *
 * @module
 */

import { actorOf } from "../../access/caller.ts";
import { type CallContext, callerOf } from "../../http/call.ts";

/** Who makes a call, as `type:id`. */
export function actorText(call: Pick<CallContext, "caller">): string {
  const { type, id } = actorOf(callerOf(call));
  return `${type}:${id}`;
}
