/**
 * Decides how many threads serve, and how large the share of each is in what is
 * bounded for all of them.
 *
 * @module
 */

import { systemClock } from "../../shared/clock.ts";
import { pickBackend } from "../counters/store_plan.ts";
import { shareStores, type StoreSharing } from "../counters/shared_stores.ts";
import {
  AS_MANY_AS_CORES,
  type RateLimitSettings,
  rateLimitSettings,
} from "../settings.ts";
import { ServingThreads } from "./serving_threads.ts";

/** Most threads of `WORKERS=auto`. */
const MOST_AUTOMATIC = 8;

/**
 * Returns the settings of each thread: the number of threads, and its share of
 * what is bounded for all of them together.
 */
export function threadSettings(
  settings: RateLimitSettings,
  { cores }: { readonly cores: number },
): RateLimitSettings {
  const workers = settings.workers === AS_MANY_AS_CORES
    ? Math.max(1, Math.min(cores, MOST_AUTOMATIC))
    : settings.workers;
  if (workers === 1) return { ...settings, workers };
  const computeShare = (total: number): number => Math.ceil(total / workers);
  return {
    ...settings,
    workers,
    maxUnfinishedBytes: computeShare(settings.maxUnfinishedBytes),
    localCacheBytes: computeShare(settings.localCacheBytes),
    candidateMaxInFlight: computeShare(settings.candidateMaxInFlight),
    // The spans of all threads are those of one process.
    tracingServiceInstanceId: settings.tracingServiceInstanceId ||
      crypto.randomUUID(),
  };
}

/** Threads that aren't started yet. */
interface OpenThreads {
  /** The other threads; undefined when the main thread serves alone. */
  readonly threads: ServingThreads | undefined;
  /** The memory that the main thread shares with them. */
  readonly sharing: StoreSharing | undefined;
}

/**
 * Returns what is wrong with the settings of threads together, one line each.
 */
export function threadFaults(settings: RateLimitSettings): readonly string[] {
  if (settings.workers === 1 || settings.grpcUds === "") return [];
  return [
    cannotServe(
      settings,
      "one thread alone can listen on the unix socket that " +
        `${rateLimitSettings.grpcUds.name} names; leave it out, or set ` +
        `${rateLimitSettings.workers.name} to 1`,
    ),
  ];
}

function cannotServe(settings: RateLimitSettings, why: string): string {
  return `Cannot serve with ${rateLimitSettings.workers.name}=` +
    `${settings.workers}: ${why}`;
}

/**
 * Prepares the threads that the settings ask for.
 *
 * @throws when there is no memory for the counters that they share
 */
export function openThreads(
  settings: RateLimitSettings,
  tools: Pick<
    ConstructorParameters<typeof ServingThreads>[0],
    "registry" | "overLimit" | "logger"
  >,
): OpenThreads {
  if (settings.workers === 1) {
    return { threads: undefined, sharing: undefined };
  }
  try {
    const stores = shareStores({
      maxKeys: settings.memoryMaxKeys,
      isInMemory: pickBackend(settings) === "memory",
      hasCandidate: settings.candidateDirectory !== "",
    });
    return {
      threads: new ServingThreads({
        ...tools,
        settings,
        stores,
        clock: systemClock,
      }),
      sharing: { stores, thread: 0, monotonicMs: () => performance.now() },
    };
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    const problem = cannotServe(
      settings,
      "there is no memory for so many counters; set " +
        `${rateLimitSettings.memoryMaxKeys.name} lower`,
    );
    throw new Error(problem, { cause: error });
  }
}
