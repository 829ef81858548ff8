/**
 * The route by which the endpoint for agents learns what a caller may do.
 * Clients ask `/v1/me`, which needs a scope that an agent's key may lack.
 *
 * @module
 */

import { getScopes } from "../access/caller.ts";
import { json } from "../http/answer.ts";
import { getCaller } from "../http/call.ts";
import { type AnyRoute, defineRoute } from "../http/route.ts";

/** Tells every user and key its own scopes. */
export const RIGHTS_ROUTE: AnyRoute = defineRoute({
  method: "GET",
  path: "/mcp/rights",
  hosts: "tenant",
  isOutsideBase: true,
  isUndocumented: true,
  operationId: "getRights",
  summary: "Read the caller's scopes",
  tags: ["account"],
  access: { kind: "caller" },
  answers: { 200: { description: "The scopes" } },
  problems: [],
  handle: (call) => json({ scopes: [...getScopes(getCaller(call))] }),
});
