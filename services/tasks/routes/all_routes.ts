/**
 * All routes of the service.
 *
 * @module
 */

import { consoleRoutes } from "../console/console_routes.ts";
import type { ConsoleParts } from "../console/parts/page.ts";
import type { Operations } from "../engine/bulk/operations.ts";
import type { AnyRoute } from "../http/route.ts";
import { auditRoute, usageRoute } from "./account/account_reports.ts";
import { accountRoutes, meRoute } from "./account/account_routes.ts";
import { operatorRoutes } from "./accounts/operator_routes.ts";
import { signupRoute, type TokenVerifier } from "./accounts/signup_route.ts";
import type { ApiParts } from "./api_parts.ts";
import { alertRoutes } from "./alerts/alert_routes.ts";
import { eventsRoute } from "./events/events_route.ts";
import { keyRoutes } from "./keys/key_routes.ts";
import { leaseRoutes } from "./leases/lease_routes.ts";
import { instancesRoute } from "./service/instance_routes.ts";
import { queuesRoute } from "./service/queue_routes.ts";
import { planRoutes } from "./service/plan_routes.ts";
import { serviceRoutes } from "./service/service_routes.ts";
import { refusedRoutes } from "./tasks/refused_requests.ts";
import { taskRoutes } from "./tasks/task_routes.ts";
import { userRoutes } from "./users/user_routes.ts";
import { deliveryRoutes } from "./webhooks/delivery_routes.ts";
import { webhookRoutes } from "./webhooks/webhook_routes.ts";
import { workerRoutes } from "./workers/worker_routes.ts";

/** Options of {@linkcode allRoutes}. */
export interface AllRoutesOptions {
  /** Runs bulk actions in the background. */
  readonly operations: Operations;
  /**
   * Verifies tokens of the identity provider, so that people may own new
   * tenants.
   * @default such tokens are refused
   */
  readonly tokens?: TokenVerifier | undefined;
  /**
   * Called after a tenant was removed, so that its data is erased at once.
   * @default the eraser finds the tenant by the mark in the store
   */
  readonly onTenantRemoved?: (() => void) | undefined;
  /**
   * What the console needs.
   * @default there is no console
   */
  readonly console?: ConsoleParts | undefined;
}

/** All routes of all hosts. */
export function allRoutes(
  parts: ApiParts,
  options: AllRoutesOptions,
): readonly AnyRoute[] {
  const { operations, tokens, onTenantRemoved: onRemoved } = options;
  const { console } = options;
  const routes: readonly AnyRoute[] = [
    ...taskRoutes(parts, { operations }),
    ...refusedRoutes(parts),
    ...workerRoutes(parts),
    ...leaseRoutes(parts),
    ...userRoutes(parts),
    ...keyRoutes(parts),
    meRoute(parts),
    ...accountRoutes(parts, onRemoved),
    usageRoute(parts),
    auditRoute(parts),
    eventsRoute(parts),
    ...webhookRoutes(parts),
    ...alertRoutes(parts),
    ...deliveryRoutes(parts),
    signupRoute(parts, tokens),
    ...operatorRoutes(parts, onRemoved),
    instancesRoute(parts),
    queuesRoute(parts),
    ...planRoutes(parts),
    ...serviceRoutes(parts, () => routes),
    ...console === undefined ? [] : consoleRoutes(console, () => routes),
  ];
  return routes;
}
