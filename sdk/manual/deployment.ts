/**
 * Where a client's memories are encrypted for: network, package and key servers. What
 * the application did not name is asked of the relayer, as far as its answer can be
 * checked or the application trusts it.
 *
 * @module
 */

import { isObject } from "../memory/answer_reader.ts";
import type { Exchange } from "../memory/exchange.ts";
import type { KeyServerChoice } from "../vault/ledger_reader.ts";
import { objectIdOf, type ResolvedManualConfig } from "./manual_config.ts";
import { MemLedgerError } from "./manual_errors.ts";

/** What memories are encrypted for. */
export interface Deployment {
  /** The ledger's network. */
  readonly network: string;
  /** Whether ids of accounts and key servers prove whose they are. */
  readonly isSelfCertified: boolean;
  /** The package of the accounts. */
  readonly packageId: string;
  /** The registry of accounts, where it is known. */
  readonly registryId: string | undefined;
  /** Where the ledger takes JSON-RPC. */
  readonly ledgerRpcUrl: string;
  /** The key servers. */
  readonly keyServers: readonly KeyServerChoice[];
  /** How many shares are needed. */
  readonly threshold: number;
}

/** A ledger of a relayer's own, on which ids follow from owners and public keys. */
const LOCAL_NETWORK = "localnet";
const MAX_THRESHOLD = 2;

/**
 * Finds out what memories are encrypted for.
 *
 * @throws {MemLedgerError} When something is missing or does not fit.
 * @throws {MemPreflightTimeout} When the relayer does not answer in time.
 * @throws {MemError} When the relayer cannot be reached.
 */
export async function findDeployment(
  config: ResolvedManualConfig,
  { exchange, timeoutMs }: {
    readonly exchange: Exchange;
    readonly timeoutMs: number;
  },
): Promise<Deployment> {
  const { json } = await exchange.send({
    method: "GET",
    path: "/config",
    isSigned: false,
    timeoutMs,
    purpose: "preflight GET /config",
  });
  const told = isObject(json) ? json : {};
  const { trustRelayerKeyServers: isTrusting } = config;
  const network = networkOf(config, told["network"]);
  const isSelfCertified = network === LOCAL_NETWORK;
  const mayTake = isTrusting || isSelfCertified;
  const packageId = config.packageId ??
    (mayTake ? toldId(told["packageId"]) : undefined);
  if (packageId === undefined) {
    throw missing("packageId", `the network is ${network}`);
  }
  const keyServers = config.keyServers.length > 0
    ? config.keyServers
    : isTrusting
    ? toldKeyServers(told["keyServers"])
    : [];
  if (keyServers.length === 0) {
    throw missing(
      "keyServers or keyServerConfigs",
      isTrusting ? "the relayer names none" : "the relayer could name its own",
    );
  }
  const total = keyServers.reduce((sum, { weight = 1 }) => sum + weight, 0);
  const toldThreshold = isTrusting ? told["keyServerThreshold"] : undefined;
  const threshold = config.keyServerThreshold ??
    (isCount(toldThreshold) ? toldThreshold : Math.min(MAX_THRESHOLD, total));
  if (threshold > total) {
    throw new MemLedgerError(
      `Cannot use key servers: a threshold of ${threshold} cannot be met by ` +
        `${total} shares`,
    );
  }
  return {
    network,
    isSelfCertified,
    packageId,
    registryId: config.registryId ?? toldId(told["registryId"]),
    ledgerRpcUrl: rpcUrlOf(config, { network, told: told["suiRpcUrl"] }),
    keyServers,
    threshold,
  };
}

function networkOf(
  { givenNetwork, base, trustRelayerKeyServers }: ResolvedManualConfig,
  told: unknown,
): string {
  if (givenNetwork === undefined && trustRelayerKeyServers) {
    return typeof told === "string" && told !== "" ? told : base.ledgerNetwork;
  }
  const network = base.ledgerNetwork;
  if (told === undefined || told === network) return network;
  throw new MemLedgerError(
    `Cannot use the ledger: ledgerNetwork is ${network} and the relayer's is ` +
      `${JSON.stringify(told)}`,
  );
}

function rpcUrlOf(
  { ledgerRpcUrl, trustRelayerKeyServers }: ResolvedManualConfig,
  { network, told }: { readonly network: string; readonly told: unknown },
): string {
  if (ledgerRpcUrl !== undefined) return ledgerRpcUrl;
  // What it says on this network is checked with ids that the application has.
  const mayTake = trustRelayerKeyServers || network === LOCAL_NETWORK;
  if (mayTake && typeof told === "string" && /^https?:\/\//.test(told)) {
    return told;
  }
  if (["mainnet", "testnet", "devnet"].includes(network)) {
    return `https://fullnode.${network}.sui.io:443`;
  }
  throw missing("ledgerRpcUrl", "the relayer names no ledger");
}

function toldId(value: unknown): string | undefined {
  try {
    return objectIdOf(value, "the relayer's id");
  } catch {
    return undefined;
  }
}

function toldKeyServers(value: unknown): readonly KeyServerChoice[] {
  if (!Array.isArray(value)) return [];
  return value.flatMap((one: unknown) => {
    if (!isObject(one)) return [];
    const { weight } = one;
    const objectId = toldId(one["objectId"]);
    if (objectId === undefined) return [];
    return [{ objectId, weight: isCount(weight) ? weight : undefined }];
  });
}

function isCount(value: unknown): value is number {
  return typeof value === "number" && Number.isInteger(value) && value > 0;
}

function missing(name: string, state: string): MemLedgerError {
  return new MemLedgerError(
    `Cannot encrypt or decrypt: ${state}; give ${name}`,
  );
}
