/**
 * Memories that only their owner's keys can read: the client embeds and encrypts, and
 * the relayer stores what it cannot read.
 *
 * ```ts
 * import { MemManual } from "@tercet/sdk/manual";
 *
 * await using mem = MemManual.create({
 *   key: "07".repeat(32), // the delegate's private key
 *   accountId: "0xa11ce",
 *   ledgerNetwork: "localnet",
 *   keyServers: ["0xb0b", "0xca1", "0xda2"], // as their operators tell them
 *   embeddingApiKey: "sk-…",
 * });
 * await mem.rememberManual("Ada drinks tea");
 * const { results } = await mem.recallManual("What does Ada drink?");
 * console.log(results[0]?.text);
 * ```
 *
 * @module
 */

export type { ClientClock, ClientTimer } from "./memory/client_clock.ts";
export type { RelayerCompatibility } from "./memory/compatibility.ts";
export type { MemConfig } from "./memory/config.ts";
export type { DelegateSigner } from "./memory/signer.ts";
export {
  isTimeoutError,
  MemCompatibilityError,
  MemDestroyedError,
  MemError,
  type MemErrorOptions,
  MemPreflightTimeout,
  MemRequestTimeout,
} from "./memory/errors.ts";
export type {
  KeyServerConfig,
  KeyServerIds,
} from "./memory/key_server_config.ts";
export type {
  ListMemoriesOptions,
  ListNamespacesOptions,
  MemoriesResult,
  NamespacesResult,
} from "./memory/listings.ts";
export type { RememberManualResult, Vector } from "./memory/manual.ts";
export type {
  DeleteMemoryResult,
  ForgetResult,
  RestoreResult,
} from "./memory/namespaces.ts";
export type { ScoringWeights } from "./memory/recall_types.ts";
export type { MemFetch } from "./memory/round_trip.ts";
export type { HealthResult } from "./memory/service.ts";
export type { EmbedFunction } from "./manual/embedding.ts";
export type { MemManualConfig, WalletSigner } from "./manual/manual_config.ts";
export {
  MemEmbeddingError,
  MemKeyServerError,
  type MemKeyServerErrorOptions,
  MemLedgerError,
} from "./manual/manual_errors.ts";
export type {
  DroppedMemory,
  RecallManualMemory,
  RecallManualMemoryResult,
  RecallManualOptions,
} from "./manual/manual_results.ts";
export { MemManual } from "./manual/mem_manual.ts";
export type { KeyServerFailure } from "./vault/key_server_client.ts";
