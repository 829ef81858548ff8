/**
 * Makes what runs over the relayer's data as the settings say: models,
 * authentication with rate limits, jobs and recall.
 *
 * @module
 */

import type { Clock } from "../shared/clock.ts";
import type { FairTurns } from "../shared/fair_turns.ts";
import type { Instances } from "../shared/instances.ts";
import type { Logger } from "../shared/logger.ts";
import {
  BUILT_IN_VECTOR_WEIGHT,
  FILE_VECTOR_WEIGHT,
  MODEL_VECTOR_WEIGHT,
} from "./recall/memory_index.ts";
import { tracedFetch } from "../shared/telemetry/traced_http.ts";
import type { Tracing } from "../shared/telemetry/tracing.ts";
import type { RelayerParts } from "./api/parts.ts";
import { AccessTokens } from "./auth/access_tokens.ts";
import {
  AccountResolver,
  Authenticator,
  nonceTtlMs,
} from "./auth/authenticate.ts";
import { Nonces, toStore } from "./auth/nonces.ts";
import { OwnerTokens } from "./auth/owner_tokens.ts";
import { RateLimits } from "./auth/rate_limits.ts";
import { RefusalDelay } from "./auth/refusal.ts";
import { SignatureVerifier } from "./auth/signed_request.ts";
import type { Embedder } from "./embed/embedder.ts";
import { HashedEmbedder } from "./embed/hashed_embedder.ts";
import { HttpEmbedder } from "./embed/http_embedder.ts";
import {
  type QuestionCounts,
  QuestionVectors,
} from "./embed/question_vectors.ts";
import { ChatAnswerer, ChatExtractor } from "./extract/chat_models.ts";
import { HttpChat } from "./extract/http_chat.ts";
import { RuleAnswerer } from "./extract/rule_answerer.ts";
import { RuleExtractor } from "./extract/rule_extractor.ts";
import { JobIntake } from "./jobs/job_intake.ts";
import { JobRunner } from "./jobs/job_runner.ts";
import { JobIds, RecentPlaintexts } from "./jobs/job_sealer.ts";
import { JobTracing } from "./jobs/job_tracing.ts";
import { JobSteps } from "./jobs/job_steps.ts";
import { JobWaiters } from "./jobs/job_waiters.ts";
import { StorageUsage } from "./jobs/storage_usage.ts";
import type { JobName } from "./store/store.ts";
import type { RelayerData } from "./open_data.ts";
import { EntryRenewal } from "./recall/entry_renewal.ts";
import { OwnerIndex } from "./recall/owner_index.ts";
import { WORDS_VERSION } from "./recall/ranking/memory_words.ts";
import { RecallService } from "./recall/recall_service.ts";
import { RestoreService } from "./recall/restore_service.ts";
import { OwnerSnapshots } from "./recall/snapshot/owner_snapshots.ts";
import type { Fetch } from "./remote/http_call.ts";
import type { RelayerSettings } from "./settings.ts";
import type { BlobContent } from "./vault/vault.ts";

/** Models, or the built-in embedder and rules that stand in for them. */
type Models = Pick<RelayerParts, "embedder" | "extractor" | "answerer">;

/**
 * Makes the models that the settings name; no endpoint is called yet.
 *
 * @throws {TypeError} when an address or a key cannot be used
 * @throws {Error} when the files of a model cannot be used
 */
export async function openModels(
  settings: RelayerSettings,
  { clock, tracing }: {
    /** The time. */
    readonly clock: Clock;
    /** Makes spans of calls to models; undefined where tracing is off. */
    readonly tracing: Tracing | undefined;
  },
): Promise<Models> {
  const fetch = tracedFetch(globalThis.fetch.bind(globalThis), {
    tracing,
    peer: "model",
  });
  const tools = { clock, fetch };
  return {
    embedder: await openEmbedder(settings, tools),
    ...createChat(settings, tools),
  };
}

/** What the vectors of the settings' embedder weigh beside words. */
function weighVectors(
  { embedderFile, embeddingUrl }: RelayerSettings,
): number {
  if (embedderFile !== "") return FILE_VECTOR_WEIGHT;
  return embeddingUrl === "" ? BUILT_IN_VECTOR_WEIGHT : MODEL_VECTOR_WEIGHT;
}

/** What models need for their calls. */
interface ModelTools {
  readonly clock: Clock;
  readonly fetch: Fetch;
}

async function openEmbedder(
  settings: RelayerSettings,
  { clock, fetch }: ModelTools,
): Promise<Embedder> {
  const { embeddingUrl, embeddingKey, embeddingModel: model } = settings;
  const { embeddingWidth: width, modelTimeoutMs: timeoutMs } = settings;
  if (settings.embedderFile !== "") {
    const { FileEmbedder } = await import("./embed/file/file_embedder.ts");
    return await FileEmbedder.open(settings.embedderFile);
  }
  if (embeddingUrl === "") return new HashedEmbedder(width);
  return new HttpEmbedder({
    baseUrl: embeddingUrl,
    apiKey: embeddingKey || undefined,
    model,
    width,
    timeoutMs,
    fetch,
    clock,
  });
}

function createChat(
  settings: RelayerSettings,
  { clock, fetch }: ModelTools,
): Pick<Models, "extractor" | "answerer"> {
  const { chatUrl, chatKey, chatModel, modelTimeoutMs } = settings;
  if (chatUrl === "") {
    return { extractor: new RuleExtractor(), answerer: new RuleAnswerer() };
  }
  const chat = new HttpChat({
    baseUrl: chatUrl,
    apiKey: chatKey || undefined,
    model: chatModel,
    timeoutMs: modelTimeoutMs,
    fetch,
    clock,
  });
  return {
    extractor: new ChatExtractor(chat),
    answerer: new ChatAnswerer(chat),
  };
}

/**
 * Authentication, rate limits and owner tokens: what decides whether a caller
 * is let in.
 */
export interface RelayerAccess extends
  Pick<
    RelayerParts,
    "accessTokens" | "authenticator" | "ownerTokens" | "rateLimits"
  > {
  /** Delays the answers of refusals for a moment. */
  readonly refusalDelay: RefusalDelay;
  /**
   * Writes the points that callers have spent to the store, and reads those of
   * other instances.
   */
  syncRates(): Promise<void>;
  /** Writes the points that callers have spent to the store. */
  flush(): Promise<void>;
}

/**
 * The background work that one relayer at a time does, the most urgent first.
 * Each of them may be done twice for a moment without harm.
 */
export const DUTIES = ["sweep", "renew"] as const;

/** This relayer among those that share the store. */
export type RelayerInstances = Instances<typeof DUTIES[number]>;

/** Parts that access and work are both made of. */
interface OpenTools {
  /** The opened data. */
  readonly data: RelayerData;
  /** This relayer among those that share the data. */
  readonly instances: RelayerInstances;
  /** The time. */
  readonly clock: Clock;
  /** Logs what goes wrong. */
  readonly logger: Logger;
}

/**
 * Makes the access parts, and loads nonces and rate windows that an earlier
 * process has stored.
 */
export async function openAccess(
  settings: RelayerSettings,
  { data: { store, ledger, storage }, logger }: Omit<OpenTools, "clock">,
): Promise<RelayerAccess> {
  // Instances on machines whose clocks differ accept the same signatures.
  const { clock } = store;
  const { authWindowMs: windowMs, serviceCredential } = settings;
  const nonces = new Nonces({
    clock,
    ttlMs: nonceTtlMs(windowMs),
    persist: toStore({ store, storage, logger }),
  });
  // A shared store is asked about each nonce.
  if (!store.hasOwnTime) nonces.load(await store.nonces(clock.nowMs()));
  const rateLimits = new RateLimits({
    clock,
    keyPerMinute: settings.ratePerKeyMinute,
    accountPerMinute: settings.ratePerAccountMinute,
    accountPerHour: settings.ratePerAccountHour,
    persist: async (windows) => {
      await store.commit(
        windows.map((window) => ({ kind: "rate", window })),
      );
    },
    read: store.hasOwnTime ? (of) => store.rateWindowsOf(of) : undefined,
  });
  // Those of a shared store are read as callers come.
  if (!store.hasOwnTime) {
    rateLimits.load(await store.rateWindows(rateLimits.firstMinute));
  }
  const signatures = new SignatureVerifier();
  const accounts = new AccountResolver({ ledger, clock });
  const verifying = { clock, signatures, accounts, windowMs };
  return {
    authenticator: new Authenticator({
      ...verifying,
      nonces,
      isLegacyAllowed: settings.legacyAuth,
    }),
    accessTokens: new AccessTokens(verifying),
    refusalDelay: new RefusalDelay({ clock }),
    rateLimits,
    ownerTokens: serviceCredential === ""
      ? undefined
      : new OwnerTokens({ clock, credential: serviceCredential }),
    syncRates: () => rateLimits.sync(),
    flush: () => rateLimits.flush(),
  };
}

/** All parts that work on memories. */
export interface RelayerWork
  extends Pick<RelayerParts, "recall" | "restorer" | "usage" | "newId"> {
  /** Makes vectors of questions, from the cache where it has them. */
  readonly questions: Embedder;
  /**
   * Counts how many question vectors came from the cache; undefined where the
   * embedder runs in this process and has none.
   */
  readonly questionCounts: () => QuestionCounts | undefined;
  /** Finds memories by their vectors; has loaded nothing yet. */
  readonly index: OwnerIndex;
  /**
   * Makes outdated entries of the index again in the background; not started.
   */
  readonly renewal: EntryRenewal;
  /** Accepts texts and makes their jobs. */
  readonly intake: JobIntake;
  /** Requests that wait for jobs to end. */
  readonly waiters: JobWaiters;
  /** Runs jobs. */
  readonly runner: JobRunner;
}

/** Parts that the work is made of. */
interface OpenWorkTools extends OpenTools {
  /** The models. */
  readonly models: Models;
  /** Gives random bytes fit for ids. */
  readonly randomBytes: (length: number) => Uint8Array;
  /** Returns a number from 0 up to, but not including, 1. */
  readonly random: () => number;
  /** Shares the thread between owners. */
  readonly turns: FairTurns;
  /** Makes spans of jobs; undefined where tracing is off. */
  readonly tracing: Tracing | undefined;
}

const DAY_MS = 86_400_000;
/**
 * Most characters of texts that are kept in memory between intake and storing,
 * so that jobs need not decrypt them.
 */
const MAX_RECENT_CHARS = 32_000_000;

/** Makes the parts; none of them runs yet. */
export function openWork(
  settings: RelayerSettings,
  tools: OpenWorkTools,
): RelayerWork {
  const { data, models: { embedder }, instances, turns, clock, logger } = tools;
  const { store, vault, blobs, catalog, storage } = data;
  const { packageId } = data.ledger;
  const { width, model } = embedder;
  const index = new OwnerIndex({
    ...{ store, vault, turns, clock, logger },
    wanted: { width, model },
    shared: store.hasOwnTime ? store : undefined,
    // A snapshot holds the words of a text in order, which is most of the text:
    // where only key servers can open texts, no snapshots are written to disk.
    snapshots: vault.keepsWords
      ? {
        store,
        source: new OwnerSnapshots({
          ...{ store, vault, logger, randomBytes: tools.randomBytes },
          makers: { width, model, wordsVersion: WORDS_VERSION },
        }),
      }
      : undefined,
    maxBytes: settings.indexBytes,
    onRead: (owner, counts) => renewal.noteRead(owner, counts),
  });
  const renewal: EntryRenewal = new EntryRenewal({
    ...{ store, vault, blobs, embedder, index, turns, clock, logger },
    perSecond: settings.renewalsPerSecond,
    isMine: store.hasOwnTime ? () => instances.holds("renew") : undefined,
  });
  instances.onChange((change) => {
    if (change.kind === "answered" && change.gone.length > 0) {
      renewal.noteGone();
    }
  });
  const kept = settings.embeddingUrl === "" ? undefined : new QuestionVectors({
    ...{ embedder, clock, maxKept: settings.embeddingCache },
  });
  const questions = kept ?? embedder;
  const recent = new RecentPlaintexts<BlobContent>(MAX_RECENT_CHARS, clock);
  const usage = new StorageUsage(store, () => clock.nowMs());
  const waiters = new JobWaiters({
    ...{ store, clock, recent, logger },
    hasOthers: () => instances.hasOthers,
  });
  const onSettled = (job: JobName): void => waiters.tell(job);
  const ids = new JobIds({
    clock: store.clock,
    randomBytes: tools.randomBytes,
  });
  const newId = (): string => ids.next();
  const shared = { store, vault, blobs, catalog, embedder, index, packageId };
  const steps = new JobSteps({
    ...{ ...shared, recent, turns },
    ...{ onSettled, logger },
    onVectorDue: (job) => renewal.noteDue(job),
  });
  const jobTracing = tools.tracing && new JobTracing(tools.tracing);
  const runner = new JobRunner({
    store,
    instances,
    steps: jobTracing?.traced(steps) ?? steps,
    onSettled,
    maxAttempts: settings.jobMaxAttempts,
    givesWay: () => intake.isPressed,
    clock: store.clock,
    random: tools.random,
    storage,
    logger,
  });
  const intake: JobIntake = new JobIntake({
    store,
    vault,
    recent,
    usage,
    newId,
    // Jobs are due by the store's time.
    clock: store.clock,
    onAccepted: (ids) => {
      jobTracing?.accepted(ids);
      runner.wake();
    },
    quotaBytes: settings.quotaBytes,
    maxOpenJobs: settings.maxOpenJobs,
    // An idempotency key must not outlive the jobs that it stands for.
    keyLifeMs: Math.min(DAY_MS, settings.jobRetentionMs),
  });
  return {
    index,
    renewal,
    questions,
    questionCounts: () => kept?.counts,
    recall: new RecallService({
      ...{ embedder: questions, blobs, vault, store, index, renewal },
      ...{ clock, logger },
      maxBytes: settings.maxAnswerBytes,
      ranking: settings.ranking,
      vectorWeight: weighVectors(settings),
    }),
    restorer: new RestoreService({ ...shared, clock, logger }),
    intake,
    usage,
    waiters,
    runner,
    newId,
  };
}
