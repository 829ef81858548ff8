/**
 * What is done with memories: taking them in, storing, finding and restoring
 * them.
 *
 * @module
 */

import type { Clock } from "../shared/clock.ts";
import type { FairTurns } from "../shared/fair_turns.ts";
import type { Logger } from "../shared/logger.ts";
import { FreshTexts } from "./jobs/fresh_texts.ts";
import { jobId } from "./jobs/job_id.ts";
import { JobIntake } from "./jobs/job_intake.ts";
import { JobRunner } from "./jobs/job_runner.ts";
import { JobSteps } from "./jobs/job_steps.ts";
import { JobWaiters } from "./jobs/job_waiters.ts";
import { StorageUsage } from "./jobs/storage_usage.ts";
import type { RelayerData } from "./open_data.ts";
import type { Models } from "./open_models.ts";
import { loadIndex } from "./recall/index_loader.ts";
import type { MemoryIndex } from "./recall/memory_index.ts";
import { RecallService } from "./recall/recall_service.ts";
import { RestoreService } from "./recall/restore_service.ts";
import { VectorIndex } from "./recall/vector_index.ts";
import type { RelayerSettings } from "./settings.ts";
import type { BlobContent } from "./vault/vault.ts";

/** Everything that works on memories. */
export interface RelayerWork {
  /** Finds memories by their vectors. */
  readonly index: MemoryIndex;
  /** Recalls. */
  readonly recall: RecallService;
  /** Rebuilds the index. */
  readonly restorer: RestoreService;
  /** Takes texts in. */
  readonly intake: JobIntake;
  /** Knows how much owners have. */
  readonly usage: StorageUsage;
  /** Those who wait for jobs. */
  readonly waiters: JobWaiters;
  /** Does jobs. */
  readonly runner: JobRunner;
  /** Makes ids of memories. */
  readonly newId: () => string;
  /** Fills the index from the store. */
  loadIndex(): Promise<void>;
}

/** What it is made of. */
export interface OpenWorkTools {
  /** What is kept. */
  readonly data: RelayerData;
  /** What makes vectors. */
  readonly models: Models;
  /** Gives random bytes fit for ids. */
  readonly randomBytes: (length: number) => Uint8Array;
  /** A number from 0 up to 1. */
  readonly random: () => number;
  /** Deals out turns. */
  readonly turns: FairTurns;
  /** The time. */
  readonly clock: Clock;
  /** Hears of what goes wrong. */
  readonly logger: Logger;
}

const DAY_MS = 86_400_000;
/** Characters of texts that are kept for a moment between intake and storing. */
const MAX_FRESH_CHARS = 32_000_000;

/** Puts it together; nothing runs yet. */
export function openWork(
  settings: RelayerSettings,
  tools: OpenWorkTools,
): RelayerWork {
  const { data, models: { embedder }, turns, clock, logger } = tools;
  const { store, vault, blobs, catalog, storage } = data;
  const { packageId } = data.ledger;
  const index = new VectorIndex(embedder.width);
  const fresh = new FreshTexts<BlobContent>(MAX_FRESH_CHARS);
  const usage = new StorageUsage({ store, nowMs: () => clock.nowMs() });
  const waiters = new JobWaiters({ store, clock, fresh });
  const onSettled = (id: string): void => waiters.tell(id);
  const newId = (): string => jobId(clock.nowMs(), tools.randomBytes(10));
  const shared = { store, vault, blobs, catalog, embedder, index, packageId };
  const steps = new JobSteps({
    ...{ ...shared, fresh, turns },
    ...{ onSettled, clock, logger },
  });
  const runner = new JobRunner({
    store,
    steps,
    onSettled,
    maxAttempts: settings.jobMaxAttempts,
    givesWay: () => intake.isPressed,
    clock,
    random: tools.random,
    storage,
    logger,
  });
  const intake: JobIntake = new JobIntake({
    store,
    vault,
    fresh,
    usage,
    newId,
    clock,
    onAccepted: () => runner.wake(),
    quotaBytes: settings.quotaBytes,
    maxOpenJobs: settings.maxOpenJobs,
    // A key must not outlive the jobs that it stands for.
    keyLifeMs: Math.min(DAY_MS, settings.jobRetentionMs),
  });
  return {
    index,
    recall: new RecallService({
      ...{ embedder, index, blobs, vault, clock, logger },
      maxBytes: settings.maxAnswerBytes,
    }),
    restorer: new RestoreService({ ...shared, clock, logger }),
    intake,
    usage,
    waiters,
    runner,
    newId,
    async loadIndex() {
      const { width, model } = embedder;
      const { signal } = new AbortController();
      await loadIndex({
        ...{ store, vault, index, width, model },
        ...{ clock, logger, signal },
      });
    },
  };
}
