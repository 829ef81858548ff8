/**
 * What the relayer has counted: `/metrics`.
 *
 * @module
 */

import type { RelayerParts } from "../parts.ts";
import { METRICS_TYPE, type RequestMetrics } from "../request_metrics.ts";
import type { OpenRoute } from "../route.ts";

/** The route; nothing in it tells of an owner or a text. */
export function metricsRoute(
  parts: Pick<RelayerParts, "index" | "isWriteReady">,
  metrics: RequestMetrics,
): OpenRoute {
  return {
    access: "open",
    method: "GET",
    path: "/metrics",
    maxBodyBytes: 0,
    answer: () => ({
      status: 200,
      text: {
        type: METRICS_TYPE,
        body: metrics.text({
          memories: parts.index.size,
          isWriteReady: parts.isWriteReady,
        }),
      },
    }),
  };
}
