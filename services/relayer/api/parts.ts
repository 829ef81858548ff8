/**
 * What the routes are made of: the relayer's parts, as far as they are called
 * here, and plain values.
 *
 * @module
 */

import type { Clock } from "../../shared/clock.ts";
import type { FairTurns } from "../../shared/fair_turns.ts";
import type { Network } from "../../shared/ip_network.ts";
import type { Logger } from "../../shared/logger.ts";
import type { HttpMetrics } from "../../shared/metrics/http_metrics.ts";
import type { Tracing } from "../../shared/telemetry/tracing.ts";
import type { Authenticator } from "../auth/authenticate.ts";
import type { OwnerTokens } from "../auth/owner_tokens.ts";
import type { RateLimits } from "../auth/rate_limits.ts";
import type { RefusalDelay } from "../auth/refusal.ts";
import type { BlobCatalog, BlobStore } from "../blobs/blob_store.ts";
import type { BlobLocks } from "../concurrency/semaphore.ts";
import type { Embedder } from "../embed/embedder.ts";
import type { Answerer, Extractor } from "../extract/extractor.ts";
import type { JobIntake } from "../jobs/job_intake.ts";
import type { JobWaiters } from "../jobs/job_waiters.ts";
import type { StorageUsage } from "../jobs/storage_usage.ts";
import type { ToldKeyServer } from "../ledger/key_server_input.ts";
import type { Ledger } from "../ledger/ledger.ts";
import type { ReceiptSigner } from "../receipts/receipt.ts";
import type { RecallService } from "../recall/recall_service.ts";
import type { RestoreService } from "../recall/restore_service.ts";
import type { VectorIndex } from "../recall/vector_index.ts";
import type { StorageWatch } from "../store/storage_watch.ts";
import type { RelayerStore } from "../store/store.ts";
import type { OwnerSessions } from "../vault/owner_sessions.ts";
import type { RelayerVault } from "../vault/vault.ts";

/** Parts and values. Values are read for each request, so getters will do. */
export interface RelayerParts {
  /** Keeps jobs and rows. */
  readonly store: RelayerStore;
  /** Seals what rows hold, destroys keys. */
  readonly vault: Pick<RelayerVault, "sealIndex" | "destroy" | "digest">;
  /** Signs receipts. */
  readonly receipts: Pick<ReceiptSigner, "sign" | "keys">;
  /** Takes sessions of owners; undefined where no key servers are asked. */
  readonly sessions: Pick<OwnerSessions, "take"> | undefined;
  /** Keeps blobs. */
  readonly blobs: BlobStore;
  /** Keeps those apart who store and remove the same bytes. */
  readonly blobLocks: BlobLocks;
  /** Knows which blobs there are, also of memories whose row is gone. */
  readonly catalog: BlobCatalog;
  /** Reads accounts. */
  readonly ledger: Pick<Ledger, "accountOfOwner" | "packageId">;
  /** Makes vectors. */
  readonly embedder: Embedder;
  /** Finds facts. */
  readonly extractor: Extractor;
  /** Answers questions. */
  readonly answerer: Answerer;
  /** Finds memories by their vectors. */
  readonly index: Pick<VectorIndex, "add" | "remove" | "removeNamespace">;
  /** Recalls. */
  readonly recall: Pick<RecallService, "recall" | "find">;
  /** Rebuilds the index. */
  readonly restorer: Pick<RestoreService, "restore">;
  /** Takes texts in. */
  readonly intake: Pick<JobIntake, "accept">;
  /**
   * Makes spans of requests.
   *
   * @default none are made
   */
  readonly tracing?: Tracing | undefined;
  /** Tells of jobs. */
  readonly jobWatch: Pick<JobWaiters, "wait" | "tell">;
  /** Knows how much owners have. */
  readonly usage: Pick<StorageUsage, "of" | "add">;
  /** Lets signed requests in. */
  readonly authenticator: Pick<Authenticator, "authenticate">;
  /** Holds refusals back for a moment. */
  readonly refusalDelay: Pick<RefusalDelay, "wait">;
  /** Deals out turns to owners, and to unsigned requests by address. */
  readonly turns: Pick<FairTurns, "begin">;
  /** Counts points. */
  readonly rateLimits: Pick<RateLimits, "take" | "charge">;
  /** Makes and checks tokens of owners; undefined when there are none. */
  readonly ownerTokens: Pick<OwnerTokens, "issue" | "bearerOf"> | undefined;
  /**
   * Answers the ledger's JSON-RPC, from the parsed body and the address it came from
   * to what is sent as JSON; undefined when the ledger is somewhere else, or not to
   * be reached here.
   */
  readonly answerRpc:
    | ((body: unknown, from: string) => Promise<unknown>)
    | undefined;
  /** Hears of failures of the storage. */
  readonly storage: Pick<StorageWatch, "note">;
  /** Counts answers. */
  readonly metrics: Pick<HttpMetrics, "count">;
  /** Makes ids of memories. */
  readonly newId: () => string;
  /** The time. */
  readonly clock: Clock;
  /** Hears of faults. */
  readonly logger: Logger;
  /** The relayer's version, such as `1.2.3`. */
  readonly version: string;
  /** The commit it was built from, if it is known. */
  readonly buildCommit: string | undefined;
  /** What `/config` says the network is. */
  readonly network: string;
  /** Where clients reach the ledger's JSON-RPC; undefined where they cannot. */
  readonly ledgerRpcUrl: string | undefined;
  /** The object that lists the accounts by owner; undefined where none is known. */
  readonly registryId: string | undefined;
  /** Key servers that clients are told of; none where none are named. */
  readonly keyServers: readonly ToldKeyServer[];
  /** How many of their shares clients are told to need. */
  readonly keyServerThreshold: number;
  /** Whether callers may call as often as they like. */
  readonly isRateLimitDisabled: boolean;
  /** Whether what is written now would be kept. */
  readonly isWriteReady: boolean;
  /**
   * Settles when the memories that a start reads are in memory, or after the moment that
   * a client may be asked to wait for that.
   */
  readonly settled: Promise<void>;
  /** Bytes that an owner may have. */
  readonly quotaBytes: number;
  /** Bytes read and answered that cost a point; 0 when they cost none. */
  readonly pointBytes: number;
  /** Proxies whose word on a client's address counts. */
  readonly trustedProxies: readonly Network[];
  /** Origins whose pages may call; `*` stands for all. */
  readonly corsOrigins: readonly string[];
}
