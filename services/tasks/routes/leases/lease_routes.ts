/**
 * All routes about leases: taking tasks, and saying how it goes.
 *
 * @module
 */

import type { ApiParts } from "../api_parts.ts";
import type { AnyRoute } from "../../http/route.ts";
import { batchRoute } from "./batch_route.ts";
import { LeaseScrubbers } from "./lease_scrubbers.ts";
import { LogBudget } from "./log_budget.ts";
import { sayRoutes } from "./say_routes.ts";
import { takeRoute } from "./take_route.ts";

/** The routes of pull workers. */
export function leaseRoutes(parts: ApiParts): readonly AnyRoute[] {
  const scrubbers = new LeaseScrubbers(parts);
  const budget = new LogBudget(parts.engine.parts.store);
  const say = { parts, scrubbers, budget };
  return [
    takeRoute({ parts, scrubbers }),
    batchRoute(say),
    ...sayRoutes(say),
  ];
}
