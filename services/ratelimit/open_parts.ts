/**
 * Opens, from the settings, the parts that a thread needs to decide requests.
 *
 * @module
 */

import type { Clock } from "../shared/clock.ts";
import type { Logger } from "../shared/logger.ts";
import { openTracing } from "../shared/telemetry/open_tracing.ts";
import type { ChangeReports } from "../shared/watch/change_reports.ts";
import { openCandidateStore, openStore } from "./counters/open_store.ts";
import { planStore } from "./counters/store_plan.ts";
import type { StoreSharing } from "./counters/shared_stores.ts";
import type { DecisionParts } from "./decision_service.ts";
import { openGrpcTls } from "./grpc_tls.ts";
import { type RateLimitSettings, rateLimitSettings } from "./settings.ts";
import type { StatsRegistry } from "./stats/registry.ts";

/** The opened parts, or why they can't be opened, one line each. */
type OpenPartsOutcome =
  | {
    readonly kind: "opened";
    readonly parts: Omit<DecisionParts, "threads">;
  }
  | { readonly kind: "invalid"; readonly problems: readonly string[] };

/**
 * Opens stores, certificates and tracing. Faults of their settings were
 * reported at the start; this fails when a file has disappeared since.
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
  },
): Promise<OpenPartsOutcome> {
  const { registry, reports, clock, logger, sharing } = tools;
  const tls = await openGrpcTls(settings, { reports, logger, clock });
  const tracing = await openTracing(settings, {
    defaultServiceName: rateLimitSettings.tracingServiceName.fallback,
    clock,
    logger,
    readText: Deno.readTextFile,
  });
  const traces = tracing.kind === "on" ? tracing.open : undefined;
  const planned = await planStore(settings, Deno.readTextFile);
  if (
    tls.kind === "opened" && tracing.kind !== "invalid" &&
    planned.kind === "planned"
  ) {
    const storeParts = {
      settings,
      clock,
      logger,
      stats: registry,
      tracing: traces?.tracing,
      sharing,
    };
    return {
      kind: "opened",
      parts: {
        store: openStore(planned.plan, storeParts),
        candidateStore: settings.candidateDirectory === ""
          ? undefined
          : openCandidateStore(planned.plan, storeParts),
        tls: tls.tls,
        tracing: traces,
        registry,
        reports,
        clock,
        logger,
      },
    };
  }
  const problems = [
    ...(tls.kind === "invalid" ? [tls.problem] : []),
    ...(tracing.kind === "invalid" ? tracing.problems : []),
    ...(planned.kind === "invalid" ? planned.problems : []),
  ];
  return { kind: "invalid", problems };
}
