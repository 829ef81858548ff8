/**
 * Tercet's SDK: clients for the services of an application back end.
 *
 * ```ts
 * import { Mem, RateLimitClient } from "@tercet/sdk";
 *
 * const limits = new RateLimitClient({ url: "http://127.0.0.1:8080" });
 * const { allowed } = await limits.check({
 *   domain: "edge",
 *   descriptors: [{ entries: [{ key: "login", value: "ada" }] }],
 * });
 * console.log(allowed);
 *
 * const mem = Mem.create({
 *   key: "07".repeat(32), // the delegate's private key
 *   accountId: "0xa11ce",
 *   ranking: "fused", // by words and meaning
 * });
 * await mem.rememberAndWait("Ada drinks tea");
 * const { results } = await mem.recall({ query: "What does Ada drink?" });
 * console.log(results[0]?.text);
 * ```
 *
 * @module
 */

export {
  delegateKeyToPublicKey,
  delegateKeyToSuiAddress,
} from "./sdk/memory/private_key.ts";
export type {
  AnalyzeAndWaitOptions,
  AnalyzeAndWaitResult,
  AnalyzedFact,
  AnalyzeOptions,
  AnalyzeResult,
  AskOptions,
  AskResult,
} from "./sdk/memory/language_model.ts";
export type { ClientClock, ClientTimer } from "./sdk/memory/client_clock.ts";
export type {
  Deprecation,
  RelayerCompatibility,
} from "./sdk/memory/compatibility.ts";
export type { MemConfig, MemTokenConfig } from "./sdk/memory/config.ts";
export type { DelegateSigner } from "./sdk/memory/signer.ts";
export type { CallOptions } from "./sdk/memory/life.ts";
export type {
  KeyServerConfig,
  KeyServerIds,
} from "./sdk/memory/key_server_config.ts";
export {
  isTimeoutError,
  type JobFacts,
  MemCompatibilityError,
  MemDestroyedError,
  MemError,
  type MemErrorOptions,
  MemPreflightTimeout,
  type MemPreflightTimeoutOptions,
  MemRequestTimeout,
  type MemRequestTimeoutOptions,
  RateLimitError as MemRateLimitError,
  type RateLimitErrorOptions as MemRateLimitErrorOptions,
  RememberJobError,
  type RememberJobErrorOptions,
  RememberJobFailed,
  RememberJobNotFound,
  RememberJobTimeout,
} from "./sdk/memory/errors.ts";
export type {
  DeletedMemory,
  ListMemoriesOptions,
  ListNamespacesOptions,
  MemoriesResult,
  MemoryEntry,
  NamespaceEntry,
  NamespacesResult,
} from "./sdk/memory/listings.ts";
export type {
  RecallManualHit,
  RecallManualHitResult,
  RecallManualParams,
  RememberManualParams,
  RememberManualResult,
  Vector,
} from "./sdk/memory/manual.ts";
export { Mem } from "./sdk/memory/mem.ts";
export type {
  DeleteMemoryResult,
  ForgetResult,
  RestoreResult,
  StatsResult,
} from "./sdk/memory/namespaces.ts";
export type { WhoamiResult } from "./sdk/memory/owner_lookup.ts";
export type {
  Receipt,
  ReceiptCheck,
  Receipted,
  ReceiptedText,
  ReceiptKey,
  VerifyReceiptOptions,
} from "./sdk/memory/receipt.ts";
export type {
  Ranking,
  RankingOptions,
  RecallExplanation,
  RecallMemory,
  RecallOptions,
  RecallParams,
  RecallResult,
  RecallTokenMeta,
  ScoringWeights,
  TruncationStrategy,
} from "./sdk/memory/recall_types.ts";
export type {
  MemoryNotes,
  Metadata,
  RememberAcceptedResult,
  RememberAndWaitOptions,
  RememberBulkAcceptedResult,
  RememberBulkAndWaitOptions,
  RememberBulkItem,
  RememberBulkItemResult,
  RememberBulkOptions,
  RememberBulkResult,
  RememberBulkStatusResult,
  RememberJobState,
  RememberJobStatus,
  RememberOptions,
  RememberResult,
  WaitOptions,
} from "./sdk/memory/remember_types.ts";
export type { MemFetch } from "./sdk/memory/round_trip.ts";
export type { HealthResult } from "./sdk/memory/service.ts";
export {
  type Descriptor,
  type Entry,
  type LimitStatus,
  RateLimitClient,
  type RateLimitClientOptions,
  type RateLimitDecision,
  RateLimitError,
  type RateLimitErrorCode,
  type RateLimitRequest,
} from "./sdk/ratelimit.ts";
