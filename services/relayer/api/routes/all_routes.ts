/**
 * All routes of the relayer.
 *
 * @module
 */

import type { RelayerParts } from "../parts.ts";
import type { Route } from "../route.ts";
import { accountRoutes } from "./account_routes.ts";
import { analyzeRoute } from "./analyze_route.ts";
import { askRoute } from "./ask_route.ts";
import { deleteMemoryRoute } from "./delete_memory_route.ts";
import { embedRoute } from "./embed_route.ts";
import { jobRoutes } from "./job_routes.ts";
import { manualRoutes } from "./manual_routes.ts";
import { namespaceRoutes } from "./namespace_routes.ts";
import { ownerRoutes } from "./owner_routes.ts";
import { ownerTokenRoute } from "./owner_token_route.ts";
import { recallRoute } from "./recall_route.ts";
import { rememberRoutes } from "./remember_routes.ts";
import { rpcRoutes } from "./rpc_routes.ts";
import { serviceRoutes } from "./service_routes.ts";

/** The table of routes. A path without `:name` goes before one with it. */
export function allRoutes(parts: RelayerParts): readonly Route[] {
  return [
    ...serviceRoutes(parts),
    ...rpcRoutes(parts),
    ...accountRoutes(parts),
    ...rememberRoutes(parts),
    ...jobRoutes(parts),
    recallRoute(parts),
    ...manualRoutes(parts),
    embedRoute(parts),
    analyzeRoute(parts),
    askRoute(parts),
    ...namespaceRoutes(parts),
    deleteMemoryRoute(parts),
    ...ownerRoutes(parts),
    ownerTokenRoute(parts),
  ];
}
