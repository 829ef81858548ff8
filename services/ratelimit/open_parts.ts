/**
 * Opens, from the settings, the parts that a thread needs to decide requests.
 *
 * @module
 */

import type { Clock } from "../shared/clock.ts";
import type { Logger } from "../shared/logger.ts";
import { startFault } from "../shared/lifecycle.ts";
import type { Tracing } from "../shared/telemetry/tracing.ts";
import type { ChangeReports } from "../shared/watch/change_reports.ts";
import { openCandidateStore, openStore } from "./counters/open_store.ts";
import { planStore } from "./counters/store_plan.ts";
import type { StoreSharing } from "./counters/shared_stores.ts";
import type { DecisionParts } from "./decision_service.ts";
import { openGrpcTls } from "./grpc_tls.ts";
import type { RateLimitSettings } from "./settings.ts";
import type { StatsRegistry } from "./stats/registry.ts";

/**
 * Opens stores and certificates.
 *
 * @throws when a file has disappeared since the start, where faults of the
 * settings were reported
 */
export async function openParts(
  settings: RateLimitSettings,
  tools: {
    /** Keeps the statistics. */
    readonly registry: StatsRegistry;
    /** Reports changes of files. */
    readonly reports: ChangeReports;
    /** Gives the time. */
    readonly clock: Clock;
    /** Takes the log lines. */
    readonly logger: Logger;
    /**
     * Memory that this thread shares with others; undefined for a single
     * thread.
     */
    readonly sharing: StoreSharing | undefined;
    /** Makes spans; undefined where tracing is off. */
    readonly tracing: Tracing | undefined;
  },
): Promise<Omit<DecisionParts, "threads">> {
  const { registry, reports, clock, logger, sharing, tracing } = tools;
  const tls = await openGrpcTls(settings, { reports, logger, clock });
  const planned = await planStore(settings, Deno.readTextFile);
  if (tls.kind === "invalid" || planned.kind === "invalid") {
    throw startFault([
      ...(tls.kind === "invalid" ? [tls.problem] : []),
      ...(planned.kind === "invalid" ? planned.problems : []),
    ]);
  }
  const storeParts = {
    ...{ settings, clock, logger, tracing, sharing },
    stats: registry,
  };
  return {
    store: openStore(planned.plan, storeParts),
    candidateStore: settings.candidateDirectory === ""
      ? undefined
      : openCandidateStore(planned.plan, storeParts),
    tls: tls.tls,
    ...{ tracing, registry, reports, clock, logger },
  };
}
