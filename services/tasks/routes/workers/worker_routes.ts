/**
 * All routes about workers and what belongs to them, but for their leases.
 *
 * @module
 */

import type { ApiParts } from "../api_parts.ts";
import type { AnyRoute } from "../../http/route.ts";
import { addSecretsRoute } from "./add_secrets.ts";
import { changeWorkerRoutes } from "./change_worker.ts";
import { createWorkerRoute } from "./create_worker.ts";
import { pauseWorkerRoutes } from "./pause_worker.ts";
import { readSecretRoutes } from "./read_secrets.ts";
import { readWorkerRoutes } from "./read_workers.ts";
import { removeWorkerRoute } from "./remove_worker.ts";
import { tryWorkerRoute } from "./try_worker.ts";

/** The routes of workers, their secrets and credentials. */
export function workerRoutes(parts: ApiParts): readonly AnyRoute[] {
  return [
    createWorkerRoute(parts),
    ...readWorkerRoutes(parts),
    ...changeWorkerRoutes(parts),
    removeWorkerRoute(parts),
    ...pauseWorkerRoutes(parts),
    tryWorkerRoute(parts),
    addSecretsRoute(parts),
    ...readSecretRoutes(parts),
  ];
}
