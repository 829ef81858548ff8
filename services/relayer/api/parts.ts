/**
 * The parts of the relayer that routes need, and values from its settings.
 *
 * @module
 */

import type { Clock } from "../../shared/clock.ts";
import type { FairTurns } from "../../shared/fair_turns.ts";
import type { ReadinessReport } from "../../shared/http/readiness.ts";
import type { Network } from "../../shared/ip_network.ts";
import type { Logger } from "../../shared/logger.ts";
import type { HttpMetrics } from "../../shared/metrics/http_metrics.ts";
import type { Tracing } from "../../shared/telemetry/tracing.ts";
import type { AccessTokens } from "../auth/access_tokens.ts";
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
import type { AnswerRpc } from "../ledger/embedded_rpc.ts";
import type { ToldKeyServer } from "../ledger/key_server_input.ts";
import type { Ledger } from "../ledger/ledger.ts";
import type { ReceiptSigner } from "../receipts/receipt.ts";
import type { RecallService } from "../recall/recall_service.ts";
import type { RestoreService } from "../recall/restore_service.ts";
import type { VectorIndex } from "../recall/vector_index.ts";
import type { StorageWatch } from "../store/storage_watch.ts";
import type { RelayerStore } from "../store/store.ts";
import type { EmbedderState } from "../embed/watched_embedder.ts";
import type { OwnerSessions } from "../vault/owner_sessions.ts";
import type { RelayerVault } from "../vault/vault.ts";

/**
 * Parts and values that routes need. Values are read for each request, so they
 * may be getters.
 */
export interface RelayerParts {
  /** Keeps jobs and rows. */
  readonly store: RelayerStore;
  /** Seals index entries, destroys keys, makes digests. */
  readonly vault: Pick<
    RelayerVault,
    "sealIndex" | "openIndex" | "destroy" | "digest"
  >;
  /** Signs receipts. */
  readonly receipts: Pick<ReceiptSigner, "sign" | "keys">;
  /**
   * Takes sessions of owners for the key servers; undefined where memories are
   * not behind key servers.
   */
  readonly sessions: Pick<OwnerSessions, "take"> | undefined;
  /** Keeps blobs. */
  readonly blobs: BlobStore;
  /**
   * Locks a blob, so that the same bytes are not stored and removed at the same
   * time.
   */
  readonly blobLocks: Pick<BlobLocks, "run">;
  /**
   * The catalogue of all blobs, also of those whose memories have lost their
   * rows.
   */
  readonly catalog: BlobCatalog;
  /** Reads accounts. */
  readonly ledger: Pick<Ledger, "accountOfOwner" | "packageId">;
  /** Makes vectors. */
  readonly embedder: Embedder;
  /** Finds facts in texts. */
  readonly extractor: Extractor;
  /** Answers questions from memories. */
  readonly answerer: Answerer;
  /** Finds memories by their vectors. */
  readonly index: Pick<VectorIndex, "add" | "remove" | "removeNamespace">;
  /** Finds memories by a text or a vector, and reads them. */
  readonly recall: Pick<RecallService, "recall" | "find">;
  /** Rebuilds the index of a namespace from blobs and catalogue. */
  readonly restorer: Pick<RestoreService, "restore">;
  /** Accepts texts and makes their jobs. */
  readonly intake: Pick<JobIntake, "accept">;
  /**
   * Makes spans of requests.
   *
   * @default no spans
   */
  readonly tracing?: Tracing | undefined;
  /** Lets requests wait for jobs. */
  readonly jobWatch: Pick<JobWaiters, "wait" | "tell">;
  /** Knows how many bytes and unfinished jobs each owner has. */
  readonly usage: Pick<StorageUsage, "reserve" | "changed">;
  /** Verifies signed requests. */
  readonly authenticator: Pick<Authenticator, "authenticate">;
  /** Verifies access tokens. */
  readonly accessTokens: Pick<AccessTokens, "verify">;
  /** Delays the answers of refusals for a moment. */
  readonly refusalDelay: Pick<RefusalDelay, "wait">;
  /**
   * Shares the thread between owners, and between unsigned requests by address.
   */
  readonly turns: Pick<FairTurns, "begin">;
  /** Counts the points that callers spend. */
  readonly rateLimits: Pick<RateLimits, "take" | "charge">;
  /**
   * Makes and verifies owner tokens; undefined when no credential for them is
   * set.
   */
  readonly ownerTokens: Pick<OwnerTokens, "issue" | "findBearer"> | undefined;
  /**
   * Answers JSON-RPC of the embedded ledger; undefined when the ledger is
   * remote, or its JSON-RPC is disabled here.
   */
  readonly answerRpc: AnswerRpc | undefined;
  /** Takes note of storage failures, and logs them once. */
  readonly storage: Pick<StorageWatch, "note">;
  /** Counts HTTP responses. */
  readonly metrics: Pick<HttpMetrics, "count">;
  /** Makes ids of memories. */
  readonly newId: () => string;
  /** The time. */
  readonly clock: Clock;
  /** Logs what goes wrong. */
  readonly logger: Logger;
  /** The relayer's version, such as `1.2.3`. */
  readonly version: string;
  /** The commit it was built from, if it is known. */
  readonly buildCommit: string | undefined;
  /** The network's name, as `/config` answers it. */
  readonly network: string;
  /**
   * The URL of the ledger's JSON-RPC for clients; undefined where they cannot
   * reach it.
   */
  readonly ledgerRpcUrl: string | undefined;
  /**
   * The id of the object that lists the accounts by owner; undefined where it
   * is unknown.
   */
  readonly registryId: string | undefined;
  /** Key servers that `/config` names; empty where the settings name none. */
  readonly keyServers: readonly ToldKeyServer[];
  /** How many key servers are needed to decrypt, as `/config` answers it. */
  readonly keyServerThreshold: number;
  /** Whether rate limits are off. */
  readonly isRateLimitDisabled: boolean;
  /** Whether writes are expected to reach the disk now. */
  readonly isWriteReady: boolean;
  /** Checks what this relayer needs to answer requests, by the names of parts. */
  readonly readiness: () => Promise<ReadinessReport>;
  /** Whether this relayer is about to stop, so that others are to be asked. */
  readonly isStopping: () => boolean;
  /** Tells whether the embedder makes vectors. */
  readonly embedderState: () => EmbedderState;
  /**
   * Settles when the memories that are loaded at the start are in memory, or
   * after the longest time that a client may be asked to wait for that.
   */
  readonly settled: Promise<void>;
  /** Most bytes of blobs that an owner may have. */
  readonly quotaBytes: number;
  /**
   * Bytes, read or answered, that cost one point; 0 when bytes cost nothing.
   */
  readonly pointBytes: number;
  /** Proxies whose X-Forwarded-For header is trusted. */
  readonly trustedProxies: readonly Network[];
  /** Origins whose pages may call; `*` stands for all. */
  readonly corsOrigins: readonly string[];
}
