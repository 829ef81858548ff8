/**
 * What a relayer says of where the ledger is.
 *
 * @module
 */

import {
  readNonEmptyString,
  readOptionalBoolean,
  readOptionalString,
} from "./answer_reader.ts";
import { MemError } from "./errors.ts";

/** What `/config` answers. */
export interface RelayerConfig {
  /** The ledger's package. */
  readonly packageId: string;
  /** The ledger's network, such as `localnet`. */
  readonly network: string;
  /** How the ledger is spoken to. */
  readonly suiTransport: "grpc" | "jsonrpc";
  /** Where it answers JSON-RPC. */
  readonly suiRpcUrl?: string;
  /** Where it answers gRPC. */
  readonly suiGrpcUrl?: string;
  /** Whether the relayer counts requests at all. */
  readonly rateLimitDisabled: boolean;
}

/**
 * Reads what `/config` answered. The network `testnet` is always spoken to over
 * gRPC; without a word on it, every other network over JSON-RPC.
 *
 * @throws {MemError} When something is missing or contradicts itself.
 */
export function readRelayerConfig(json: unknown): RelayerConfig {
  const packageId = readNonEmptyString(json, "packageId");
  const network = readNonEmptyString(json, "network");
  const rpcUrl = readUrl(json, "suiRpcUrl");
  const grpcUrl = readUrl(json, "suiGrpcUrl");
  const told = readTransport(json);
  const suiTransport = network === "testnet" ? "grpc" : told ?? "jsonrpc";
  if (rpcUrl === undefined && suiTransport === "jsonrpc") {
    throw fault('"suiRpcUrl" is missing, and "suiTransport" is "jsonrpc"');
  }
  if (rpcUrl === undefined && grpcUrl === undefined) {
    throw fault('both "suiGrpcUrl" and "suiRpcUrl" are missing');
  }
  return {
    packageId,
    network,
    suiTransport,
    ...(rpcUrl === undefined ? {} : { suiRpcUrl: rpcUrl }),
    ...(grpcUrl === undefined ? {} : { suiGrpcUrl: grpcUrl }),
    rateLimitDisabled: readOptionalBoolean(json, "rateLimitDisabled") ?? false,
  };
}

function readUrl(json: unknown, member: string): string | undefined {
  const isGiven = readOptionalString(json, member) !== undefined;
  return isGiven ? readNonEmptyString(json, member) : undefined;
}

function readTransport(json: unknown): "grpc" | "jsonrpc" | undefined {
  const told = readOptionalString(json, "suiTransport");
  if (told === undefined || told === "grpc" || told === "jsonrpc") return told;
  throw fault('"suiTransport" is neither "grpc" nor "jsonrpc"');
}

function fault(state: string): MemError {
  return new MemError(`Cannot use the relayer's /config: ${state}`);
}
